"""A client of the WebSocket of the application, message by message, in the same process."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from ojs_server.app import Application, Server

LONGEST_S: Final = 10
PATH: Final = "/ojs/v1/ws"


class Talking:
    """One connection. `hold` makes the client stop reading, as a slow one would."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.refusal = b""
        self.subprotocol: str | None = None
        self.closed: int | None = None
        self._started = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._said.put_nowait({"type": "websocket.connect"})

    def hold(self) -> None:
        """Read nothing more for now."""
        self._reading.clear()

    def go_on(self) -> None:
        """Read again."""
        self._reading.set()

    @property
    def all_is_received(self) -> bool:
        """True once the server has received all that was sent."""
        return self._said.empty()

    def say(self, **order: Any) -> None:
        """Send a message."""
        self.send_text(msgspec.json.encode(order).decode())

    def send_text(self, text: str) -> None:
        """Send text that need not be a message."""
        self._said.put_nowait({"type": "websocket.receive", "text": text})

    def send_bytes(self, data: bytes) -> None:
        """Send bytes, which are no message."""
        self._said.put_nowait({"type": "websocket.receive", "bytes": data})

    def leave(self) -> None:
        """Break the connection off."""
        self._said.put_nowait({"type": "websocket.disconnect", "code": 1006})

    async def heard(self) -> Any:
        """The next message."""
        async with asyncio.timeout(LONGEST_S):
            return await self._heard.get()

    async def events(self, count: int) -> list[Any]:
        """The next messages, which must be events."""
        found = [await self.heard() for _ in range(count)]
        assert [one["type"] for one in found] == ["event"] * count, found
        return found

    async def subscribe(self, channel: str, **more: Any) -> Any:
        """Subscribe; answers the acknowledgement."""
        self.say(action="subscribe", channel=channel, **more)
        return await self.heard()

    async def started(self) -> None:
        """Wait until the handshake has ended."""
        async with asyncio.timeout(LONGEST_S):
            await self._started.wait()

    async def receive(self) -> dict[str, Any]:
        """Return the next message of the client."""
        return await self._said.get()

    async def send(self, message: Any) -> None:
        """Take a message of the server; waits while the client does not read."""
        match message["type"]:
            case "websocket.accept":
                self.status, self.subprotocol = 101, message["subprotocol"]
                self._started.set()
            case "websocket.http.response.start":
                self.status = message["status"]
            case "websocket.http.response.body":
                self.refusal += message["body"]
                self._started.set()
            case "websocket.close":
                self.closed = message["code"]
                self.leave()
            case _:
                await self._reading.wait()
                self._heard.put_nowait(msgspec.json.decode(message["text"]))


@asynccontextmanager
async def talk(
    server: Server,
    path: str = PATH,
    *,
    offered: tuple[str, ...] = (),
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Talking]:
    """An open or refused connection; it is left at the end."""
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in (headers or {}).items()
        ],
        "subprotocols": list(offered),
    }
    talking = Talking()
    task = asyncio.create_task(Application(server)(scope, talking.receive, talking.send))
    try:
        await talking.started()
        yield talking
    finally:
        talking.go_on()
        talking.leave()
        async with asyncio.timeout(LONGEST_S):
            await task
