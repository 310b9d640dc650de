"""A tiny ASGI server with planted answers, and a clock that only its sleeper moves."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx
import msgspec

Message = MutableMapping[str, Any]


class Request(msgspec.Struct, frozen=True):
    """A request that the server received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def line(self) -> str:
        """Method and target, as in a request line."""
        return f"{self.method} {self.path}"


class Reply(msgspec.Struct, frozen=True):
    """An answer of the server: ``json``, or ``body`` as it stands."""

    status: int = 200
    json: Any = msgspec.UNSET
    body: bytes = b""
    headers: dict[str, str] = {}


Handler = Callable[[Request], Awaitable[Reply]]


class FakeServer:
    """Answers from a table of request lines; a list is used up answer by answer."""

    def __init__(self, replies: dict[str, Reply | list[Reply] | Handler] | None = None) -> None:
        self._replies = replies or {}
        self.requests: list[Request] = []

    @property
    def lines(self) -> list[str]:
        """The request lines received so far, in order."""
        return [request.line for request in self.requests]

    def client(self) -> httpx.AsyncClient:
        """A client that talks to this server without a network."""
        return httpx.AsyncClient(transport=self.transport(), base_url="http://server")

    def transport(self) -> httpx.ASGITransport:
        """A transport straight into this server."""
        return httpx.ASGITransport(self)

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve one request, as ASGI wants it."""
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        query = scope["query_string"].decode()
        request = Request(
            scope["method"],
            scope["path"] + (f"?{query}" if query else ""),
            {name.decode(): value.decode() for name, value in scope["headers"]},
            body,
        )
        self.requests.append(request)
        reply = await self._reply(request)
        content = reply.body if reply.json is msgspec.UNSET else msgspec.json.encode(reply.json)
        headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _reply(self, request: Request) -> Reply:
        planted = self._replies.get(request.line, Reply(404, json={"error": {"code": "unknown"}}))
        if isinstance(planted, list):
            return planted.pop(0)
        return planted if isinstance(planted, Reply) else await planted(request)


class FakeTime:
    """A clock that only `sleep` moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def clock(self) -> float:
        """The seconds slept so far."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Note the nap and move the clock at once."""
        self.naps.append(seconds)
        self.now += seconds


def failing_client(error: Callable[[httpx.Request], Exception]) -> httpx.AsyncClient:
    """A client whose every request ends in the given error."""

    def fail(request: httpx.Request) -> httpx.Response:
        raise error(request)

    return httpx.AsyncClient(transport=httpx.MockTransport(fail), base_url="http://server")
