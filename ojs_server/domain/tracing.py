"""The trace that a job belongs to, as its producer says in `meta`."""

import re
from collections.abc import Mapping
from typing import Any, Final

MAX_TRACE_ID: Final = 128
# W3C trace context: version, trace, span, flags. A trace of zeros means that there is none.
_PARENT: Final = re.compile(
    r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?", re.ASCII
)
_PARENT_NAMES: Final = ("traceparent", "ojs.otel.traceparent")


def trace_of(meta: Mapping[str, Any]) -> str | None:
    """The trace id that every event of the job carries: `trace_id`, or that of `traceparent`.

    Every event repeats it, so that only a short printable one is taken.
    """
    if not meta:
        return None
    given = meta.get("trace_id")
    if isinstance(given, str) and 0 < len(given) <= MAX_TRACE_ID and given.isprintable():
        return given
    for name in _PARENT_NAMES:
        parent = meta.get(name)
        if isinstance(parent, str) and (match := _PARENT.fullmatch(parent)):
            return match[1]
    return None
