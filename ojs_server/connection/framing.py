"""Checks of a request's head, which refuse whatever could be understood in two ways."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

MAX_HEAD: Final = 64 * 1024

Headers = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """The request is refused by the parser, with a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


NO_HTTP: Final = (400, "this is not a well-formed HTTP request")
LONG_HEAD: Final = (431, f"the request's line and headers exceed {MAX_HEAD} bytes")
LONG_TRAILERS: Final = (431, f"what surrounds the chunks of the body exceeds {MAX_HEAD} bytes")
_NO_TUNNEL: Final = (400, "CONNECT asks for a tunnel to another server, and there are none here")
_NO_CODING: Final = (400, "Transfer-Encoding names more than `chunked`, which alone is supported")
_NO_HOST: Final = (400, "the request has no Host, which HTTP/1.1 asks for")
# A repetition would make host, caller or origin ambiguous.
_ONCE: Final = (b"host", b"authorization", b"origin")

STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


def check_head(method: bytes, version: str, headers: Headers, last: Mapping[bytes, bytes]) -> None:
    """Raise for a head that could be understood in two ways; `last` has the last value of each
    name."""
    if method == b"CONNECT":
        raise Refused(*_NO_TUNNEL)
    if len(last) < len(headers):
        names = [name for name, _ in headers]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refused(400, f"the request says {name.decode().title()} more than once")
        if names.count(b"transfer-encoding") > 1:
            raise Refused(*_NO_CODING)
    if b"host" not in last and version == "1.1":
        raise Refused(*_NO_HOST)
    # The parser decodes only `chunked`, but merely checks that it comes last.
    coding = last.get(b"transfer-encoding")
    if coding is not None and coding.strip().lower() != b"chunked":
        raise Refused(*_NO_CODING)


def status_line(status: int) -> bytes:
    """Return the first line of an answer."""
    return STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n".encode()
