"""Track since when this node could be reached by workers without interruption."""

from typing import Final

# Longer than two rounds of housekeeping, so a longer gap was a stall.
GAP_MS: Final = 2_000


class Reachability:
    """The time since which heartbeats could arrive and be stored without interruption.

    A start, a stall of this process, or an unavailable store interrupts them; `since` then starts
    anew, and leases are judged from there.
    """

    def __init__(self) -> None:
        self._store: int | None = None
        self._stopwatch = 0
        self._refused_beats = 0
        self.since = 0

    def observe(self, store_now: int, stopwatch: int, refused_beats: int | None = None) -> int:
        """Note that the store answered; return the time since which all workers could be heard.

        `refused_beats` is the number of refused heartbeats, given once the store takes changes.
        """
        refused_beats = self._refused_beats if refused_beats is None else refused_beats
        if (
            self._store is None
            or store_now - self._store > GAP_MS
            or stopwatch - self._stopwatch > GAP_MS
            or refused_beats != self._refused_beats
        ):
            self.since = store_now
        self._store = store_now
        self._stopwatch = stopwatch
        self._refused_beats = refused_beats
        return self.since
