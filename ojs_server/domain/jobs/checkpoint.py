"""Checkpoints: the saved position of a job's handler, from which its next attempt goes on.

Only the newest is kept, whole and as it was sent. It outlives failed attempts and the end of the
job, and is deleted with the job.
"""

from typing import Final

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.attachments import Checkpoint
from ojs_server.domain.jobs.job import Job, Lease

MAX_STATE: Final = 1024 * 1024
# As large as the state may be: durable handlers keep their log of side effects here.
MAX_METADATA: Final = 1024 * 1024


def save(
    job: Job,
    lease: Lease | None,
    before: Checkpoint | None,
    state: bytes,
    *,
    sequence: int | None,
    worker_id: str | None,
    attempt: int | None,
    now: int,
    step_index: int | None = None,
    metadata: bytes | None = None,
) -> Checkpoint:
    """Return the checkpoint that replaces the stored one.

    A worker that is named must hold the job. A `sequence` that is given must be higher than the
    stored one, so that a late call replaces nothing newer.
    """
    lifecycle.require(job, "checkpoint")
    lifecycle.require_holder(job, lease, worker_id, attempt)
    last = before.sequence if before else 0
    if sequence is not None and sequence <= last:
        raise Conflict(
            f"job {job.id} already has checkpoint {last}; `sequence` must be higher",
            details={"job_id": job.id, "field": "sequence", "current_sequence": last},
        )
    number = last + 1 if sequence is None else sequence
    return Checkpoint(job.id, number, state, now, step_index, metadata)
