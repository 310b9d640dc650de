"""The error that a worker reports, normalised to the one form that is stored and judged."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.fields import object_of
from ojs_wire import codec
from ojs_wire.values import format_timestamp, kind_of, parse_duration, parse_timestamp

Action = Literal["retry", "discard", "dead_letter", "snooze"]

HISTORY: Final = 20
MAX_TEXT: Final = 10_000
MAX_FRAMES: Final = 50
MAX_NAME: Final = 255
MAX_DETAILS: Final = 64 * 1024
MAX_RETRIES: Final = 1000
# Values of `code` that request an action, as `details.action` does.
_ACTIONS: Final[Mapping[str, Action]] = {
    "RETRY": "retry",
    "DISCARD": "discard",
    "FAIL": "discard",
    "DEAD_LETTER": "dead_letter",
    "retry": "retry",
    "discard": "discard",
    "dead_letter": "dead_letter",
    "snooze": "snooze",
}


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One failed delivery. `code` and `type` are both set, each from the other if need be."""

    code: str
    type: str
    message: str
    retryable: bool = True
    details: dict[str, Any] | None = None
    backtrace: list[str] | None = None
    timeout_kind: str | None = None
    limit_seconds: float | None = None
    elapsed_seconds: float | None = None
    rate_limit_until: int | None = None

    @property
    def action(self) -> Action:
        """Return the action that the handler asked for, or `retry`."""
        requested = (self.details or {}).get("action")
        if isinstance(requested, str) and requested in _ACTIONS:
            return _ACTIONS[requested]
        return _ACTIONS.get(self.code, "retry")

    @property
    def snooze_ms(self) -> int:
        """Return the delay that the handler asked for before the job runs again; 0 without one."""
        value = (self.details or {}).get("retry_after_ms")
        try:
            return 0 if value is None else parse_duration(value, 1)
        except ValueError as error:
            raise invalid("error.details.retry_after_ms", str(error)) from None

    @property
    def retries(self) -> int | None:
        """Return the number of deliveries that the handler still allows; None if it sets none."""
        value = self._terms.get("retries")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_RETRIES:
            raise invalid(
                "error.details.retries", f"must be a whole number between 0 and {MAX_RETRIES}"
            )
        return value

    @property
    def retry_delay_ms(self) -> int | None:
        """Return the delay before the next delivery that the handler asked for; None if the policy
        decides."""
        return None if self._terms.get("retry_after_ms") is None else self.snooze_ms

    @property
    def _terms(self) -> dict[str, Any]:
        """Return the details if they are options of a retry; others belong to the handler."""
        details = self.details or {}
        return details if details.get("action") == "retry" else {}

    @property
    def names(self) -> tuple[str | None, ...]:
        """Return the names that `non_retryable_errors` is matched against, in order."""
        return (self.type, _error_class(self.details), self.code)


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault in the form of `error` and `errors[]`."""

    code: str
    type: str
    message: str
    retryable: bool
    attempt: int
    occurred_at: str
    details: dict[str, Any] | None = None
    backtrace: list[str] | None = None
    timeout_kind: str | None = None
    limit_seconds: float | None = None
    elapsed_seconds: float | None = None
    started_at: str | None = None
    worker_id: str | None = None


class Noted(msgspec.Struct, frozen=True):
    """The error of a failed delivery, as the job's history stores it."""

    code: str
    type: str
    message: str
    attempt: int
    worker_id: str | None = None


_history = msgspec.json.Decoder(list[msgspec.Raw])
_noted = msgspec.json.Decoder(list[Noted])


def parse_fault(given: object) -> Fault:
    """Read the `error` of a FAIL: an object in any of the known dialects, a text, or nothing."""
    if given is None:
        return Fault(code="handler_error", type="handler_error", message="the handler failed")
    if isinstance(given, str):
        given = {"message": given}
    if not isinstance(given, dict):
        raise invalid("error", f"must be an object or a string, not {kind_of(given)}")
    code, kind = _name(given, "code"), _name(given, "type")
    details = object_of("error.details", given.get("details"))
    if details is not None and (size := len(codec.encode(details))) > MAX_DETAILS:
        raise TooLarge(
            f"`error.details` has {size} bytes; at most {MAX_DETAILS} are allowed",
            details={"field": "error.details", "size": size, "limit": MAX_DETAILS},
        )
    return Fault(
        code=code or kind or "handler_error",
        type=kind or _error_class(details) or code or "handler_error",
        message=_cut(_text(given, "message") or "the handler failed"),
        retryable=_retryable(given.get("retryable")),
        details=details,
        backtrace=_frames(given.get("backtrace")),
        rate_limit_until=_moment(given.get("rate_limit_until")),
    )


def entry(
    fault: Fault,
    attempt: int,
    now: int,
    *,
    started_at: int | None = None,
    worker_id: str | None = None,
) -> bytes:
    """The stored form of a fault, with the start and the worker of the delivery that it ended."""
    return codec.encode(
        _Entry(
            code=fault.code,
            type=fault.type,
            message=fault.message,
            retryable=fault.retryable,
            attempt=attempt,
            occurred_at=format_timestamp(now),
            details=fault.details,
            backtrace=fault.backtrace,
            timeout_kind=fault.timeout_kind,
            limit_seconds=fault.limit_seconds,
            elapsed_seconds=fault.elapsed_seconds,
            started_at=None if started_at is None else format_timestamp(started_at),
            worker_id=worker_id,
        )
    )


def append_entry(history: bytes | None, new: bytes) -> bytes:
    """Return the history with one more entry, oldest first; the newest `HISTORY` are kept."""
    if history is None:
        return b"[" + new + b"]"
    entries = [bytes(item) for item in _history.decode(history)][-(HISTORY - 1) :]
    return b"[" + b",".join([*entries, new]) + b"]"


def entries(history: bytes | None) -> list[Noted]:
    """Return the errors in a job's history, oldest first."""
    return [] if history is None else _noted.decode(history)


def _error_class(details: Mapping[str, Any] | None) -> str | None:
    # Cut like every name, because patterns are matched against it.
    value = (details or {}).get("error_class")
    return value[:MAX_NAME] if isinstance(value, str) else None


def _name(given: Mapping[str, Any], member: str) -> str | None:
    value = _text(given, member)
    return value[:MAX_NAME] if value else None


def _text(given: Mapping[str, Any], member: str) -> str | None:
    value = given.get(member)
    if value is not None and not isinstance(value, str):
        raise invalid(f"error.{member}", f"must be a string, not {kind_of(value)}")
    return value


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _retryable(value: object) -> bool:
    if value is None:
        return True
    if not isinstance(value, bool):
        raise invalid("error.retryable", f"must be true or false, not {kind_of(value)}")
    return value


def _moment(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise invalid("error.rate_limit_until", f"must be a timestamp, not {kind_of(value)}")
    try:
        return parse_timestamp(value)
    except ValueError as error:
        raise invalid("error.rate_limit_until", str(error)) from None


def _frames(value: object) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = value.splitlines()
    if not isinstance(value, list) or not all(isinstance(frame, str) for frame in value):
        raise invalid("error.backtrace", "must be an array of strings")
    kept: list[str] = []
    room = MAX_TEXT
    for frame in value[:MAX_FRAMES]:
        if room <= 0:
            break
        kept.append(frame[:room])
        room -= len(frame)
    return kept
