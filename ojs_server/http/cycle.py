"""One request and its answer, where uvicorn would take more steps for it than there are to take."""

import asyncio
from logging import Logger
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from ojs_server.http.call import REMEMBERED
from ojs_server.http.lingering import linger

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGIReceiveEvent, HTTPScope

_CLOSE: Final = b"connection: close\r\n"


class _Nobody:
    """Stands for an event that nobody waits for."""

    def set(self) -> None:
        """There is nobody to be told."""


_NOBODY: Final[Any] = _Nobody()


class WholeCycle(RequestResponseCycle):
    """uvicorn's cycle for a request that has come with all of its body.

    What is the same for each such request is the class's, or is asked of the connection.
    """

    disconnected = False
    keep_alive = True
    waiting_for_100_continue = False
    more_body = False
    response_started = False
    response_complete = False
    chunked_encoding = None
    expected_content_length = 0
    message_event = _NOBODY
    _told = False

    scope: "HTTPScope"

    def __init__(self, protocol: HttpToolsProtocol, body: bytes) -> None:
        self.transport = protocol.transport
        self.flow = protocol.flow
        self.on_response = protocol.on_response_complete
        self._protocol = protocol
        self.whole = body

    @property
    def logger(self) -> Logger:  # type: ignore[override]
        """Where mistakes of the application are told."""
        return self._protocol.logger

    @property
    def access_logger(self) -> Logger:  # type: ignore[override]
        """Where requests are told."""
        return self._protocol.access_logger

    @property
    def access_log(self) -> bool:  # type: ignore[override]
        """Whether they are."""
        return self._protocol.access_log

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:  # type: ignore[override]
        """What each answer says."""
        return self._protocol.server_state.default_headers

    def forget(self) -> None:
        """Let go of the body: a connection keeps its last request while it is quiet."""
        self.whole = b""
        extensions = self.scope["extensions"]
        assert extensions is not None
        extensions.pop(REMEMBERED, None)

    async def receive(self) -> "ASGIReceiveEvent":
        """The body, once; then the end of the connection or of the answer, as soon as it comes."""
        over = self.disconnected or self.response_complete
        if not over and not self._told:
            self._told = True
            return {"type": "http.request", "body": self.whole, "more_body": False}
        if not over:
            if self.message_event is _NOBODY:
                self.message_event = asyncio.Event()
            await self.message_event.wait()
        return {"type": "http.disconnect"}


async def answer(
    cycle: RequestResponseCycle, status: int, lines: bytes, body: bytes, stays: bool
) -> None:
    """Answer a request whole: its head and its body in one write, and in one step.

    This is what uvicorn does with the two messages of an answer whose length is known. Where the
    connection is not to stay open, the lines say so.
    """
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    reply(cycle, status, lines, body, stays)
    if isinstance(cycle, WholeCycle):
        cycle.forget()


def reply(cycle: RequestResponseCycle, status: int, lines: bytes, body: bytes, stays: bool) -> None:
    """The same where the client is known to read."""
    if cycle.disconnected:
        return
    if cycle.waiting_for_100_continue:
        leave_unread(cycle)
    if not stays:
        cycle.keep_alive = False
    elif not cycle.keep_alive:
        lines += _CLOSE
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    cycle.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[status], lines, body))
    if not cycle.keep_alive:
        if cycle.more_body:
            linger(cycle.transport)
        else:
            cycle.transport.close()
    cycle.on_response()


def leave_unread(cycle: RequestResponseCycle) -> None:
    """An answer leaves before the client was told to send its body, which it need not do any more:
    nobody could say whether what comes next is that body (RFC 9110, 10.1.1)."""
    if cycle.waiting_for_100_continue and cycle.more_body:
        cycle.keep_alive = False
    cycle.waiting_for_100_continue = False


def expecting(cycle: RequestResponseCycle, app: "ASGI3Application") -> "ASGI3Application":
    """The application where a client waits to be told to send a body, and answers are messages."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        async def say(message: Any) -> None:
            leave_unread(cycle)
            await send(message)

        await app(scope, receive, say)

    return serve
