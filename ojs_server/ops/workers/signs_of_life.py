"""Signs of life other than BEATs: a FETCH that was answered, and one that is waiting.

    a claim ──▶ heard of at a moment ─┐
                                      ├─▶ `SignsOfLife`, every few seconds ──▶ the rows of workers
    a FETCH waits ──▶ heard of now ───┘

A FETCH updates the row of its worker only if that is old. All other signs, those of waiting FETCHes
included, are collected and written for all workers of the node at once.
"""

from collections.abc import Mapping

from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import seen


class SignsOfLife(Operation[int], frozen=True):
    """Signs of life of workers, each with its time, and workers whose FETCH waits.

    A batch holds at most one such operation.
    """

    stage = Stage.SIGNS
    tracks_workers = True
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
            if worker_id in self.held and worker.seen_at <= work.now - profile.sign_every_ms:
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
