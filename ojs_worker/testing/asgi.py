"""A transport that calls an ASGI application directly, with the same contract as over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, MutableMapping
from contextlib import aclosing
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from ojs_worker.errors import Unreachable, refusal
from ojs_worker.transport import Reply, Request, retry_after
from ojs_worker.transport.access import Access, Auth, Headers

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


Done = TypeVar("Done")


class AsgiTransport:
    """Calls an application in its event loop, which may be another one than the caller's.

    If the caller gives up, the application sees a closed connection.
    """

    def __init__(
        self,
        app: App,
        auth: Auth | None = None,
        *,
        headers: Headers | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._app = app
        self._access = Access(auth, headers)
        self._loop = loop
        # Abandoned calls that have not ended yet.
        self._left: set[asyncio.Future[None]] = set()

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        exchange = _Exchange(request, await self._access.headers())
        return await self._there(self._answer(exchange, request.timeout_s))

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the parts of a stream."""
        exchange = _Exchange(request, await self._access.headers())
        pieces = self._pieces(exchange, request.timeout_s)
        # A cancelled step may still be running when the stream is closed.
        turn = asyncio.Lock()
        try:
            while (piece := await self._there(_next(pieces, turn))) is not None:
                if not exchange.well:
                    rest = await self._there(_rest(pieces))
                    reply = exchange.reply(piece + rest)
                    raise refusal(reply.status, reply.body, reply.retry_after_s)
                yield piece
        finally:
            await self._there(_close(pieces, turn))

    async def close(self) -> None:
        """Do nothing: there is no connection, and the application is its owner's."""

    async def _there(self, doing: Coroutine[Any, Any, Done]) -> Done:
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await doing
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(doing, self._loop))

    async def _answer(self, exchange: "_Exchange", timeout_s: float) -> Reply:
        async with aclosing(self._pieces(exchange, None)) as pieces:
            try:
                async with asyncio.timeout(timeout_s):
                    return exchange.reply(await _rest(pieces))
            except TimeoutError:
                raise _too_late(timeout_s) from None

    async def _pieces(
        self, exchange: "_Exchange", timeout_s: float | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the body, each within `timeout_s` of the one before."""
        call = asyncio.ensure_future(self._call(exchange))
        try:
            while True:
                try:
                    async with asyncio.timeout(timeout_s):
                        part = await exchange.parts.get()
                except TimeoutError:
                    raise _too_late(timeout_s) from None
                if part is None:
                    break
                yield part
            await call
        except Unreachable:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise Unreachable(f"the application failed: {reason}", sent=True) from error
        finally:
            exchange.gone.set()
            if not call.done():
                self._left.add(call)
                call.add_done_callback(self._left.discard)

    async def _call(self, exchange: "_Exchange") -> None:
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        finally:
            exchange.parts.put_nowait(None)


async def _next(pieces: AsyncGenerator[bytes, None], turn: asyncio.Lock) -> bytes | None:
    async with turn:
        return await anext(pieces, None)


async def _close(pieces: AsyncGenerator[bytes, None], turn: asyncio.Lock) -> None:
    async with turn:
        await pieces.aclose()


async def _rest(pieces: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([piece async for piece in pieces])


def _too_late(timeout_s: float | None) -> Unreachable:
    return Unreachable(f"no answer in {timeout_s:g} s", sent=True)


class _Exchange:
    """One request, and what has come of its answer."""

    def __init__(self, request: Request, headers: Headers) -> None:
        plain, _, query = request.path.partition("?")
        self.scope: Final[Message] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(plain),
            "raw_path": plain.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in {**headers, **(request.headers or {})}.items()
            ],
            "client": ("127.0.0.1", 0),
            "server": ("ojs.test", 80),
        }
        self.gone = asyncio.Event()
        # None marks the end of the answer.
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._body: bytes | None = request.body or b""
        self._status = 0
        self._headers: dict[bytes, bytes] = {}

    @property
    def well(self) -> bool:
        """True if the application answered with a status of 2xx."""
        return 200 <= self._status < 300

    async def receive(self) -> Message:
        """Return the body, and then nothing until the caller has gone."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.lower(): value for name, value in message.get("headers", ())}
        else:
            self.parts.put_nowait(message.get("body", b""))
            if not message.get("more_body", False):
                self.parts.put_nowait(None)

    def reply(self, body: bytes) -> Reply:
        """Return the whole answer."""
        if not self._status:
            raise Unreachable("the application gave no answer", sent=True)
        after = self._headers.get(b"retry-after") if self._status >= 400 else None
        return Reply(
            self._status, body, None if after is None else retry_after(after.decode("latin-1"))
        )
