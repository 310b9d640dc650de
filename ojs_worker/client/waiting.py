"""The message of a wait that timed out: the job's state, its queue, and if a worker serves that."""

from collections.abc import Sequence

import msgspec

from ojs_worker.errors import OjsError, WaitTimeout
from ojs_worker.job import Job
from ojs_worker.lines import counted


class Presence(msgspec.Struct, frozen=True):
    """A worker that is online. Without `job_types` it takes jobs of all types."""

    job_types: list[str] | None = None
    state: str = "running"


def overdue(
    job_id: str, timeout_s: float, job: Job | None, workers: Sequence[Presence] | None
) -> WaitTimeout:
    """Describe a wait that timed out. `workers` are those of the job's queue; they and `job` are
    None if the server does not report it."""
    message = f"job {job_id} has not ended after {timeout_s:g} s"
    if job is None:
        return WaitTimeout(message)
    message += f": it is {job.state} in the queue {job.queue}{_since(job)}"
    if job.state == "active" or workers is None:
        return WaitTimeout(message, job=job)
    served = [
        worker for worker in workers if worker.job_types is None or job.type in worker.job_types
    ]
    if not workers:
        message += ", which no worker serves"
    elif not served:
        message += f", of which no worker takes {job.type}"
    elif not any(worker.state == "running" for worker in served):
        message += ", whose workers take no more jobs"
    else:
        message += f", which is served by {counted(len(served), 'worker')}"
    return WaitTimeout(message, job=job, served=bool(served))


def unanswered(job_id: str, timeout_s: float, error: OjsError) -> WaitTimeout:
    """Describe a wait at whose end no server reported the state of the job."""
    message = f"job {job_id} has not ended after {timeout_s:g} s, as far as is known"
    return WaitTimeout(f"{message}: {error}")


def _since(job: Job) -> str:
    if job.state == "active" and job.worker_id:
        return f" with the worker {job.worker_id}"
    if job.state == "scheduled" and job.scheduled_at:
        return f" for {job.scheduled_at}"
    if job.state == "retryable" and job.next_attempt_at:
        return f" until {job.next_attempt_at}"
    return ""
