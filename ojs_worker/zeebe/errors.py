"""Exceptions of Zeebe workers: raised by handlers, or by calls about a job."""

from typing import Any

from ojs_worker.errors import LeaseLost
from ojs_worker.faults import Discard


class AlreadyCompleted(LeaseLost):
    """Another worker has completed the job; the call of this one was too late."""


class LeaseExpired(LeaseLost):
    """The job is not this worker's any more, and nobody has completed it: its timeout ran out, or
    it was failed or cancelled."""


class BpmnError(Discard):
    """The job ends with an error of the business, not of the program: it is not tried again, and
    its workflow goes the way of a failed step. `code` is the type of the job's error."""

    def __init__(
        self, code: str, message: str = "", variables: dict[str, Any] | None = None
    ) -> None:
        details = {"error_code": code, "variables": variables or {}}
        super().__init__(message or code, type=code, details=details)
        self.code = code
