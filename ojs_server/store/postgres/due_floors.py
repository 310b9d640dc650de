"""Due moments below which nothing waits, so that no look begins at the front of an index.

Housekeeping looks for the first due moment of jobs and leases at least once a second. While a
foreign snapshot is held, it would walk over the entries of all jobs and leases that were due since.
So a node remembers the first moment that it found, with a margin for transactions that are open
meanwhile. An earlier moment that this node writes lowers the floor. One that another node writes is
that node's to find, or found by a look at the whole index, once a minute: nothing but a sweep that
comes late depends on it.
"""

from threading import Lock
from typing import Final

import msgspec

LOWEST: Final = -(1 << 63)
# Longer than a transaction of a server may last.
MARGIN_MS: Final = 60_000
WHOLE_EVERY_MS: Final = 60_000


class Look(msgspec.Struct, frozen=True):
    """A look for the first due moments, and where it begins."""

    begun: int
    jobs: int
    leases: int
    lowered: int


class DueFloors:
    """The floors of one node; readers raise them, its writer lowers them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lowered = 0
        self._whole_at = LOWEST
        self.jobs = self.leases = LOWEST

    def look(self, now: int) -> Look:
        """Begin a look; now and then one at everything."""
        with self._lock:
            if not 0 <= now - self._whole_at < WHOLE_EVERY_MS:
                self._whole_at = now
                return Look(now, LOWEST, LOWEST, self._lowered)
            return Look(now, self.jobs, self.leases, self._lowered)

    def found(self, look: Look, job: int | None, lease: int | None) -> None:
        """Raise the floors, unless one was lowered meanwhile."""
        with self._lock:
            if look.lowered == self._lowered:
                highest = look.begun - MARGIN_MS
                self.jobs = highest if job is None else min(job, highest)
                self.leases = highest if lease is None else min(lease, highest)

    def lower(self, job: int | None = None, lease: int | None = None) -> bool:
        """Note moments that a transaction writes; tell if they lie below a floor."""
        below = (job is not None and job < self.jobs) or (lease is not None and lease < self.leases)
        if below:
            with self._lock:
                self._lowered += 1
                self.jobs = min(self.jobs, self.jobs if job is None else job)
                self.leases = min(self.leases, self.leases if lease is None else lease)
        return below
