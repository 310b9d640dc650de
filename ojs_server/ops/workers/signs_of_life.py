"""Signs of life other than BEATs: a FETCH that was answered, and one that is waiting.

    a claim ──▶ heard of at a moment ─┐
                                      ├─▶ `Heard`, every few seconds ──▶ the rows of workers
    a FETCH waits ──▶ heard of now ───┘

A FETCH updates the row of its worker only if that is old. All other signs, those of waiting FETCHes
included, are collected and written for all workers of the node at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import seen

# Most workers in one transaction.
STEP: Final = 500


class Heard(Operation[int], frozen=True):
    """Signs of life of workers, each with its time, and workers whose FETCH waits.

    A batch holds at most one such operation.
    """

    stage = Stage.SIGNS
    hears = True
    due = True

    at: Mapping[str, int]
    held: frozenset[str] = frozenset()

    @property
    def worker_ids(self) -> set[str]:
        """Return the ids of all these workers."""
        return {*self.at, *self.held}

    @property
    def keys(self) -> tuple[object, ...]:
        return ("heard",)

    def lock(self, locks: Locks) -> None:
        locks.workers.update(self.worker_ids)

    def carry_out(self, work: Work) -> int:
        profile = work.rules.profile
        workers = work.tx.load_workers(sorted(self.worker_ids))
        noted = []
        for worker_id, worker in workers.items():
            at = self.at.get(worker_id, 0)
            if worker_id in self.held and worker.seen_at <= work.now - profile.heard_every_ms:
                at = work.now
            # A node may hold the FETCH of a killed worker until it notices the end of the
            # connection.
            lost = worker.lacks_session and profile.session_grace_ms is not None
            if at <= worker.seen_at or worker.gone_at or worker.deleted_at or lost:
                continue
            noted.append(seen(work, worker, at))
        if noted:
            work.tx.save_workers(noted)
        return len(noted)


class Signs:
    """Signs of life of workers that this node has not written yet."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._held: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """True if there is anything to write."""
        return bool(self._at or self._held)

    def note(self, worker_ids: Iterable[str], at: int) -> None:
        """Note a sign of life of workers, at a time of the store's clock."""
        for worker_id in worker_ids:
            self._at[worker_id] = max(at, self._at.get(worker_id, 0))

    @contextmanager
    def held(self, worker_id: str | None) -> Iterator[None]:
        """Note that a FETCH of this worker waits, for the time of the block."""
        if worker_id is None:
            yield
            return
        self._held[worker_id] += 1
        try:
            yield
        finally:
            self._held[worker_id] -= 1
            if not self._held[worker_id]:
                del self._held[worker_id]

    def take(self) -> list[Heard]:
        """Take the signs to write, in steps; each is taken once."""
        at, self._at = self._at, {}
        ids = sorted({*at, *self._held})
        return [
            Heard(
                {one: at[one] for one in part if one in at},
                frozenset(one for one in part if one in self._held),
            )
            for part in (ids[start : start + STEP] for start in range(0, len(ids), STEP))
        ]
