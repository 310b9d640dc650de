"""Incidents: jobs that are handed out again only once somebody has resolved them."""

from typing import Final

from ojs_server.domain.errors import TooLarge
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.attachments import HOLDERS
from ojs_server.domain.jobs.job import TERMINAL, Change, Job, Lease, State
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.ops.jobs.settle import Fail, Repeated
from ojs_server.ops.unit_of_work import Work

# Codes of the errors of jobs that became incidents.
NO_RETRIES: Final = "incident"
TOO_LARGE: Final = "variables_too_large"
# The type of business errors.
THROWN: Final = "BpmnError"


class RaiseIncident(Fail, frozen=True):
    """Make a job an incident, also late where its completion would have counted."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change | Repeated:
        """End the delivery; one that was lost ends the job if no other has."""
        was_held = bool(job.attached & HOLDERS) and job.state not in TERMINAL
        if job.state == State.ACTIVE or not was_held:
            return super().decide(work, job, lease)
        return lifecycle.fail_late(job, self.fault, now=work.now, keep=work.keep(job.queue))


def out_of_retries(message: str) -> Fault:
    """Return the error of a job that has no retries left."""
    return Fault(NO_RETRIES, NO_RETRIES, message, details={"action": "dead_letter"})


def too_large(error: TooLarge) -> Fault:
    """Return the error of a job whose end brings more variables than it may have."""
    return Fault(TOO_LARGE, TOO_LARGE, error.message, details={"action": "dead_letter"})
