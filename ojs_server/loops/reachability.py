"""Since when the store has been reachable without a gap, as this node knows it."""

from typing import Final

# Longer than two rounds of housekeeping: a silence of this length was a stall.
GAP_MS: Final = 2_000


class Reachability:
    """Judges silence only over time in which it could have been heard.

    After a start, a stall of this process or an absence of the store, nobody's heartbeats
    could arrive; `since` then starts anew, and leases are judged from there.
    """

    def __init__(self) -> None:
        self._store: int | None = None
        self._stopwatch = 0
        self.since = 0

    def observe(self, store_now: int, stopwatch: int) -> int:
        """The store answered; returns the moment since which it always did."""
        if (
            self._store is None
            or store_now - self._store > GAP_MS
            or stopwatch - self._stopwatch > GAP_MS
        ):
            self.since = store_now
        self._store = store_now
        self._stopwatch = stopwatch
        return self.since
