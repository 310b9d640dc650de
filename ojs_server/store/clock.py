"""A monotonic clock, for a store without a clock of its own."""

import threading

from ojs_server.store.base import Clock


class RisingClock:
    """A clock of wall time that goes on steadily when the wall clock is set back.

    Leases and schedules are judged by it, so it neither steps back nor stands still.
    """

    def __init__(self, wall: Clock, monotonic: Clock, not_before: int = 0) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last = not_before
        self._seen_at = monotonic()

    def __call__(self) -> int:
        """Return the present time in milliseconds, never before an earlier result."""
        with self._lock:
            seen_at = self._monotonic()
            self._last = max(self._wall(), self._last + max(0, seen_at - self._seen_at))
            self._seen_at = seen_at
            return self._last

    def start_from(self, moment: int) -> None:
        """Continue after a time that is stored already."""
        with self._lock:
            self._last = max(self._last, moment)
