"""Floors: the positions below which a queue has no available jobs of a priority.

A claim reads its index from the front. Entries of jobs that were claimed before are removed as soon
as no snapshot can see them any more; while an old one is held they stay, and each claim would walk
over all of them. So a node remembers where it may begin, for each queue, priority, and job type
where fetches name types. Why no job is missed is in docs/decisions/0053:

- `find_floors` looks at one moment for the first available job above the last floor. Every
  transaction below its horizon has ended by then; the new floor is the lower one of the two.
- A transaction at or above the horizon makes jobs available at positions of its own, which lie
  above the floor, or notes the older ones in `returns`, at a position of its own. Each claim reads
  the notes since the horizon.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.jobs.job import Job, State, StoredJob
from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.store.records import Claimed

LOWEST: Final = -(1 << 63)
HIGHEST: Final = (1 << 63) - 1
# Claimed jobs, or time, between two looks, as a look costs about as much as a claim.
EVERY_JOBS: Final = 100
EVERY_MS: Final = 250
# Servers of older versions note no returns: what they put below a floor waits no longer than this.
KEPT_MS: Final = 300_000
# Notes are kept for much longer than floors, should the clock of a new primary differ.
NOTES_KEPT_MS: Final = 3_600_000
# After this many transactions with notes, this many old ones are removed.
FORGET_EVERY: Final = 64
FORGOTTEN: Final = 1_000
MOST_LEVELS: Final = 8
MOST_QUEUES: Final = 1_000

# A queue, and a job type where fetches name types.
Lane = tuple[str, str | None]
# A queue and a priority.
Level = tuple[str, int]


class Spans(msgspec.Struct):
    """Ranges of priorities in which a claim looks for jobs, in the order of delivery, as columns.

    A span of one priority has a floor; one between them has none.
    """

    queues: list[str] = []
    tops: list[int] = []
    bottoms: list[int] = []
    floors: list[int | None] = []
    # The position from which on notes of returns are to be read.
    since: int = HIGHEST

    def add(self, queue: str, top: int, bottom: int, floor: int | None) -> None:
        """Add a span below the last one, unless it is empty."""
        if top >= bottom:
            self.queues.append(queue)
            self.tops.append(top)
            self.bottoms.append(bottom)
            self.floors.append(floor)


class _Known(msgspec.Struct):
    """The floors of a lane by priority, and the horizon of the look that found them."""

    begun: int
    since: int = HIGHEST
    looked: int = 0
    claimed: int = 0
    levels: dict[int, int] = {}


class Floors:
    """The floors of one node, which its writer alone reads and changes."""

    def __init__(self) -> None:
        self._known: dict[Lane, _Known] = {}
        self._noted = 0
        # No older notes are left.
        self.notes_from = LOWEST

    def noted(self) -> bool:
        """Count a transaction with notes; tell if it is time to remove old ones."""
        self._noted += 1
        return self._noted % FORGET_EVERY == 0

    def spans(self, queues: Sequence[str], types: Sequence[str] | None, now: int) -> Spans:
        """Return where a claim of queues looks for jobs, of some types or of any."""
        spans = Spans()
        for queue in dict.fromkeys(queues):
            known = [self._of((queue, type_), now) for type_ in types or (None,)]
            levels = _common(known)
            if levels:
                spans.since = min(spans.since, *(span.since for span in known if span))
            top = HIGHEST
            for priority, floor in sorted(levels.items(), reverse=True):
                spans.add(queue, top, priority + 1, None)
                spans.add(queue, priority, priority, floor)
                top = priority - 1
            spans.add(queue, top, LOWEST, None)
        return spans

    def claimed(self, claimed: Sequence[Claimed], types: Sequence[str] | None, now: int) -> None:
        """Note jobs that were claimed, and so which priorities there are."""
        for claim in claimed:
            job = claim.job
            for type_ in types or (None,):
                known = self._of((job.queue, type_), now) or self._new((job.queue, type_), now)
                known.claimed += 1
                if job.priority not in known.levels:
                    if len(known.levels) == MOST_LEVELS:
                        known.levels.clear()
                    known.levels[job.priority] = LOWEST

    def due(
        self, queues: Sequence[str], types: Sequence[str] | None, now: int
    ) -> list[tuple[str, str | None, int, int, int]]:
        """Return the levels of a claim for which it is time to look again, as rows."""
        return [
            (queue, type_, priority, floor, known.since)
            for queue in dict.fromkeys(queues)
            for type_ in types or (None,)
            if (known := self._of((queue, type_), now)) is not None
            if known.claimed >= EVERY_JOBS or now - known.looked >= EVERY_MS
            for priority, floor in known.levels.items()
        ]

    def learn(self, rows: Iterable[Sequence[Any]], horizon: int, now: int) -> None:
        """Take over what a committed transaction has found; all below the horizon had ended."""
        for queue, type_, priority, first in rows:
            known = self._known.get((queue, type_))
            if known is not None:
                known.since, known.looked, known.claimed = horizon, now, 0
                known.levels[priority] = horizon if first is None else min(horizon, first)

    def _of(self, lane: Lane, now: int) -> _Known | None:
        known = self._known.get(lane)
        if known is not None and not 0 <= now - known.begun < KEPT_MS:
            del self._known[lane]
            return None
        return known

    def _new(self, lane: Lane, now: int) -> _Known:
        if len(self._known) >= MOST_QUEUES:
            self._known.clear()
        known = self._known[lane] = _Known(now)
        return known


def _common(known: Sequence[_Known | None]) -> dict[int, int]:
    """Return the floors that lanes have in common: none where nothing is known of one of them."""
    levels: dict[int, int] = {}
    for known_floor in known:
        if known_floor is None:
            return {}
        for priority, floor in known_floor.levels.items():
            levels[priority] = min(floor, levels.get(priority, floor))
    return {
        priority: floor
        for priority, floor in levels.items()
        if floor > LOWEST
        and all(levels is not None and priority in levels.levels for levels in known)
    }


def returned(jobs: Iterable[Job], base: int) -> dict[Level, int]:
    """Return the lowest position of each queue and priority among available jobs that are older
    than a transaction.

    Jobs with a rate key count although a gate may hold them: only the table knows if one does.
    """
    lowest: dict[Level, int] = {}
    for job in jobs:
        if job.seq < base and job.state == State.AVAILABLE:
            level = job.queue, job.priority
            lowest[level] = min(job.seq, lowest.get(level, job.seq))
    return lowest


def inserted(jobs: Sequence[StoredJob], base: int) -> dict[Level, int]:
    """Return the lowest such position of each queue and priority among new jobs."""
    if isinstance(jobs, UniformJobs):
        template = msgspec.structs.replace(jobs.template, seq=min(jobs.positions, default=base))
        return returned([template], base)
    return returned((job.job for job in jobs), base)


def first_due(jobs: Sequence[StoredJob]) -> int | None:
    """Return the earliest due moment of new jobs."""
    if isinstance(jobs, UniformJobs):
        return jobs.template.due_at
    return min((due for job in jobs if (due := job.job.due_at) is not None), default=None)
