"""The filter of jobs: one language for lists, for bulk commands and for the dashboard.

state:retryable,active queue:mail type:mail.* error:Timeout since:1h meta.user:7
"""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from ojs_cli.failures import MISUSED, Failure
from ojs_wire.values import format_timestamp, parse_duration, parse_timestamp

STATES: Final = (
    "scheduled",
    "available",
    "pending",
    "active",
    "completed",
    "retryable",
    "cancelled",
    "discarded",
)
WORDS: Final = (
    *("state", "queue", "type", "error", "priority", "since", "until", "older"),
    *("tag", "worker", "workflow", "meta.NAME", "args.NAME"),
)
Json = dict[str, Any]


class Filter(msgspec.Struct, frozen=True):
    """Criteria for jobs; all that are given must hold."""

    text: str = ""
    # Query parameters for the server.
    parameters: dict[str, str] = {}
    # Criteria checked here: a path into the job, and the text that it must equal or contain.
    paths: tuple[tuple[str, str], ...] = ()
    errors: tuple[str, ...] = ()
    # Parameters that only speed up the search; a server that does not know them ignores them.
    hints: dict[str, str] = {}

    @property
    def is_local(self) -> bool:
        """True if the server cannot apply the whole filter."""
        return bool(self.paths or self.errors)

    def matches(self, job: Json) -> bool:
        """Return True if a job meets the criteria that the server cannot apply."""
        return all(_has(job, path, text) for path, text in self.paths) and all(
            _failed_by(job, text) for text in self.errors
        )

    def body(self) -> Json:
        """Return the filter in the form of a bulk call's body."""
        body: Json = dict(self.parameters)
        if "priority" in body:
            body["priority"] = int(body["priority"])
        return body


def parse(words: Sequence[str], now_ms: int) -> Filter:
    """Parse a filter; raises `Failure` with similar names."""
    parameters: dict[str, str] = {}
    paths: list[tuple[str, str]] = []
    errors: list[str] = []
    hints: dict[str, str] = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not colon or not value:
            raise Failure(
                f"{word!r} is no filter",
                f"write NAME:VALUE, with {', '.join(WORDS)}",
                exit_code=MISUSED,
            )
        match name:
            case "state" | "states":
                parameters["states"] = ",".join(_state(state) for state in value.split(","))
            case "queue" | "type":
                parameters[name] = value
            case "priority":
                parameters[name] = _whole(value)
            case "since" | "until":
                parameters[name] = moment(name, value, now_ms)
            case "older":
                parameters["until"] = moment(name, value, now_ms)
            case "error":
                errors.append(value)
            case "tag":
                paths.append(("tags", value))
                hints["tag"] = value
            case "worker":
                paths.append(("worker_id", value))
                hints["worker_id"] = value
            case "workflow":
                paths.append(("workflow_id", value))
            case _ if name.startswith(("meta.", "args.")):
                paths.append((name, value))
            case _:
                raise _unknown("filter", name, WORDS)
    return Filter(" ".join(words), parameters, tuple(paths), tuple(errors), hints)


def _state(value: str) -> str:
    if value not in STATES:
        raise _unknown("state", value, STATES)
    return value


def _unknown(kind: str, value: str, known: Sequence[str]) -> Failure:
    close = get_close_matches(value, known, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(known)}"
    return Failure(f"there is no {kind} {value!r}", hint, exit_code=MISUSED)


def _whole(value: str) -> str:
    if not value.removeprefix("-").isdecimal():
        raise Failure(f"priority: {value!r} is no whole number", exit_code=MISUSED)
    return value


def moment(name: str, value: str, now_ms: int) -> str:
    """Parse a timestamp, or a duration before now."""
    try:
        if "T" in value and value[:1].isdigit():
            return format_timestamp(parse_timestamp(value))
        return format_timestamp(now_ms - parse_duration(value, 1000))
    except ValueError as error:
        hint = "write a duration before now, such as 90s, 5m or 24h, or a timestamp"
        raise Failure(f"{name}: {value!r} {error}", hint, exit_code=MISUSED) from None


def _has(job: Json, path: str, text: str) -> bool:
    names = path.split(".")
    value: Any = job
    if names[0] == "args" and len(job.get("args") or ()) == 1 and not names[1].isdecimal():
        # Named arguments are sent as one object.
        value, names = job["args"][0], names[1:]
    for name in names:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return False
    if isinstance(value, list):
        return text in value
    return value == text or (value is not None and _plain(value) == text)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _failed_by(job: Json, text: str) -> bool:
    error = job.get("error")
    if not isinstance(error, dict):
        return False
    folded = text.casefold()
    return any(
        folded in str(error.get(name, "")).casefold() for name in ("type", "code", "message")
    )
