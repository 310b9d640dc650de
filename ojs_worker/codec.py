"""A codec changes the arguments of jobs on their way to the server, and back before a handler sees
them. The server stores what it is given."""

from typing import TYPE_CHECKING, Protocol

from ojs_worker.job import Job

if TYPE_CHECKING:
    # Imported for types only: `ojs_worker.client` imports this module.
    from ojs_worker.client.requests import JobRequest


class CannotOpen(Exception):
    """The arguments of a job cannot be decoded. `retryable` means that another worker, or a later
    release of this one, may be able to."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class Codec(Protocol):
    """A codec for arguments, in both directions. Arguments that are not encoded by it stay as they
    are."""

    def seal(self, request: "JobRequest") -> "JobRequest":
        """Return the request with its arguments encoded; equal for equal requests."""
        ...

    def open(self, job: Job) -> Job:
        """Return the job with its arguments decoded; raises `CannotOpen`."""
        ...
