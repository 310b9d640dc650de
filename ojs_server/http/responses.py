"""Encoding of answers: status line, headers and body."""

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ojs_server.http import dialects
from ojs_server.http.call import Answer, Call
from ojs_wire.codec import encode

NO_CONTENT: Final = 204
NOT_MODIFIED: Final = 304
_BODILESS: Final = (NO_CONTENT, NOT_MODIFIED)


def whole(call: Call, answer: Answer) -> tuple[int, bytes, bytes, bool]:
    """Return the parts of an answer that is no stream: its status, its headers, its body, and
    whether the connection may stay open."""
    if call.root and "Location" in answer.headers:
        places = {"Location": call.root + answer.headers["Location"]}
        answer = replace(answer, headers={**answer.headers, **places})
    body = answer.body
    if not isinstance(body, bytes):
        body = encode(body)
    # What has no body has no type and no length either.
    if answer.status in _BODILESS:
        head = lines(call.request_id, answer, None, call.for_page)
    else:
        media_type = answer.media_type or call.media_type or dialects.media_type(call)
        rest = f"{call.for_page}content-length: {len(body)}\r\n"
        head = lines(call.request_id, answer, media_type, rest)
    if call.scope["method"] == "HEAD":
        body = b""
    return answer.status, head, body, "Connection" not in answer.headers


def lines(request_id: str, answer: Answer, media_type: str | None, rest: str = "") -> bytes:
    """Return the header lines of an answer, the content type first."""
    own = ""
    if answer.headers:
        own = "".join([f"{name.lower()}: {value}\r\n" for name, value in answer.headers.items()])
    first = _first(media_type, "Cache-Control" in answer.headers)
    return f"{first}{request_id}\r\n{own}{rest}".encode("latin-1")


def headers(head: bytes) -> list[tuple[bytes, bytes]]:
    """Return the header lines in the form of ASGI messages."""
    pairs = (line.split(b": ", 1) for line in head.splitlines())
    return [(name, value) for name, value in pairs]


@lru_cache(maxsize=64)
def _first(media_type: str | None, says_how_kept: bool) -> str:
    kind = "" if media_type is None else f"content-type: {media_type}\r\n"
    kept = "" if says_how_kept else "cache-control: no-store\r\n"
    always = f"x-content-type-options: nosniff\r\nojs-version: {dialects.VERSION}\r\n"
    return f"{kind}{kept}{always}x-request-id: "
