"""Recognise a repeated settlement, sent again because its answer was lost."""

from ojs_server.domain.jobs.job import Job, State
from ojs_server.domain.jobs.reported_error import Fault, entries

# States after a FAIL that left no entry in the history: given back, or snoozed.
_BACK = (State.AVAILABLE, State.SCHEDULED)


def acknowledged_before(job: Job, attempt: int | None) -> bool:
    """True if this delivery has already completed the job; only its worker knows the attempt."""
    return job.state == State.COMPLETED and job.attempt == attempt


def failed_before(job: Job, attempt: int | None, fault: Fault, *, requeue: bool) -> bool:
    """True if this delivery has already ended with this FAIL.

    The history tells, also when the job was delivered again since. A delivery that was given
    back is not in it: there, no other end of the delivery may be.
    """
    noted = [one for one in entries(job.errors) if one.attempt == attempt]
    if requeue or fault.action == "snooze":
        return not noted and job.attempt == attempt and job.state in _BACK
    said = (fault.code, fault.type, fault.message)
    return any((one.code, one.type, one.message) == said for one in noted)
