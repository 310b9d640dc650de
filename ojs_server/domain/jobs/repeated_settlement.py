"""Recognise a repeated settlement, sent again because its answer was lost."""

from ojs_server.domain.jobs.job import Job, State
from ojs_server.domain.jobs.reported_error import Fault, entries
from ojs_server.domain.tenants.tenant import unscoped

# States after a FAIL without an entry in the history: a requeue or a snooze.
_BACK = (State.AVAILABLE, State.SCHEDULED)


def acknowledged_before(job: Job, attempt: int | None) -> bool:
    """True if this delivery has already completed the job; only its worker knows the attempt."""
    return job.state == State.COMPLETED and job.attempt == attempt


def failed_before(job: Job, attempt: int, worker_id: str, fault: Fault) -> bool:
    """True if this FAIL of this worker has already ended this delivery.

    The history tells, also when the job was delivered again since.
    """
    sent = (attempt, unscoped(job.tenant, worker_id), fault.code, fault.type, fault.message)
    return any(
        (noted.attempt, noted.worker_id, noted.code, noted.type, noted.message) == sent
        for noted in entries(job.errors)
    )


def given_back_before(job: Job, attempt: int) -> bool:
    """True if this delivery was the last one, its job waits, and no error is noted for it.

    A delivery that was given back or snoozed leaves no entry in the history.
    """
    noted = any(entry.attempt == attempt for entry in entries(job.errors))
    return job.attempt == attempt and job.state in _BACK and not noted
