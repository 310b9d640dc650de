"""Answers in cases of this suite: a missing or different value fails the case with the reason."""

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from conformance.language import paths
from conformance.language.match import match
from conformance.language.values import Missing, is_absent, show
from conformance.verdicts.exchanges import Received, parse_body
from conformance.verdicts.result import FailedCheck, SkipReason

# The states of a job, which are also the counters of a queue.
STATES = (
    "scheduled",
    "available",
    "pending",
    "active",
    "completed",
    "retryable",
    "cancelled",
    "discarded",
)

# Above any Retry-After of a server under test, and below a second in milliseconds, the wrong unit.
_LONGEST_WAIT_S = 600


class CheckFailed(Exception):
    """A check that did not hold."""

    def __init__(self, failure: FailedCheck) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Skipped(Exception):
    """The case cannot be judged here, for one of the known reasons."""

    def __init__(self, skipped: SkipReason, why: str) -> None:
        super().__init__(why)
        self.skipped = skipped
        self.why = why


class Record(dict[str, Any]):
    """A JSON object of an answer; asking for a member that is not there fails the case."""

    label = "answer"
    exchange: int | None = None

    def __missing__(self, name: str) -> NoReturn:
        raise CheckFailed(
            FailedCheck(
                step_id=self.label,
                field=name,
                expected="this member",
                actual=f"nothing (members: {', '.join(self) or 'none'})",
                absent=True,
                exchange=self.exchange,
            )
        )


class Items(list[Any]):
    """A JSON array of an answer; asking for an item that is not there fails the case."""

    label = "answer"
    exchange: int | None = None

    def __getitem__(self, at: Any) -> Any:
        """Return an item, or a part of the array."""
        try:
            return super().__getitem__(at)
        except IndexError:
            raise CheckFailed(
                FailedCheck(
                    step_id=self.label,
                    field=f"[{at}]",
                    expected="this item",
                    actual=f"nothing (items: {len(self)})",
                    absent=True,
                    exchange=self.exchange,
                )
            ) from None


class Reply(msgspec.Struct, frozen=True):
    """One answer, named by its request."""

    label: str
    status: int
    headers: dict[str, str]
    content: bytes
    json: Any
    duration_ms: int
    exchange: int

    def expect(self, status: object = None, members: Mapping[str, object] | None = None) -> "Reply":
        """Require a status (a number, several, or a matcher) and members by path; return itself."""
        if status is not None:
            expected = {"$in": list(status)} if isinstance(status, tuple | list) else status
            self._require("status", expected, self.status)
        for path, expected in (members or {}).items():
            self._require(path, expected, paths.find(path, self.json))
        return self

    def error(self, status: object, code: str, **details: object) -> "Reply":
        """Require an error with this code, and these members in its `details`."""
        expected = {f"error.details.{name}": value for name, value in details.items()}
        return self.expect(
            status, {"error.code": code, "error.message": "string:nonempty", **expected}
        )

    def has(self, path: str) -> bool:
        """Return True if there is a value other than null at a path."""
        return not is_absent(paths.find(path, self.json))

    def __getitem__(self, path: str) -> Any:
        """Return the value at a path; fail the case if there is none."""
        found = paths.find(path, self.json)
        if isinstance(found, Missing):
            self.fail(path, "a value", show(found))
        return _strict(found, self)

    def seconds_to_wait(self, most: int = _LONGEST_WAIT_S) -> int:
        """Require a `Retry-After` in seconds, which is at most so many; return it."""
        value = self.headers.get("retry-after", "")
        if not (value.isdecimal() and int(value) <= most):
            self.fail("header:Retry-After", f"seconds, at most {most}", value or "nothing")
        return int(value)

    def fail(self, field: str, expected: str, actual: str) -> NoReturn:
        """Fail the case because of this answer."""
        raise CheckFailed(
            FailedCheck(
                step_id=self.label,
                field=field,
                expected=expected,
                actual=actual,
                exchange=self.exchange,
            )
        )

    def _require(self, field: str, expected: object, value: object) -> None:
        if bad := match(expected, value):
            raise CheckFailed(
                FailedCheck(
                    step_id=self.label,
                    field=field,
                    at=bad.at,
                    expected=bad.expected,
                    actual=bad.actual if field != "status" else f"{bad.actual} {self.text[:300]}",
                    absent=bad.absent,
                    exchange=self.exchange,
                )
            )

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")


def reply_of(label: str, received: Received, number: int) -> Reply:
    """Read an answer."""
    return Reply(
        label=label,
        status=received.status,
        headers=received.headers,
        content=received.content,
        json=parse_body(received.content),
        duration_ms=received.duration_ms,
        exchange=number,
    )


def record(value: Any, reply: Reply) -> Record:
    """Take an object out of an answer."""
    if not isinstance(value, dict):
        reply.fail("item", "an object", show(value))
    made: Record = _strict(value, reply)
    return made


def _strict(value: Any, reply: Reply) -> Any:
    """Return the same value; a part that its objects and arrays lack fails the case."""
    if isinstance(value, dict):
        made = Record({name: _strict(item, reply) for name, item in value.items()})
        made.label, made.exchange = reply.label, reply.exchange
        return made
    if isinstance(value, list):
        items = Items(_strict(item, reply) for item in value)
        items.label, items.exchange = reply.label, reply.exchange
        return items
    return value
