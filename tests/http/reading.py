"""A fake transport for connections, and an application that records what it was given."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ojs_server.connection.connection import Connection
from ojs_server.connection.exchange import Exchange
from ojs_server.http.refusals import refusal

_TOLD: Final = ("type", "method", "path", "raw_path", "query_string", "http_version", "headers")


class Wire(asyncio.Transport):
    """A connection whose other end reads everything."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        # Bytes that the other end has not read.
        self.unread = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Mark the connection as closed."""
        self.closed = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Do nothing, as all data is given at once."""

    def resume_reading(self) -> None:
        """Do nothing, as reading never pauses."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Reading:
    """A connection, and what the application behind it was told.

    Requests that come whole do as `ways` say, one after the other: they are answered at `once` or
    `soon`, or go on in a task (`wait`); all others are left to the application.
    """

    def __init__(
        self,
        protocol: type[Connection | HttpToolsProtocol],
        ways: Sequence[str] = (),
        *,
        loop: Any = None,
    ) -> None:
        self._ways = list(ways)
        self.taken = 0
        config = uvicorn.Config(
            self._serve, interface="asgi3", proxy_headers=False, lifespan="off", log_config=None
        )
        config.load()
        self.told: list[tuple[Any, ...]] = []
        self.begun = 0
        # True if the server had ended the connection before it was lost.
        self.ended = False
        # Without it `/slow` is not answered.
        self.answer = asyncio.Event()
        self.state = ServerState()
        self.wire = Wire()
        more: Any = (
            {"refusal": refusal, "take": self._take} if issubclass(protocol, Connection) else {}
        )
        self.protocol: Any = protocol(config, self.state, {}, loop, **more)
        self.wire.set_protocol(self.protocol)
        self.protocol.connection_made(self.wire)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun += 1
        # The first one takes longest, so that what overtakes it is seen.
        for _ in range(6 // self.begun):
            await asyncio.sleep(0)
        body = b""
        while scope["path"] != "/unread":
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            body += message["body"]
            if not message["more_body"]:
                break
        if scope["path"] == "/slow":
            await self.answer.wait()
        self._tell(scope, body)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})

    def _tell(self, scope: Any, body: bytes) -> None:
        self.told.append((*(scope[name] for name in _TOLD), body))

    def _take(self, exchange: Exchange, body: bytes) -> bool:
        if not self._ways:
            return False
        way = self._ways.pop(0)
        self.taken += 1
        loop = asyncio.get_running_loop()
        if way == "wait":
            exchange.wait(self._reply_late(exchange, body))
        elif way == "soon":
            loop.call_soon(loop.call_soon, self._reply, exchange, body)
        else:
            self._reply(exchange, body)
        return True

    async def _reply_late(self, exchange: Exchange, body: bytes) -> None:
        await asyncio.sleep(0)
        self._reply(exchange, body)

    def _reply(self, exchange: Exchange, body: bytes) -> None:
        self._tell(exchange.scope, b"" if exchange.scope["path"] == "/unread" else body)
        exchange.reply(200, b"content-length: 2\r\n", b"ok", True)

    async def read(self, pieces: Sequence[tuple[bytes, bool]]) -> None:
        """Take the pieces, then the connection ends."""
        await self.take(pieces)
        self.ended = self.wire.closed
        self.protocol.connection_lost(None)
        await self.settled()

    async def take(self, pieces: Sequence[tuple[bytes, bool]]) -> None:
        """Take the pieces; after some, everything that is whole is answered first."""
        for piece, settles in pieces:
            if self.wire.closed:
                break
            self.protocol.data_received(piece)
            if settles:
                await self.settled()
        await self.settled()

    async def settled(self) -> None:
        """Wait until the application has nothing to do."""
        for _ in range(40):
            await asyncio.sleep(0)
