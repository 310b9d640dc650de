"""Translates HTTP requests into gRPC calls of `ojs.v1`, where its messages can express them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, Final, NoReturn, TypeVar

import msgspec

# Doubles represent all integers up to here.
_EXACT: Final = 2**53
_DEEPEST: Final = 40
_LARGEST: Final = 100_000
_INTERVAL: Final = re.compile(r"PT(?:(\d{1,3})H)?(?:(\d{1,3})M)?(?:(\d{1,3}(?:\.\d{1,3})?)S)?")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z")
# Headers that do not matter over gRPC, and headers that become metadata of another name.
_SILENT: Final = {"host", "accept-encoding", "connection", "user-agent", "content-length"}
_NAMES: Final = {
    "authorization": "authorization",
    "idempotency-key": "x-ojs-idempotency-key",
    "x-ojs-tenant": "x-ojs-tenant",
    "traceparent": "traceparent",
    "x-request-id": "x-ojs-request-id",
}
_TYPES: Final = {
    "accept": {"*/*", "application/json", "application/openjobspec+json"},
    "content-type": {"application/json", "application/openjobspec+json"},
}


Kind = TypeVar("Kind")


class RpcCall(msgspec.Struct, frozen=True):
    """A gRPC call: the members of its message, and the id in the path of the HTTP request."""

    method: str
    members: Mapping[str, Any]
    id: str = ""


class NotExpressible(Exception):
    """The request cannot be expressed in gRPC."""


def call_of(method: str, path: str, content: bytes) -> RpcCall:
    """Translate a request into a call; raises NotExpressible if there is none."""
    for verb, pattern, name, members in _CALLS:
        match = pattern.fullmatch(path) if verb == method else None
        if match is not None:
            names = match.groupdict()
            return RpcCall(name, members(names, content), names.get("id", ""))
    raise NotExpressible


def metadata_of(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Translate headers into metadata; raises NotExpressible for other headers."""
    metadata: dict[str, str] = {}
    for name, value in headers:
        if name in _NAMES and name not in metadata and value.isascii() and value:
            metadata[_NAMES[name]] = value
        elif name not in _SILENT and value not in _TYPES.get(name, ()):
            raise NotExpressible
    return metadata


def _job(names: Mapping[str, str], content: bytes) -> dict[str, Any]:
    body = _object(content)
    options = _part(body.pop("options", {}), dict)
    meta = _part(body.pop("meta", {}), dict)
    members = {"type": _text(body.pop("type", None)), "args": _values(body.pop("args", None))}
    if body and options:
        # HTTP has a rule about which of the two wins; gRPC has no words for it.
        raise NotExpressible
    converted = _each({**body, **options}, _OPTIONS)
    if meta:
        converted["meta"] = _representable(meta)
    return {**members, "options": converted}


def _fetch(names: Mapping[str, str], content: bytes) -> dict[str, Any]:
    return _each(
        _object(content), {"queues": ("", _texts), "worker_id": ("", _text), "count": ("", _count)}
    )


def _ack(names: Mapping[str, str], content: bytes) -> dict[str, Any]:
    body = _object(content)
    members = {"job_id": _text(body.pop("job_id", None))}
    if "result" in body:
        members["result"] = _representable(_part(body.pop("result"), dict))
    return members if not body else _not_expressible()


def _nack(names: Mapping[str, str], content: bytes) -> dict[str, Any]:
    body = _object(content)
    members: dict[str, Any] = {"job_id": _text(body.pop("job_id", None))}
    error = _part(body.pop("error", None), dict)
    # The default is true over HTTP, but false in protobuf, so set it explicitly.
    converted = {"retryable": _part(error.pop("retryable", True), bool)}
    converted |= _each(
        error, {"code": ("", _text), "message": ("", _text), "details": ("", _filled_object)}
    )
    members["error"] = converted
    return members if not body else _not_expressible()


def _named(member: str, name: str = "id") -> Callable[[Mapping[str, str], bytes], dict[str, Any]]:
    def members(names: Mapping[str, str], content: bytes) -> dict[str, Any]:
        return {member: names[name]} if content in (b"", b"{}") else _not_expressible()

    return members


def _call(
    verb: str, path: str, name: str, members: Callable[[Mapping[str, str], bytes], dict[str, Any]]
) -> tuple[str, re.Pattern[str], str, Callable[[Mapping[str, str], bytes], dict[str, Any]]]:
    pattern = path.replace("{id}", r"(?P<id>[\w.-]+)").replace("{name}", r"(?P<name>[\w.-]+)")
    return verb, re.compile("/ojs/v1/" + pattern), name, members


_CALLS: Final = (
    _call("POST", "jobs", "Enqueue", _job),
    _call("GET", "jobs/{id}", "GetJob", _named("job_id")),
    _call("DELETE", "jobs/{id}", "CancelJob", _named("job_id")),
    _call("POST", "workers/fetch", "Fetch", _fetch),
    _call("POST", "workers/ack", "Ack", _ack),
    _call("POST", "workers/nack", "Nack", _nack),
    _call("GET", "queues/{name}/stats", "QueueStats", _named("queue", "name")),
    _call("POST", "queues/{name}/pause", "PauseQueue", _named("queue", "name")),
    _call("POST", "queues/{name}/resume", "ResumeQueue", _named("queue", "name")),
    _call("POST", "dead-letter/{id}/retry", "RetryDeadLetter", _named("job_id")),
    _call("GET", "workflows/{id}", "GetWorkflow", _named("workflow_id")),
    _call("DELETE", "workflows/{id}", "CancelWorkflow", _named("workflow_id")),
)


