"""Heads of requests that a connection has sent before, which need not be parsed again.

A client says the same head with each request, or one of a few. Remembered are those of which
there is no doubt where they end and what follows them: everything else is for the parser.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

# A connection remembers so many heads, each of at most so many bytes.
MOST: Final = 8
MOST_BYTES: Final = 4096

_END: Final = b"\r\n\r\n"
# What says more than that a body of some length follows, or none.
_TELLING: Final = {b"transfer-encoding", b"expect", b"upgrade"}


class Head(msgspec.Struct, frozen=True):
    """A head as the parser understood it, how long its body is, and what was noted of it."""

    scope: dict[str, Any]
    length: int
    noted: dict[Any, Any] = {}


def head_of(data: bytes) -> bytes | None:
    """The head that these bytes begin with, if all of it is there."""
    end = data.find(_END, 0, MOST_BYTES)
    return data[: end + len(_END)] if end > 0 else None


def length_after(head: bytes, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """How long the body is that follows a head; None where there is any doubt about either.

    Parsers may skip empty lines before a request, and take a bare line feed for a line's end.
    """
    if not head[:1].isalpha() or head.count(b"\n") != head.count(b"\r\n"):
        return None
    length: int | None = None
    for name, value in headers:
        if name in _TELLING or (name == b"connection" and value.lower() != b"keep-alive"):
            return None
        if name == b"content-length":
            if length is not None or not value.isdigit():
                return None
            length = int(value)
    return length or 0
