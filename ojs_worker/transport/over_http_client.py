"""Requests over http.client of the standard library, for programs without an event loop.

It loads a fraction of the modules of a general client, which counts for a command.
"""

import os
import ssl
from base64 import b64encode
from collections.abc import Generator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from selectors import EVENT_READ, DefaultSelector
from socket import socket
from time import monotonic
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.transport import (
    CONNECT_S,
    CONNECTIONS,
    IDLE_S,
    BlockingStreamingTransport,
    Reply,
    Request,
    base_url,
    no_answer,
    retry_after,
    urls_of,
)
from ojs_worker.transport.access import Access, Auth, Headers
from ojs_worker.transport.loopless import BlockingInTurn
from ojs_worker.transport.proxies import proxy_for

PIECE_BYTES: Final = 65_536
_BROKEN: Final = (OSError, HTTPException)


def blocking_transport_to(
    url: str, auth: Auth | None, tls: ssl.SSLContext | None = None
) -> BlockingStreamingTransport:
    """Return a transport to this URL, or in turn to each of several, with commas between them."""
    transports = [BlockingHttpTransport(address, auth, tls=tls) for address in urls_of(url)]
    return transports[0] if len(transports) == 1 else BlockingInTurn(transports)


class BlockingHttpTransport:
    """Sends each request over a connection that no other thread uses, and keeps it for the next;
    safe to use from many threads, and in processes that were forked after it was made."""

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
        self._host, self._port = parts.hostname, parts.port
        encrypted = parts.scheme == "https"
        self._tls = (tls or ssl.create_default_context()) if encrypted else None
        self._proxy = proxy_for(parts)
        if self._proxy is not None and self._proxy.scheme != "http":
            scheme = self._proxy.scheme
            raise ValueError(f"the proxy to {self._host} must be an http:// one, not {scheme}://")
        self._prefix = parts.path
        fixed = {**_basic("Authorization", parts), **(headers or {})}
        if self._proxy is not None and not encrypted:
            # For plain HTTP the proxy takes absolute URLs; HTTPS uses a tunnel.
            self._prefix = f"http://{parts.netloc.rpartition('@')[2]}{parts.path}"
            fixed.update(_basic("Proxy-Authorization", self._proxy))
        self._access = Access(auth, fixed)
        self._connect_s = connect_s
        self._idle: list[tuple[HTTPConnection, float]] = []
        self._process = os.getpid()

    def send(self, request: Request) -> Reply:
        """Send one request."""
        headers = self._headers(request)
        line = self._take() or self._connect(request.timeout_s)
        try:
            with self._exchange(line, request, headers) as answer:
                reply = _reply(answer)
        except _BROKEN as error:
            line.close()
            raise self._unreachable(error, sent=True) from None
        except BaseException:
            # The caller gave up; closing the connection tells the server.
            line.close()
            raise
        if answer.will_close or len(self._idle) >= CONNECTIONS:
            line.close()
        else:
            self._idle.append((line, monotonic()))
        return reply

    def stream(self, request: Request) -> Generator[bytes, None, None]:
        """Yield the parts of a stream, over a connection of its own."""
        headers = self._headers(request)
        line = self._connect(request.timeout_s)
        try:
            with self._exchange(line, request, headers) as answer:
                if not 200 <= answer.status < 300:
                    reply = _reply(answer)
                    raise refusal(reply.status, reply.body, reply.retry_after_s)
                while piece := answer.read1(PIECE_BYTES):
                    yield piece
        except _BROKEN as error:
            raise self._unreachable(error, sent=True) from None
        finally:
            line.close()

    def close(self) -> None:
        """Close the connections."""
        idle, self._idle = self._idle, []
        for line, _ in idle:
            line.close()

    def _headers(self, request: Request) -> dict[str, str]:
        return {**self._access.blocking_headers(), **(request.headers or {})}

    def _exchange(
        self, line: HTTPConnection, request: Request, headers: dict[str, str]
    ) -> HTTPResponse:
        line.sock.settimeout(request.timeout_s)
        line.request(request.method, self._prefix + request.path, request.body, headers)
        return line.getresponse()

    def _take(self) -> HTTPConnection | None:
        if self._process != os.getpid():
            # The process was forked, and its parent uses these connections, too.
            self.close()
            self._process = os.getpid()
        oldest = monotonic() - IDLE_S
        while self._idle:
            try:
                line, used_at = self._idle.pop()
            except IndexError:  # another thread took the last one
                break
            if used_at > oldest and _is_quiet(line.sock):
                return line
            line.close()
        return None

    def _connect(self, timeout_s: float) -> HTTPConnection:
        line = self._line(min(self._connect_s, timeout_s))
        try:
            line.connect()
        except _BROKEN as error:
            line.close()
            raise self._unreachable(error, sent=False) from None
        return line

    def _line(self, timeout_s: float) -> HTTPConnection:
        proxy = self._proxy
        host = self._host if proxy is None else proxy.hostname or ""
        port = self._port if proxy is None else proxy.port or 80
        if self._tls is None:
            return HTTPConnection(host, port, timeout=timeout_s)
        line = HTTPSConnection(host, port, timeout=timeout_s, context=self._tls)
        if proxy is not None:
            line.set_tunnel(self._host, self._port, _basic("Proxy-Authorization", proxy))
        return line

    def _unreachable(self, error: Exception, *, sent: bool) -> Unreachable:
        return no_answer(self._url, error, sent=sent)


def _basic(name: str, parts: SplitResult) -> Mapping[str, str]:
    """Return the header for the user whom a URL names; empty if it names none."""
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {name: f"Basic {b64encode(pair.encode()).decode()}"}


def _is_quiet(sock: socket) -> bool:
    """Return True if nothing has come, not even the end of the connection."""
    with DefaultSelector() as selector:
        selector.register(sock, EVENT_READ)
        return not selector.select(0)


def _reply(answer: HTTPResponse) -> Reply:
    after = answer.getheader("Retry-After") if answer.status >= 400 else None
    return Reply(answer.status, answer.read(), None if after is None else retry_after(after))