def _object(content: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        return members if len(members) == len(pairs) else _not_expressible()

    if len(content) > _LARGEST:
        raise NotExpressible
    try:
        return _part(json.loads(content, object_pairs_hook=once), dict)
    except (ValueError, RecursionError):
        raise NotExpressible from None


def _each(
    members_: Mapping[str, Any], translations: Mapping[str, tuple[str, Callable[[Any], Any]]]
) -> dict[str, Any]:
    """Translate members to the names and values of a message; unknown ones are not expressible."""
    members: dict[str, Any] = {}
    for name, value in members_.items():
        if name not in translations:
            raise NotExpressible
        new_name, translate = translations[name]
        if (new_name or name) in members:
            raise NotExpressible
        members[new_name or name] = translate(value)
    return members


def _not_expressible() -> NoReturn:
    raise NotExpressible


def _part(value: Any, kind: type[Kind]) -> Kind:
    return (
        value if type(value) is kind else _not_expressible()
    )  # not isinstance, as a bool is an int


def _text(value: Any) -> str:
    # Protobuf cannot tell an empty string from an unset one.
    text = _part(value, str)
    return text if text and text.isprintable() else _not_expressible()


def _texts(value: Any) -> list[str]:
    return [_text(item) for item in _part(value, list)] or _not_expressible()


def _whole(value: Any) -> int:
    number = _part(value, int)
    # Protobuf cannot tell zero from an unset number.
    return number if number and abs(number) < 2**31 else _not_expressible()


def _count(value: Any) -> int:
    return number if (number := _whole(value)) > 0 else _not_expressible()


def _values(value: Any) -> list[Any]:
    return [_representable(item) for item in _part(value, list)]


def _filled_object(value: Any) -> Any:
    return _representable(_part(value, dict)) or _not_expressible()


def _milliseconds(value: Any) -> str:
    return f"{_count(value) / 1000:.3f}s"


def _interval(value: Any) -> str:
    match = _INTERVAL.fullmatch(_text(value)) or _not_expressible()
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return _milliseconds(round((hours * 3600 + minutes * 60 + seconds) * 1000))


def _moment(value: Any) -> str:
    text = _text(value)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise NotExpressible from None
    return text if _MOMENT.fullmatch(text) else _not_expressible()


def _representable(value: Any, level: int = 0) -> Any:
    """Return a JSON value that a message carries unchanged; others are not expressible."""
    if level > _DEEPEST:
        raise NotExpressible
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= _EXACT else _not_expressible()
        case float():
            return value if isfinite(value) and not value.is_integer() else _not_expressible()
        case str():
            return value if value.isascii() or value.isprintable() else _not_expressible()
        case list():
            return [_representable(item, level + 1) for item in value]
    return {name: _representable(item, level + 1) for name, item in value.items()}


def _retry(value: Any) -> dict[str, Any]:
    policy = dict(_part(value, dict))
    # The default is true over HTTP, but false in protobuf, so set it explicitly.
    jitter = _part(policy.pop("jitter", True), bool)
    return {"jitter": jitter, **_each(policy, _RETRY)}


def _unique(value: Any) -> dict[str, Any]:
    return _each(_part(value, dict), _UNIQUE)


def _conflict(value: Any) -> str:
    return f"UNIQUE_CONFLICT_ACTION_{_of(value, _CONFLICTS).upper()}"


def _states(value: Any) -> list[str]:
    return [f"JOB_STATE_{_of(item, _STATES).upper()}" for item in _texts(value)]


def _of(value: Any, known: Sequence[str]) -> str:
    return word if (word := _text(value)) in known else _not_expressible()


_CONFLICTS: Final = ("reject", "replace", "ignore", "replace_except_schedule")
_STATES: Final = ("scheduled", "available", "pending", "active", "completed", "retryable")
_NUMBER: Final = (
    "",
    lambda value: value if type(value) in (int, float) and value else _not_expressible(),
)
_RETRY: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "max_attempts": ("", _count),
    "initial_interval": ("", _interval),
    "max_interval": ("", _interval),
    "initial_interval_ms": ("initial_interval", _milliseconds),
    "max_interval_ms": ("max_interval", _milliseconds),
    "backoff_coefficient": _NUMBER,
    "non_retryable_errors": ("", _texts),
    "on_exhaustion": ("", _text),
}
_UNIQUE: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "keys": ("key", _texts),
    "args_keys": ("", _texts),
    "meta_keys": ("", _texts),
    "states": ("", _states),
    "on_conflict": ("", _conflict),
}
_OPTIONS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "queue": ("", _text),
    "priority": ("", _whole),
    "tags": ("", _texts),
    "max_attempts": ("", _count),
    "timeout_ms": ("timeout", _milliseconds),
    "visibility_timeout_ms": ("visibility_timeout", _milliseconds),
    "scheduled_at": ("delay_until", _moment),
    "delay_until": ("", _moment),
    "retry": ("", _retry),
    "unique": ("", _unique),
}
