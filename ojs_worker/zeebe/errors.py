"""Exceptions of Zeebe workers: raised by handlers, or by calls about a job."""

from typing import Any

from ojs_worker.errors import LeaseLost
from ojs_worker.faults import Discard


class AlreadyCompleted(LeaseLost):
    """Another worker has completed the job; the call of this one was too late."""


class LeaseExpired(LeaseLost):
    """The job is not held by this worker any more, and was not completed: its timeout ran out, or
    it was failed or cancelled."""


class BpmnError(Discard):
    """The job ends with a business error: it is not retried, and its workflow continues as after a
    failed step. `code` is the type of the job's error."""

    def __init__(
        self, code: str, message: str = "", variables: dict[str, Any] | None = None
    ) -> None:
        details = {"error_code": code, "variables": variables or {}}
        super().__init__(message or code, type=code, details=details)
        self.code = code
