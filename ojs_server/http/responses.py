"""Responses made of what handlers answer."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Final

from msgspec.structs import replace
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ojs_server.domain.errors import OjsError
from ojs_server.http import dialects
from ojs_server.http.access.logins import Watch
from ojs_server.http.call import Answer, Call, Stream
from ojs_wire.codec import encode

NO_CONTENT: Final = 204
NOT_MODIFIED: Final = 304
_BODILESS: Final = (NO_CONTENT, NOT_MODIFIED)


def response_of(call: Call, answer: Answer) -> Response:
    """Return the response of a call."""
    if isinstance(answer.body, Stream):
        return Flow(call, answer, answer.body)
    status, head, body, _ = whole(call, answer)
    response = Response(body, status)
    response.raw_headers = headers(head)
    return response


class Flow(StreamingResponse):
    """A stream as a response. It learns by itself when its client has gone, so that Starlette need
    not listen for that."""

    def __init__(self, call: Call, answer: Answer, stream: Stream) -> None:
        self._pieces = _pieces(call, stream)
        super().__init__(self._pieces, answer.status)
        media_type = answer.media_type or dialects.OPENJOBSPEC
        self.raw_headers = headers(lines(call.request_id, answer, media_type, call.for_page))
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream, or for HEAD its head, and close it.

        The status has been sent when an error comes, so the answer stays without its end: a client
        would take that for the end of what it follows.
        """
        try:
            if scope["method"] == "HEAD":
                self.body_iterator = _nothing()
            with suppress(OjsError):
                async with aclosing(self._pieces):
                    await self.stream_response(send)
        finally:
            self._stream.close()


async def _pieces(call: Call, stream: Stream) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a stream until it ends, or the session by which it was opened."""
    watch = None if call.login is None else Watch(call, call.login)
    async with aclosing(stream.pieces()) as pieces:
        async for piece in pieces:
            yield piece
            if watch is not None and await watch.is_over():
                break


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield


def whole(call: Call, answer: Answer) -> tuple[int, bytes, bytes, bool]:
    """Return the parts of an answer that is no stream: its status, its headers, its body, and
    whether the connection may stay open."""
    if "Location" in answer.headers and call.root:
        places = {"Location": call.root + answer.headers["Location"]}
        answer = replace(answer, headers={**answer.headers, **places})
    body = answer.body
    if not isinstance(body, bytes):
        body = encode(body)
    # An answer without a body has no type and no length.
    if answer.status in _BODILESS:
        head = lines(call.request_id, answer, None, call.for_page)
    else:
        media_type = answer.media_type or call.media_type or dialects.media_type(call)
        rest = f"{call.for_page}content-length: {len(body)}\r\n"
        head = lines(call.request_id, answer, media_type, rest)
    if call.scope.get("method") == "HEAD":
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
def _first(media_type: str | None, has_cache_control: bool) -> str:
    kind = "" if media_type is None else f"content-type: {media_type}\r\n"
    kept = "" if has_cache_control else "cache-control: no-store\r\n"
    always = f"x-content-type-options: nosniff\r\nojs-version: {dialects.VERSION}\r\n"
    return f"{kind}{kept}{always}x-request-id: "
