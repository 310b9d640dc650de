"""Record that a worker has begun a job which it has claimed."""

from collections.abc import Sequence

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work


class Begin(OnJob[None], frozen=True):
    """Record that a worker has begun a job."""

    stage = Stage.BEGIN

    worker_id: str | None = None


@handles(Stage.BEGIN)
def begin(work: Work, ops: Sequence[Begin]) -> list[OjsError | None]:
    """Set the start time in the leases of jobs that have begun."""
    stored = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    return [_begin(work, op, stored.get(op.job_id)) for op in ops]


def _begin(work: Work, op: Begin, found: tuple[Job, Lease | None] | None) -> OjsError | None:
    if found is None:
        return missing(op.job_id, "task")
    job, lease = found
    try:
        lifecycle.require(job, "ack")
        lifecycle.require_holder(job, lease, op.worker_id, None)
    except OjsError as error:
        return error
    assert lease is not None, "an active job has a lease"
    work.tx.start_lease(job.id)
    if lease.running_at is None:
        work.note(events.running(job, lease.worker_id))
    return None
