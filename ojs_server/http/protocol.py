"""HTTP/1.1 before there is a request, and after there is an answer.

Heads are bounded, and bad ones get the error object; those that a client repeats are remembered.
Answers that are whole leave in one piece, and so do the messages that a WebSocket is sent together.
"""

import asyncio
from collections.abc import Iterable
from random import getrandbits
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import Request

from ojs_server.domain.errors import InvalidRequest
from ojs_server.http.call import ANSWER, REMEMBERED, TEXTS, RequestIds
from ojs_server.http.dialects import OPENJOBSPEC, VERSION
from ojs_server.http.errors import answer_of
from ojs_server.http.heads import MOST, Head, head_of, length_after
from ojs_wire.codec import encode, holds

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

MAX_HEAD: Final = 64 * 1024
# How long a client may take, once the server stops, to read what it was sent.
UNREAD_S: Final = 5.0
# uvicorn's word for it; the application chooses what the client is told.
_RESTART: Final = 1012

_CLOSE: Final = b"connection: close\r\n"
_REASONS: Final = {400: "Bad Request", 431: "Request Header Fields Too Large"}


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's parser, with a limit on what a client may send before its body."""

    _head = 0
    _in_head = False
    # Whether the parser waits for a request to begin.
    _between = True
    # The head that the parser was just given, if it was whole and came first.
    _given: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there."""
        super().connection_made(transport)
        self._heads: dict[bytes, Head] = {}

    def data_received(self, data: bytes) -> None:
        """Parse what came; end the connection when a head does not end."""
        head = head_of(data) if self._between else None
        if head is not None:
            known = self._heads.get(head)
            whole = known is not None and len(data) - len(head) == known.length
            if known is not None and whole and self.cycle.response_complete:
                self._begin(known, data[len(head) :])
                return
        self._given = head
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > MAX_HEAD and not self.transport.is_closing():
                self._refuse(431, f"the request's line and headers exceed {MAX_HEAD} bytes")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head, self._head, self._between = True, 0, False

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._in_head = False
        super().on_headers_complete()
        given, self._given = self._given, None
        if given is not None and len(self._heads) < MOST:
            self._remember(given)

    def on_message_complete(self) -> None:
        """So is its body."""
        super().on_message_complete()
        self._between = True

    def _remember(self, head: bytes) -> None:
        parser = self.parser
        if parser.get_http_version() == "1.1" and parser.should_keep_alive():
            length = length_after(head, self.headers)
            if length is not None:
                # A request behind another one has no extensions yet.
                passing = ("extensions", "state")
                scope = {name: of for name, of in self.scope.items() if name not in passing}
                self._heads[head] = Head(scope, length, {})

    def _begin(self, known: Head, body: bytes) -> None:
        """What the parser and uvicorn do with a whole request, where it has a known head."""
        self._unset_keepalive_if_required()
        remembered = {"body": body, "noted": known.noted}
        scope: Any = {
            **known.scope,
            "state": self.app_state.copy(),
            "extensions": {REMEMBERED: remembered},
        }
        self.scope, self.headers = scope, scope["headers"]
        self.cycle = RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        self.cycle.body += body
        self.cycle.more_body = False
        self.cycle.message_event.set()
        self._start_asgi_task(self.cycle, self.app)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        extensions = cycle.scope.setdefault("extensions", {})
        assert extensions is not None
        extensions[ANSWER] = {"send": _Answering(cycle)}
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(400, "this is not a well-formed HTTP request")

    def shutdown(self) -> None:
        """The server stops: what was answered may still be read, but not for ever."""
        super().shutdown()
        self.loop.call_later(UNREAD_S, self._abandon)

    def _abandon(self) -> None:
        # A client that reads nothing would hold the process for as long as it likes.
        if self.flow.write_paused or (
            self.transport.is_closing() and self.transport.get_write_buffer_size()
        ):
            self.transport.abort()

    def _refuse(self, status: int, message: str) -> None:
        request_id = RequestIds(getrandbits)()
        body = encode(answer_of(InvalidRequest(message), request_id).body)
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {OPENJOBSPEC}\r\n"
            f"content-length: {len(body)}\r\nojs-version: {VERSION}\r\n"
            f"x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class _Answering:
    """Answers one request whole: its head and its body in one write, and in one step."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    async def __call__(self, status: int, lines: bytes, body: bytes) -> None:
        """What uvicorn does with the two messages of an answer whose length is known."""
        cycle = self._cycle
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        if holds(lines, _CLOSE):
            cycle.keep_alive = False
        elif not cycle.keep_alive:
            lines += _CLOSE
        cycle.waiting_for_100_continue = False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        cycle.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[status], lines, body))
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


class BoundedSocket(WSProtocol):
    """uvicorn's WebSocket, which a client that reads nothing does not hold open for ever."""

    def handle_connect(self, event: Request) -> None:
        """Somebody asks for it."""
        super().handle_connect(event)
        # The application is a task, which has not begun.
        self.scope["extensions"][TEXTS] = {"send": self._send_texts}

    def shutdown(self) -> None:
        """The server stops: the application may say so first, and ends the connection then."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": _RESTART})
        else:
            super().shutdown()
        self.loop.call_later(UNREAD_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """No pong has come: nobody is there, so nothing is left to be read."""
        super().keepalive_timeout()
        self.transport.abort()

    async def _send_texts(self, texts: Iterable[bytes]) -> None:
        """Several messages, which are UTF-8, in one write."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(b"".join(map(text_frame, texts)))


def text_frame(text: bytes) -> bytes:
    """A message of a server as the one frame of RFC 6455; it is not compressed."""
    size = len(text)
    if size < 126:
        return b"\x81%c%b" % (size, text)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), text)
