"""Change a job without moving it: its remaining attempts, its content, its lease."""

from collections.abc import Callable, Sequence

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.dead_letter import limited
from ojs_server.domain.jobs.deadlines import renewal
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State, StoredJob
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work, outcome_of


class Amend(OnJob[Job], frozen=True):
    """Set the number of remaining deliveries of a job, change it by a function, or set the time
    left of its lease, in milliseconds."""

    stage = Stage.AMEND

    retries: int | None = None
    change: Callable[[StoredJob], StoredJob] | None = None
    lease_ms: int | None = None


@handles(Stage.AMEND, at_once=True)
def run(work: Work, ops: Sequence[Amend]) -> list[Job | OjsError]:
    """Handle all of a batch with one read."""
    found = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    return [outcome_of(_amend, work, op, found.get(op.job_id)) for op in ops]


def _amend(work: Work, op: Amend, found: tuple[Job, Lease | None] | None) -> Job:
    if found is None:
        raise missing(op.job_id)
    job, lease = found
    if job.state in TERMINAL and job.state != State.DISCARDED:
        raise missing(op.job_id)
    if op.lease_ms is not None:
        lifecycle.require(job, "ack")
        if lease is not None and (renewed := renewal(lease, op.lease_ms, work.now)) is not None:
            work.tx.extend_leases([renewed])
            work.note(events.extended(renewed))
            work.expect(renewed.expires_at)
    if op.retries is not None or op.change is not None:
        whole = work.tx.load_whole([job.id])[job.id]
        if op.retries is not None:
            whole = limited(whole, _spent(job) + op.retries)
        if op.change is not None:
            whole = op.change(whole)
        work.tx.override_jobs([whole])
        job = whole.job
    return job


def _spent(job: Job) -> int:
    """Return the number of finished deliveries; a discarded job starts again from 0."""
    if job.state == State.DISCARDED:
        return 0
    return job.attempt - job.releases - (job.state == State.ACTIVE)
