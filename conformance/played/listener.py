"""HTTP/1.1 of the played server: correct, unless a case has it misbehave."""

import asyncio
import contextlib
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import httptools
import msgspec

from conformance.processes.ports import reserve_port
from conformance.tasks import to_the_end

_MOST_BODY = 8 * 1024 * 1024
_MOST_HEAD = 64 * 1024
_KEPT_NONSENSE = 200


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One whole request."""

    method: str
    path: str
    query: str
    headers: dict[str, str]  # names in lower case, repeated ones joined
    content: bytes


class HttpReply(msgspec.Struct, frozen=True, kw_only=True):
    """Reply of a listener: an answer, bytes that are no HTTP, or a connection that breaks."""

    status: int = 200
    headers: dict[str, str] = {}
    content: bytes = b""
    raw: bytes | None = None
    breaks: bool = False


# Answers a request. The task is cancelled if the connection closes before the answer.
Handle = Callable[[HttpRequest], Awaitable[HttpReply]]


class Listener:
    """Listens on a port; it can go away and come back to the same one."""

    def __init__(
        self,
        handle: Handle,
        nonsense: Callable[[bytes], None],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.handle = handle
        self.nonsense = nonsense
        self.connections: set[_Connection] = set()
        self.port = port
        self._host = host
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The URL at which it is reached from this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_open(self) -> bool:
        """True while it listens."""
        return self._server is not None

    async def open(self) -> None:
        """Begin to listen."""
        # Interrupting it would leak a socket.
        await to_the_end(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        # Nobody else is given the port while it is closed.
        self.port = self.port or reserve_port()
        self._server = await loop.create_server(lambda: _Connection(self), self._host, self.port)

    async def close(self) -> None:
        """Refuse connections from here on, and break those that are open."""
        if self._server is not None:
            server, self._server = self._server, None
            await _closed(server)
        tasks = [connection.work for connection in self.connections if connection.work is not None]
        for connection in list(self.connections):
            connection.abort()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _closed(server: asyncio.Server) -> None:
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    try:
        # asyncio attaches an accepted connection to its server one turn of the loop later. If the
        # server were closed by then, the connection would be dropped without being closed.
        await asyncio.sleep(0)
    finally:
        server.close()


class _Connection(asyncio.Protocol):
    """One connection: requests are answered in the order in which they come."""

    def __init__(self, listener: Listener) -> None:
        self.work: asyncio.Task[None] | None = None
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[HttpRequest, bool]] = deque()
        self._done = False
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._content = bytearray()
        self._head_bytes = 0

    # ------------------------------------------------------------------ the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._listener.is_open:
            # The connection was accepted before the end, but reported after it.
            self.abort()
            return
        self._listener.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._done = True
        self._listener.connections.discard(self)
        if self.work is not None:
            self.work.cancel()

    def data_received(self, data: bytes) -> None:
        if self._done:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._listener.nonsense(data[:_KEPT_NONSENSE])
            self._refuse(HTTPStatus.BAD_REQUEST)

    def _without_upgrade(self, rest: bytes) -> None:
        # No protocol is upgraded. The parser takes the body for the new protocol, so parse the
        # request again without the header: some clients ask for HTTP/2 in every request.
        if "upgrade" not in self._headers:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        method, url = self._parser.get_method(), self._url
        left_out = ("upgrade", "connection", "expect", "http2-settings")
        lines = [f"{k}: {v}" for k, v in self._headers.items() if k not in left_out]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        self._parser = httptools.HttpRequestParser(self)
        self._begin()
        self.data_received(method + b" " + url + b" HTTP/1.1\r\n" + head + rest)

    def abort(self) -> None:
        """Break the connection so that the other side sees a reset."""
        self._done = True
        if self._transport is None:
            return
        raw = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    # ------------------------------------------------------------------ the parser

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._grown(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text
        self._grown(len(name) + len(value))

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._content += body
        if len(self._content) > _MOST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_complete(self) -> None:
        if self._done or self._parser.should_upgrade():
            return
        path, _, query = self._url.decode("latin-1").partition("?")
        request = HttpRequest(
            method=self._parser.get_method().decode("latin-1"),
            path=path,
            query=query,
            headers=self._headers,
            content=bytes(self._content),
        )
        self._begin()
        self._waiting.append((request, self._parser.should_keep_alive()))
        if self.work is None:
            self.work = asyncio.get_running_loop().create_task(self._answer_all())

    def _grown(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > _MOST_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _refuse(self, status: HTTPStatus) -> None:
        if not self._done and self._transport is not None:
            self._done = True
            self._transport.write(_written(HttpReply(status=status), keep=False))
            self._transport.close()

    # ------------------------------------------------------------------ answers

    async def _answer_all(self) -> None:
        while self._waiting and not self._done:
            request, keep = self._waiting.popleft()
            answer = await self._listener.handle(request)
            if answer.breaks:
                self.abort()
            elif self._transport is not None:
                self._transport.write(
                    answer.raw if answer.raw is not None else _written(answer, keep)
                )
                if answer.raw is not None or not keep:
                    self._done = True
                    self._transport.close()
        self.work = None


def _written(reply: HttpReply, keep: bool) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Played"
    headers = {**reply.headers, "Content-Length": str(len(reply.content))}
    if not keep:
        headers["Connection"] = "close"
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.content
