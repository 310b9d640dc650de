"""Exceptions that a handler may raise, and the failure that each is reported as.

Exception            tried again as the job's retry policy says
├── Retry            tried again, too, with a message and type of the handler's choice
├── Discard          not tried again
└── Snooze           not a failure: the job comes back later, and the delivery counts nothing
"""

import traceback
from typing import Any, Final

import msgspec

from ojs_worker.codec import CannotOpen
from ojs_worker.durations import Duration, milliseconds
from ojs_worker.handlers.retrying import ALWAYS, Retrying
from ojs_worker.tracebacks import without_sdk

MAX_FRAMES: Final = 50
MAX_BACKTRACE: Final = 10_000
MAX_MESSAGE: Final = 10_000


class Retry(Exception):
    """Try the job again. `type` is what `non_retryable_errors` of its policy is matched with."""

    def __init__(
        self, message: str = "", *, type: str | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.type = type
        self.details = details


class Discard(Exception):
    """Discard the job, as another try would not help.

    With `dead_letter` it is kept as a dead letter, whatever its policy says.
    """

    def __init__(
        self,
        message: str = "",
        *,
        type: str | None = None,
        details: dict[str, Any] | None = None,
        dead_letter: bool = False,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.details = details
        self.dead_letter = dead_letter


class Snooze(Exception):
    """Run the job again after `delay`; this delivery does not count."""

    def __init__(self, delay: Duration, message: str = "") -> None:
        super().__init__(message)
        self.delay_ms = milliseconds(delay, "delay")


class BadArguments(Exception):
    """The job's arguments do not fit its handler; `argument` is the one at fault."""

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument


class BadResult(Exception):
    """The handler's return value cannot be encoded as JSON."""


class HandlerDied(Exception):
    """The process that ran the handler ended before the handler did."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The `error` of a FAIL."""

    code: str = ""
    type: str
    message: str
    retryable: bool
    details: dict[str, Any] | None = None
    backtrace: list[str] | None = None


def fault_of(error: BaseException, retrying: Retrying = ALWAYS) -> Fault:
    """Return the failure that is reported for an exception of a handler."""
    message = words_of(error)
    match error:
        case BadArguments():
            details = {"argument": error.argument} if error.argument else None
            return Fault(
                code="invalid_arguments",
                type="InvalidArguments",
                message=message,
                retryable=False,
                details=details,
            )
        case BadResult():
            return Fault(code="bad_result", type="BadResult", message=message, retryable=False)
        case HandlerDied():
            return Fault(code="handler_died", type="HandlerDied", message=message, retryable=True)
        case Snooze():
            return Fault(
                code="snooze",
                type="Snooze",
                message=message,
                retryable=True,
                details={"action": "snooze", "retry_after_ms": error.delay_ms},
            )
        case Discard():
            action = "dead_letter" if error.dead_letter else "discard"
            return _fault_of(error, error.type, {**(error.details or {}), "action": action}, False)
        case Retry():
            return _fault_of(error, error.type, error.details, True)
        case _:
            return _fault_of(error, None, None, retrying.retries(error))


def _fault_of(
    error: BaseException, kind_name: str | None, details: dict[str, Any] | None, retryable: bool
) -> Fault:
    kind = type(error)
    return Fault(
        code="handler_error",
        type=kind_name or kind.__name__,
        message=words_of(error),
        retryable=retryable,
        details={"error_class": f"{kind.__module__}.{kind.__qualname__}", **_plain(details)},
        backtrace=backtrace_of(error),
    )


def words_of(error: BaseException) -> str:
    """Return the message of an exception, also if its own `__str__` fails."""
    try:
        message = str(error)
    except Exception as broken:
        message = f"it cannot be written: {type(broken).__name__}"
    return (message or type(error).__name__)[:MAX_MESSAGE]


def _plain(details: dict[str, Any] | None) -> dict[str, Any]:
    """Return details as JSON can hold them: reporting a failure must not fail itself."""
    try:
        encodable: dict[str, Any] = msgspec.to_builtins(details or {}, enc_hook=repr, str_keys=True)
        msgspec.json.encode(encodable)
    except Exception:
        return {"details": repr(details)[:1000]}
    return encodable


def backtrace_of(error: BaseException) -> list[str]:
    """Return the program's innermost frames, one per line, cut to what the protocol allows."""
    frames = traceback.extract_tb(without_sdk(error.__traceback__))[-MAX_FRAMES:]
    lines: list[str] = []
    room = MAX_BACKTRACE
    for frame in reversed(frames):
        line = f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


def timed_out(limit_s: float) -> Fault:
    """Return the failure of a handler that took longer than the job allows."""
    return Fault(
        code="timeout",
        type="timeout",
        message=f"the handler took longer than {limit_s:g} s",
        retryable=True,
        details={"timeout_kind": "execution", "limit_seconds": limit_s},
    )


def shut_down(grace_s: float) -> Fault:
    """Return the failure of a handler that was stopped by the end of the worker."""
    return Fault(
        code="shutdown",
        type="shutdown",
        message=f"the worker shut down and the handler had not ended after {grace_s:g} s",
        retryable=True,
        details={"error_class": "ShutdownError"},
    )


def unknown_type(job_type: str, *, retryable: bool) -> Fault:
    """Return the failure of a job without a handler here; another worker may have one."""
    return Fault(
        code="handler_error",
        type="UnknownJobType",
        message=f"this worker has no handler for {job_type}",
        retryable=retryable,
    )


def unreadable(reason: str) -> Fault:
    """Return the failure of a job in a form that this worker cannot read."""
    return Fault(
        code="unreadable_job",
        type="UnreadableJob",
        message=f"the job cannot be read: {reason}",
        retryable=False,
    )


def unopened(error: CannotOpen) -> Fault:
    """Return the failure of a job whose arguments cannot be decoded here."""
    return Fault(
        code="unreadable_job",
        type="SealedArguments",
        message=f"the job cannot be opened: {error}",
        retryable=error.retryable,
    )


def refused_result(status: int, reason: str) -> Fault:
    """Return the failure of a job whose result the server has refused."""
    return Fault(
        code="RESULT_TOO_LARGE" if status == 413 else "bad_result",
        type="BadResult",
        message=f"the server refused the result: {reason}"[:MAX_MESSAGE],
        retryable=False,
    )
