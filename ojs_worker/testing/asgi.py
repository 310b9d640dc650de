"""Requests straight into an ASGI application: no socket, the same contract as over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import unquote

from ojs_worker.access import Access, Auth, Headers
from ojs_worker.errors import Unreachable
from ojs_worker.transport import Reply, Request, retry_after

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


class AsgiTransport:
    """Calls an application in its event loop, which may be another one than the caller's.

    A caller that gives up has hung up: the application is told, and ends in its own time.
    """

    def __init__(
        self,
        app: App,
        auth: Auth | None = None,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._app = app
        self._access = Access(auth)
        self._loop = loop
        # Calls that nobody waits for any more.
        self._left: set[asyncio.Future[None]] = set()

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        exchange = _Exchange(request, await self._access.headers())
        answer = self._answer(exchange, request.timeout_s)
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await answer
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer, self._loop))

    async def close(self) -> None:
        """There is no connection to give up; the application is its owner's."""

    async def _answer(self, exchange: "_Exchange", timeout_s: float) -> Reply:
        call = asyncio.ensure_future(self._call(exchange))
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(call)
        except TimeoutError:
            raise Unreachable(f"no answer in {timeout_s:g} s", sent=True) from None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise Unreachable(f"the application failed: {reason}", sent=True) from error
        finally:
            exchange.gone.set()
            if not call.done():
                self._left.add(call)
                call.add_done_callback(self._left.discard)
        return exchange.reply()

    async def _call(self, exchange: "_Exchange") -> None:
        await self._app(exchange.scope, exchange.receive, exchange.send)


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
        self._body: bytes | None = request.body or b""
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        """The body, and then nothing until the caller has gone."""
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
            self._parts.append(message.get("body", b""))

    def reply(self) -> Reply:
        """The whole answer."""
        if not self._status:
            raise Unreachable("the application gave no answer", sent=True)
        after = self._headers.get(b"retry-after") if self._status >= 400 else None
        return Reply(
            self._status,
            b"".join(self._parts),
            None if after is None else retry_after(after.decode("latin-1")),
        )
