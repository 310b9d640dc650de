"""One request on a connection, and its answer.

Its body comes piece by piece or has come whole, and its answer leaves whole, in one write
(`reply`), or as messages of ASGI (`send`).
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Message

from ojs_server.connection.extensions import GIVEN_UP
from ojs_server.connection.flow_control import Flow
from ojs_server.connection.framing import STATUS_LINES, status_line
from ojs_server.domain.errors import OjsError

_CLOSE: Final = b"connection: close\r\n"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

log = logging.getLogger("ojs.http")


class Line(Protocol):
    """The connection of an exchange."""

    transport: asyncio.Transport
    flow: Flow

    def read_on(self) -> None:
        """Read on, unless many requests wait."""

    def answered(self) -> None:
        """Continue the connection after a complete answer."""

    def end(self, *, reads_on: bool) -> None:
        """Close the connection after what was written; with `reads_on` the client may still be
        sending."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task, which the server waits for before it ends."""


class Exchange:
    """A request and its answer."""

    __slots__ = (
        "_chunked",
        "_has_news",
        "_head",
        "_line",
        "_news",
        "_owed",
        "_pieces",
        "complete",
        "disconnected",
        "keep_alive",
        "more_body",
        "scope",
        "size",
        "started",
        "waits_to_send",
    )

    def __init__(
        self, line: Line, scope: dict[str, Any], *, keep_alive: bool, waits_to_send: bool = False
    ) -> None:
        self._line = line
        self.scope: Any = scope
        self.keep_alive = keep_alive
        # The client sends the body after `100 Continue` (RFC 9110, 10.1.1).
        self.waits_to_send = waits_to_send
        self.disconnected = False
        self.started = False
        self.complete = False
        # The body: the parts not received yet, their size, and whether more will come.
        self._pieces: list[bytes] = []
        self.size = 0
        self.more_body = True
        # True if there is something to receive, and the event that the receiver waits for.
        self._has_news = False
        self._news: asyncio.Event | None = None
        # The answer: its unsent head, whether it is chunked, and the bytes missing to its length.
        self._head = b""
        self._chunked = False
        self._owed = 0

    def feed(self, piece: bytes) -> None:
        """Add a part of the body."""
        self._pieces.append(piece)
        self.size += len(piece)
        self.notify()

    def body(self) -> bytes:
        """Return the part of the body that has arrived and was not received before."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def notify(self) -> None:
        """Wake the receiver of the body."""
        self._has_news = True
        if self._news is not None:
            self._news.set()

    def leave(self) -> None:
        """Note that the client has gone."""
        if not self.complete:
            self.disconnected = True
            self.notify()

    def give_up(self, error: OjsError) -> None:
        """Tell the receiver of the body that the rest is not read.

        The application then answers with an error; an application that needs no body is not
        disturbed.
        """
        self.scope.setdefault("extensions", {})[GIVEN_UP] = {"why": error}
        self.notify()

    def wait(self, work: Coroutine[Any, Any, None]) -> None:
        """Carry on with a coroutine in a task."""
        self._line.begin(work)

    async def run(self, app: ASGIApp) -> None:
        """Let an application answer the request."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("the application failed")
        if not (self.complete or self.disconnected):
            if self.started and not self._head:
                # The rest of the answer will not come.
                self._line.transport.close()
            else:
                lines = b"content-type: text/plain; charset=utf-8\r\ncontent-length: 21\r\n"
                self.reply(500, lines + _CLOSE, b"Internal Server Error", stays=False)

    async def receive(self) -> Message:
        """Return the body in parts, then the end of the connection or of the answer."""
        transport = self._line.transport
        if self.waits_to_send and not transport.is_closing():
            transport.write(_CONTINUE)
            self.waits_to_send = False
        if not (self.disconnected or self.complete):
            self._line.read_on()
            if not self._has_news:
                self._news = self._news or asyncio.Event()
                await self._news.wait()
                self._news.clear()
            self._has_news = False
        if self.disconnected or self.complete:
            return {"type": "http.disconnect"}
        body = self.body()
        self._pieces, self.size = [], 0
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    def reply(self, status: int, lines: bytes, body: bytes, stays: bool) -> None:
        """Send the whole answer: head and body in one write. If the connection is to close, the
        head says so."""
        if self.disconnected:
            return
        if self.waits_to_send:
            self._leave_unsent()
        if not stays:
            self.keep_alive = False
        elif not self.keep_alive:
            lines += _CLOSE
        self.started = True
        first = STATUS_LINES.get(status) or status_line(status)
        self._line.transport.write(b"%b%b\r\n%b" % (first, lines, body))
        self._finish()

    async def send(self, message: Message) -> None:
        """Send the answer in ASGI messages."""
        if self._line.flow.write_paused and not self.disconnected:
            await self._line.flow.drain()
        if self.disconnected:
            return
        if self.complete:
            raise RuntimeError(f"{message['type']} comes behind the end of the answer")
        expected = "http.response.body" if self.started else "http.response.start"
        if message["type"] != expected:
            raise RuntimeError(f"{message['type']} comes where {expected} is due")
        if self.started:
            self._send_piece(message.get("body", b""), more=message.get("more_body", False))
        else:
            self._send_head(message["status"], message.get("headers", ()))

    def _send_head(self, status: int, headers: Any) -> None:
        if self.waits_to_send:
            self._leave_unsent()
        lines = [status_line(status)]
        has_close, length = False, None
        for name, value in headers:
            lines.append(b"%b: %b\r\n" % (name, value))
            lower = name.lower()
            if lower == b"content-length":
                length = int(value)
            elif lower == b"transfer-encoding":
                self._chunked = value.lower() == b"chunked"
            elif lower == b"connection" and value.lower() == b"close":
                self.keep_alive, has_close = False, True
        if not (self.keep_alive or has_close):
            lines.append(_CLOSE)
        bodiless = self.scope["method"] == "HEAD" or status in (204, 304)
        if length is None and not self._chunked and not bodiless:
            self._chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        head = b"".join(lines)
        if not (head.count(b"\r") == head.count(b"\n") == len(lines)) or b"\0" in head:
            raise RuntimeError("a header of the answer does not fit on a line")
        self._owed = 0 if bodiless else length or 0
        self._head, self.started = head + b"\r\n", True

    def _send_piece(self, piece: bytes, *, more: bool) -> None:
        # The head is sent with the first piece, in one write.
        out = self._head
        if self.scope["method"] == "HEAD":
            pass
        elif self._chunked:
            out += b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
            out += b"" if more else b"0\r\n\r\n"
        else:
            self._owed -= len(piece)
            if self._owed < 0 or (self._owed and not more):
                raise RuntimeError("the answer has another length than its head says")
            out += piece
        self._head = b""
        if out:
            self._line.transport.write(out)
        if not more:
            self._finish()

    def _leave_unsent(self) -> None:
        """Close the connection after an answer that leaves before `100 Continue`: the client may
        send the body or skip it, so that the next bytes are ambiguous."""
        if self.more_body:
            self.keep_alive = False
        self.waits_to_send = False

    def _finish(self) -> None:
        self.complete = True
        # An idle connection keeps its last request, but not the body.
        self._pieces, self.size = [], 0
        self.notify()
        if not self.keep_alive:
            self._line.end(reads_on=self.more_body)
        self._line.answered()
