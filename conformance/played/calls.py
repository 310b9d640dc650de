"""The calls of the worker protocol, by method and path, in all spellings of `openapi.yaml`."""

import re
from enum import StrEnum
from typing import Final

import msgspec


class Kind(StrEnum):
    """Kind of a request: the call of the protocol that it makes."""

    REGISTER = "register"
    BEAT = "BEAT"
    FETCH = "FETCH"
    ACK = "ACK"
    FAIL = "FAIL"
    SETTLE = "settle"
    DEREGISTER = "deregister"
    MANIFEST = "manifest"
    PROGRESS = "progress"
    CHECKPOINT = "checkpoint"
    OTHER = "other"


# Calls that every server has, and that a worker may rely on.
PUBLIC: Final = frozenset({Kind.FETCH, Kind.ACK, Kind.FAIL, Kind.BEAT})
SETTLING: Final = frozenset({Kind.ACK, Kind.FAIL, Kind.SETTLE})
ALL: Final = frozenset(Kind) - {Kind.SETTLE, Kind.OTHER}


class Call(msgspec.Struct, frozen=True):
    """The kind of a request, and the id that its path names."""

    kind: Kind
    id: str = ""


_FIXED: Final[dict[str, Kind]] = {
    "POST /ojs/v1/workers/register": Kind.REGISTER,
    "POST /ojs/v1/workers/heartbeat": Kind.BEAT,
    "POST /ojs/v1/workers/beat": Kind.BEAT,
    "POST /ojs/v1/workers/fetch": Kind.FETCH,
    "POST /ojs/v1/jobs/fetch": Kind.FETCH,
    "POST /ojs/v1/workers/ack": Kind.ACK,
    "POST /ojs/v1/workers/nack": Kind.FAIL,
    "POST /ojs/v1/workers/fail": Kind.FAIL,
    "POST /ojs/v1/workers/settle": Kind.SETTLE,
    "POST /ojs/v1/workers/deregister": Kind.DEREGISTER,
    "POST /ojs/v1/workers/progress": Kind.PROGRESS,
    "GET /ojs/manifest": Kind.MANIFEST,
}
_NAMED: Final = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"POST /ojs/v1/jobs/([^/]+)/ack", Kind.ACK),
        (r"POST /ojs/v1/jobs/([^/]+)/(?:nack|fail)", Kind.FAIL),
        (r"(?:PUT|POST) /ojs/v1/jobs/([^/]+)/progress", Kind.PROGRESS),
        (r"(?:PUT|POST|GET|DELETE) /ojs/v1/jobs/([^/]+)/checkpoint", Kind.CHECKPOINT),
        (r"POST /ojs/v1/workers/([^/]+)/ping", Kind.BEAT),
        (r"PATCH /ojs/v1/workers/([^/]+)", Kind.BEAT),
        (r"POST /ojs/v1/workers/([^/]+)/unregister", Kind.DEREGISTER),
        (r"DELETE /ojs/v1/workers/([^/]+)", Kind.DEREGISTER),
    )
)


def call_of(method: str, path: str) -> Call:
    """Return the call that a request makes."""
    line = f"{method} {path}"
    if line in _FIXED:
        return Call(_FIXED[line])
    for pattern, kind in _NAMED:
        if found := pattern.fullmatch(line):
            return Call(kind, found[1])
    return Call(Kind.OTHER)
