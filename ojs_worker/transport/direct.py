"""HTTP/1.1 over asyncio for the calls of a worker, at a fraction of the cost of a general client.

Proxies, and users in URLs, are left to `over_httpx`.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable
from typing import Final, cast
from urllib.parse import urlsplit

import httptools

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.transport import (
    CONNECT_S,
    CONNECTIONS,
    IDLE_S,
    Reply,
    Request,
    StreamingTransport,
    base_url,
    no_answer,
    urls_of,
)
from ojs_worker.transport.access import Access, Auth, Headers
from ojs_worker.transport.in_turn import InTurn
from ojs_worker.transport.proxies import proxy_for

_BROKEN: Final = (OSError, EOFError, httptools.HttpParserError)


def transport_to(
    url: str,
    auth: Auth | None,
    connect_s: float = CONNECT_S,
    tls: ssl.SSLContext | None = None,
) -> StreamingTransport:
    """Return the fastest transport that can reach this URL, or in turn each of several, with commas
    between them."""
    transports = [_transport_to(address, auth, connect_s, tls) for address in urls_of(url)]
    return transports[0] if len(transports) == 1 else InTurn(transports)


def _transport_to(
    url: str, auth: Auth | None, connect_s: float, tls: ssl.SSLContext | None
) -> StreamingTransport:
    parts = urlsplit(url)
    if parts.username is not None or proxy_for(parts) is not None:
        # Imported late, because a worker without a proxy starts faster without it.
        from ojs_worker.transport.over_httpx import HttpTransport

        return HttpTransport(url, auth, connect_s=connect_s, tls=tls)
    return DirectTransport(url, auth, connect_s=connect_s, tls=tls)


class DirectTransport:
    """Sends requests over connections of its own, which belong to the loop that first uses it."""

    def __init__(
        self,
        url: str,
        auth: Auth | None = None,
        *,
        headers: Headers | None = None,
        connect_s: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._url = base_url(url)
        parts = urlsplit(self._url)
        if not parts.hostname:
            raise ValueError(f"the server's URL has no host: {url!r}")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        encrypted = parts.scheme == "https"
        self._tls = (tls or ssl.create_default_context()) if encrypted else None
        self._prefix = parts.path.encode()
        self._fixed = b" HTTP/1.1\r\nHost: " + parts.netloc.encode() + b"\r\n"
        self._access = Access(auth, headers)
        self._connect_s = connect_s
        self._idle: list[_Line] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._places: asyncio.Semaphore
        self._written: tuple[Headers, bytes] | None = None

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        message = await self._message(request)
        async with self._bounded():
            line = self._take() or await self._connect(request.timeout_s)
            try:
                reply = await line.exchange(message, request.timeout_s)
            except _BROKEN as error:
                line.close()
                raise self._unreachable(error, sent=True) from None
            except BaseException:
                # The caller gave up; closing the connection tells the server.
                line.close()
                raise
            if line.usable:
                self._idle.append(line)
            else:
                line.close()
            return reply

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the parts of a stream, over a connection of its own."""
        message = await self._message(request)
        line = await self._connect(request.timeout_s)
        pieces: asyncio.Queue[bytes] = asyncio.Queue()
        line.sink = pieces.put_nowait
        whole = asyncio.ensure_future(line.exchange(message, None))
        # Marks the end, as no piece is empty.
        whole.add_done_callback(lambda _: pieces.put_nowait(b""))
        try:
            while True:
                async with asyncio.timeout(request.timeout_s):
                    piece = await pieces.get()
                if not piece:
                    break
                yield piece
            reply = await whole
        except _BROKEN as error:
            raise self._unreachable(error, sent=True) from None
        finally:
            whole.cancel()
            line.close()
        if not reply.well:
            raise refusal(reply.status, reply.body, reply.retry_after_s)

    async def close(self) -> None:
        """Close the connections."""
        idle, self._idle = self._idle, []
        for line in idle:
            line.close()

    async def _message(self, request: Request) -> bytes:
        head = self._head(await self._access.headers())
        if request.headers:
            head += _write(request.headers)
        body = request.body or b""
        return b"%s %s%s%s%sContent-Length: %d\r\n\r\n%s" % (
            request.method.encode(),
            self._prefix,
            request.path.encode(),
            self._fixed,
            head,
            len(body),
            body,
        )

    def _bounded(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to an event loop, and this is another one.
            self._loop, self._idle = loop, []
            self._places = asyncio.Semaphore(CONNECTIONS)
        return self._places

    def _unreachable(self, error: Exception, *, sent: bool) -> Unreachable:
        return no_answer(self._url, error, sent=sent)

    def _take(self) -> "_Line | None":
        oldest = asyncio.get_running_loop().time() - IDLE_S
        while self._idle:
            line = self._idle.pop()
            if line.usable and line.used_at > oldest:
                return line
            line.close()
        return None

    async def _connect(self, timeout_s: float) -> "_Line":
        try:
            async with asyncio.timeout(min(self._connect_s, timeout_s)):
                _, line = await asyncio.get_running_loop().create_connection(
                    _Line, self._host, self._port, ssl=self._tls
                )
        except (OSError, ssl.SSLError) as error:
            raise self._unreachable(error, sent=False) from None
        return line

    def _head(self, headers: Headers) -> bytes:
        # Unless a token changes, the headers are the same object each time.
        if self._written is None or self._written[0] is not headers:
            self._written = (headers, _write(headers))
        return self._written[1]


class _Line(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self.used_at = asyncio.get_running_loop().time()
        self._open = False
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Reply] | None = None
        self._body: list[bytes] = []
        self._retry_after: float | None = None
        self._has_length = False
        self._past_head = False
        self._keep_alive = True
        # Receives the body of a success piece by piece; without it, the body is kept for the reply.
        self.sink: Callable[[bytes], None] | None = None
        self._sinks = False

    @property
    def usable(self) -> bool:
        """True if another request may be sent."""
        return self._open and self._keep_alive

    async def exchange(self, message: bytes, timeout_s: float | None) -> Reply:
        """Send a request and wait for its whole answer."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self._answer = answer
        self._body, self._retry_after = [], None
        self._has_length = self._past_head = False
        late = None
        if timeout_s is not None:
            late = loop.call_later(timeout_s, self._fail, TimeoutError(f"none in {timeout_s:g} s"))
        self._transport.write(message)
        try:
            return await answer
        finally:
            if late is not None:
                late.cancel()
            self._answer = None
            self.used_at = loop.time()

    def close(self) -> None:
        """Close the connection."""
        self._open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, because uvloop's transports are no subclass.
        self._transport = cast(asyncio.Transport, transport)
        self._open = True

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if self._answer is not None and self._past_head and not self._has_length:
            # An answer without a length ends with the connection.
            self.on_message_complete()
        self._fail(error or EOFError("the connection was closed"))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._has_length = True
        elif name == b"retry-after":
            with contextlib.suppress(ValueError):
                self._retry_after = max(0.0, float(value))

    def on_headers_complete(self) -> None:
        self._past_head = True
        self._sinks = self.sink is not None and 200 <= self._parser.get_status_code() < 300

    def on_body(self, part: bytes) -> None:
        if self.sink is not None and self._sinks:
            self.sink(part)
        else:
            self._body.append(part)

    def on_message_complete(self) -> None:
        self._keep_alive = self._parser.should_keep_alive()
        status = self._parser.get_status_code()
        if self._answer is not None and not self._answer.done():
            after = self._retry_after if status >= 400 else None
            self._answer.set_result(Reply(status, b"".join(self._body), after))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def _write(headers: Headers) -> bytes:
    lines = []
    for name, value in headers.items():
        if not (value.isprintable() and name.isprintable()):
            raise ValueError(f"the header {name!r} holds what a header cannot")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("latin-1")
