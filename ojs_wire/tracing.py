"""The trace context of a job, as its producer gives it in `meta`."""

import re
from collections.abc import Mapping
from typing import Any, Final

MAX_TRACE_ID: Final = 128
# W3C trace context: version, trace id, span id, flags. A trace id of zeros is invalid.
_PARENT: Final = re.compile(
    r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.ASCII
)
# Members of `meta` that producers and workers exchange; the server only passes them on.
PROPAGATED: Final = ("traceparent", "tracestate", "baggage")
_PARENT_NAMES: Final = ("traceparent", "ojs.otel.traceparent")


def trace_of(meta: Mapping[str, Any]) -> str | None:
    """Return the trace id for the job's events: `trace_id`, or that of `traceparent`.

    Every event repeats it, so only a short printable one is used.
    """
    if not meta:
        return None
    given = meta.get("trace_id")
    if isinstance(given, str) and 0 < len(given) <= MAX_TRACE_ID and given.isprintable():
        return given
    found = _parent(meta)
    return found and found[1]


def parent_of(meta: Mapping[str, Any]) -> str | None:
    """Return the W3C trace context of the span in which the job was enqueued."""
    found = _parent(meta) if meta else None
    return found and found[0]


def _parent(meta: Mapping[str, Any]) -> re.Match[str] | None:
    for name in _PARENT_NAMES:
        parent = meta.get(name)
        if isinstance(parent, str) and (match := _PARENT.fullmatch(parent)):
            return match
    return None
