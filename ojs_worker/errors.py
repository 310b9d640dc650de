"""Exceptions that calls to a server may raise.

OjsError
├── Unreachable           no answer: refused, reset, timed out
├── WaitTimeout           the job has not ended within the time given
├── JobFailed             the job that was waited for was discarded
├── JobCancelled          the job that was waited for was cancelled
├── UnexpectedAnswer      an answer that is not OJS
└── Refused               the server said no
    ├── InvalidRequest    400, 413, 422
    ├── Unauthenticated   401
    ├── PermissionDenied  403
    ├── NotFound          404
    ├── Conflict          409
    │   ├── Duplicate     the job is there already
    │   └── LeaseLost     the job is not this worker's any more
    ├── RateLimited       429
    └── ServerTrouble     5xx
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from ojs_worker.job import Job

# Temporary refusals.
_LATER: Final = frozenset({408, 429})


class OjsError(Exception):
    """The base class of the errors of calls."""


class Unreachable(OjsError):
    """The server did not answer. `sent` tells whether the request may have reached it."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class WaitTimeout(OjsError):
    """The job has not ended within the time given. `job` is its last known state; `served` tells
    whether a worker takes jobs of its type from its queue, and is None if the server does not
    tell."""

    def __init__(self, message: str, *, job: Job | None = None, served: bool | None = None) -> None:
        super().__init__(message)
        self.job = job
        self.served = served


class UnexpectedAnswer(OjsError):
    """The answer is not that of an OJS server."""


class JobFailed(OjsError):
    """The job was discarded; `error` is what its last delivery reported."""

    def __init__(self, job_id: str, error: Mapping[str, Any] | None) -> None:
        message = (error or {}).get("message") or "it gave no reason"
        super().__init__(f"job {job_id} failed: {message}")
        self.job_id = job_id
        self.error = error


class JobCancelled(OjsError):
    """The job was cancelled."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id} was cancelled")
        self.job_id = job_id


class Refused(OjsError):
    """The server refused a call: its status and its error object."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details or {}
        self.request_id = request_id
        self.retry_after_s = retry_after_s

    @property
    def is_final(self) -> bool:
        """True if the same request would always be refused again."""
        return self.status < 500 and self.status not in _LATER


class InvalidRequest(Refused):
    """The request is invalid; sending it again will not help."""


class Unauthenticated(Refused):
    """The key is missing or wrong."""


class PermissionDenied(Refused):
    """The key may not do this."""


class NotFound(Refused):
    """The object does not exist, or the server has no such call."""


class Conflict(Refused):
    """The state of the server does not allow the call."""


class Duplicate(Conflict):
    """The job exists already; `existing_job_id` if the server names it."""

    @property
    def existing_job_id(self) -> str | None:
        """The id of the job that exists already."""
        job_id = self.details.get("existing_job_id")
        return job_id if isinstance(job_id, str) else None


class LeaseLost(Conflict):
    """The job is not held by this worker any more: it has ended, or its lease was lost."""


class RateLimited(Refused):
    """There were too many requests; `retry_after_s` is the time to wait."""


class ServerTrouble(Refused):
    """The server could not answer the request at the moment."""


_BY_STATUS: Mapping[int, type[Refused]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: PermissionDenied,
    404: NotFound,
    405: NotFound,
    409: Conflict,
    413: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
}


class ErrorBody(msgspec.Struct):
    """The error object, in whichever dialect."""

    message: Any = None
    code: Any = None
    details: Any = None
    request_id: Any = None


class _Answer(msgspec.Struct):
    error: ErrorBody | str | None = None
    # Of problem details (RFC 9457).
    type: Any = None
    detail: Any = None
    instance: Any = None


_decoder = msgspec.json.Decoder(_Answer)
# Exceptions of a decoder: malformed JSON or UTF-8, another structure, or too deep nesting.
UNREADABLE: Final = (ValueError, RecursionError)
T = TypeVar("T")


def decoded(body: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Decode an answer; raises `UnexpectedAnswer` if it cannot be read."""
    try:
        return decoder.decode(body)
    except UNREADABLE as error:
        raise UnexpectedAnswer(f"the server's answer cannot be read: {error}") from error


def error_body(body: bytes) -> ErrorBody:
    """Return the error that an answer holds; empty if it holds none that can be read."""
    try:
        answer = _decoder.decode(body)
    except UNREADABLE:
        # Proxies and some backends answer with plain text.
        return ErrorBody(message=body[:200].decode(errors="replace").strip())
    error = answer.error
    if error is None and isinstance(answer.detail, str):
        return ErrorBody(
            message=answer.detail,
            code=_last_part(answer.type, "/").replace("-", "_"),
            request_id=_last_part(answer.instance, ":"),
        )
    return ErrorBody(message=error) if isinstance(error, str) else error or ErrorBody()


def _last_part(uri: object, mark: str) -> str:
    return uri.rpartition(mark)[2] if isinstance(uri, str) else ""


def refusal(status: int, body: bytes, retry_after_s: float | None = None) -> Refused:
    """Return the exception for an answer that is no success."""
    error = error_body(body)
    code = error.code if isinstance(error.code, str) else ""
    kind = _BY_STATUS.get(status, ServerTrouble if status >= 500 else Refused)
    if kind is Conflict and code == "duplicate":
        kind = Duplicate
    return kind(
        f"{error.message or 'refused without a reason'} ({status}{code and ' ' + code})",
        status=status,
        code=code,
        details=error.details if isinstance(error.details, dict) else None,
        request_id=error.request_id if isinstance(error.request_id, str) else None,
        retry_after_s=retry_after_s,
    )
