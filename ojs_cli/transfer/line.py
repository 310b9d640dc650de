"""One job as one line: the request that would enqueue it."""

from typing import Any, Final

import msgspec

# No server accepts a job with a longer line.
MOST_BYTES: Final = 4 * 1024 * 1024
_EMPTY: Final = msgspec.Raw(b"")


class Envelope(msgspec.Struct):
    """The members of a job that an import can send, in the form in which the server wrote them."""

    id: str
    type: str
    args: msgspec.Raw = msgspec.Raw(b"[]")
    meta: msgspec.Raw = _EMPTY
    schema: msgspec.Raw = _EMPTY
    queue: msgspec.Raw = _EMPTY
    priority: msgspec.Raw = _EMPTY
    tags: msgspec.Raw = _EMPTY
    scheduled_at: msgspec.Raw = _EMPTY
    expires_at: msgspec.Raw = _EMPTY
    timeout_ms: msgspec.Raw = _EMPTY
    visibility_timeout_ms: msgspec.Raw = _EMPTY
    grace_period: msgspec.Raw = _EMPTY
    unique: msgspec.Raw = _EMPTY
    retry: dict[str, Any] | None = None
    state: str = ""


class Page(msgspec.Struct):
    """A page of a list of jobs."""

    jobs: list[Envelope] = []
    items: list[Envelope] = []
    pagination: dict[str, Any] = {}
    next_cursor: str | None = None

    @property
    def found(self) -> list[Envelope]:
        """The jobs, by any of the names that servers use."""
        return self.jobs or self.items

    @property
    def following(self) -> str | None:
        """The cursor of the next page; None at the end."""
        if self.pagination.get("has_more") is False:
            return None
        return self.pagination.get("next_cursor") or self.next_cursor


class Request(msgspec.Struct):
    """A job to be enqueued, with the members that an import checks."""

    type: str
    args: msgspec.Raw = msgspec.Raw(b"[]")
    id: str | None = None


_OPTIONS: Final = (
    *("queue", "priority", "tags", "expires_at", "timeout_ms"),
    *("visibility_timeout_ms", "grace_period", "unique"),
)
# The server writes intervals as text and in milliseconds; a request has the text only.
_TWICE: Final = ("initial_interval_ms", "max_interval_ms")
_NOTHING: Final = frozenset({b"", b"null"})


def line_of(job: Envelope) -> bytes:
    """Write a job as the request that would enqueue it."""
    options = {
        name: value for name in _OPTIONS if bytes(value := getattr(job, name)) not in _NOTHING
    }
    if job.retry:
        retry = {name: value for name, value in job.retry.items() if name not in _TWICE}
        options["retry"] = msgspec.Raw(msgspec.json.encode(retry))
    if job.state == "scheduled" and bytes(job.scheduled_at) not in _NOTHING:
        options["scheduled_at"] = job.scheduled_at
    if job.state == "pending":
        options["pending"] = msgspec.Raw(b"true")
    request: dict[str, Any] = {"id": job.id, "type": job.type, "args": job.args}
    for name in ("meta", "schema"):
        if bytes(value := getattr(job, name)) not in {*_NOTHING, b"{}"}:
            request[name] = value
    if options:
        request["options"] = options
    return msgspec.json.encode(request) + b"\n"


def amiss(line: bytes) -> str | None:
    """Return the reason why a line cannot be sent; None if it can."""
    if len(line) > MOST_BYTES:
        return f"is longer than {MOST_BYTES} bytes"
    try:
        msgspec.json.decode(line, type=Request)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None
