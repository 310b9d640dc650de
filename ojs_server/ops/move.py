"""Moving the jobs of a queue that is to go into another one, step by step."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.job import Change
from ojs_server.domain.unique import in_queue
from ojs_server.ops.control import Gone
from ojs_server.ops.work import Work


class Move(msgspec.Struct, frozen=True):
    """Put those of these jobs that are in `queue` into `target`, whatever their state.

    A worker that holds one goes on with it. Bounds and job types of the target do not count: they
    are for enqueues.
    """

    queue: str
    job_ids: tuple[str, ...]
    target: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return self.job_ids


def run(work: Work, ops: Sequence[Move]) -> list[Gone]:
    """Rare calls, one after the other; each job keeps its place, its times and its rate key."""
    return [_move(work, op) for op in ops]


def _move(work: Work, op: Move) -> Gone:
    # The leases as well: a beat locks nothing else.
    work.tx.lock((), op.job_ids, op.job_ids)
    found = work.tx.load_jobs(op.job_ids)
    here = {job_id: lease for job_id, (job, lease) in found.items() if job.queue == op.queue}
    stored = work.tx.load_whole(sorted(here))
    moved = {job_id: in_queue(one, op.target) for job_id, one in stored.items()}
    if moved:
        work.tx.override_jobs(list(moved.values()))
        work.tx.move_leases(op.target, [job_id for job_id, lease in here.items() if lease])
        work.transfer(
            [Change(found[job_id][0], one.job, ()) for job_id, one in sorted(moved.items())]
        )
        work.note(
            events.of_queue("queue.moved", op.queue, target_queue=op.target, count=len(moved))
        )
    return Gone(work.now, len(moved))
