"""Reading an event stream of the application, frame by frame, in the same process."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import msgspec

from ojs_server.app import Application, Server
from tests.http.contract import contract

LONGEST_S: Final = 10
STREAM_HEADERS: Final[Mapping[str, str]] = {"accept": "text/event-stream"}
EVENT: Final = "#/components/schemas/Event"
OPENED: Final = "#/components/schemas/SessionOpened"
STATE_CHANGE: Final = "#/components/schemas/StateChange"
NOTICE: Final = "#/components/schemas/StreamNotice"


@dataclass
class Frame:
    """One event of a stream."""

    id: str | None = None
    event: str | None = None
    data: Any = None
    comments: list[str] = field(default_factory=list)
    retry: int | None = None


def parse(text: str) -> Frame:
    """A frame as the format says; more than the server uses is a fault."""
    frame = Frame()
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        match name:
            case "":
                frame.comments.append(value)
            case "id":
                frame.id = value.strip()
            case "event":
                frame.event = value.strip()
            case "data":
                assert frame.data is None
                frame.data = msgspec.json.decode(value)
            case "retry":
                frame.retry = int(value)
            case _:
                raise AssertionError(f"no field of a frame: {line!r}")
    return frame


class Listening:
    """One open stream. `hold` makes the client stop reading, as a slow one would."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        # True once the server has said that this was all.
        self.whole = False
        self.last_id: str | None = None
        self.ended = asyncio.Event()
        self.left = asyncio.Event()
        # The server has something to send, and nobody reads it.
        self.stuck = asyncio.Event()
        self._started = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._rest = ""

    def hold(self) -> None:
        """Read nothing more for now."""
        self._reading.clear()

    def go_on(self) -> None:
        """Read again."""
        self._reading.set()

    async def frame(self) -> Frame:
        """The next frame with an event or a comment; fails at the end of the stream."""
        async with asyncio.timeout(LONGEST_S):
            while True:
                frame = await self._frames.get()
                assert frame is not None, "the stream has ended"
                self.last_id = frame.id or self.last_id
                if frame.event is not None or frame.comments:
                    _check(frame)
                    return frame

    async def events(self, count: int) -> list[Frame]:
        """The next frames that hold events."""
        found: list[Frame] = []
        while len(found) < count:
            frame = await self.frame()
            if frame.event is not None:
                found.append(frame)
        return found

    async def until_end(self) -> list[Frame]:
        """All frames that are left, of a stream that ends by itself."""
        async with asyncio.timeout(LONGEST_S):
            await self.ended.wait()
        left = []
        while (frame := self._frames.get_nowait()) is not None:
            self.last_id = frame.id or self.last_id
            left.append(frame)
        return left

    async def started(self) -> None:
        """Wait until the head of the answer has come."""
        async with asyncio.timeout(LONGEST_S):
            await self._started.wait()

    async def receive(self) -> dict[str, Any]:
        """Return the event of a client that has disconnected."""
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Take a message of the server; waits while the client does not read."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._started.set()
            return
        if not self._reading.is_set():
            self.stuck.set()
            await self._reading.wait()
        self.body += message["body"]
        if self.headers["content-type"] == "text/event-stream":
            *whole, self._rest = (self._rest + message["body"].decode()).split("\n\n")
            for text in whole:
                self._frames.put_nowait(parse(text))
        if not message.get("more_body"):
            self.whole = True
            self._frames.put_nowait(None)


@asynccontextmanager
async def listen(
    server: Server,
    path: str,
    headers: Mapping[str, str] = STREAM_HEADERS,
    /,
    last: str | None = None,
    **query: str,
) -> AsyncIterator[Listening]:
    """An open stream, and its head held to the contract; it is left at the end."""
    headers = {**headers, **({} if last is None else {"last-event-id": last})}
    text = urlencode(query)
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": text.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    listening = Listening()

    async def call() -> None:
        try:
            await Application(server)(scope, listening.receive, listening.send)
        finally:
            listening.ended.set()

    task = asyncio.create_task(call())
    try:
        await listening.started()
        if listening.status != 200:
            async with asyncio.timeout(LONGEST_S):
                await listening.ended.wait()
        request = httpx.Request("GET", f"http://localhost{path}?{text}")
        contract().check(
            httpx.Response(
                listening.status, headers=listening.headers, content=listening.body, request=request
            )
        )
        yield listening
    finally:
        listening.left.set()
        listening.go_on()
        async with asyncio.timeout(LONGEST_S):
            await task


def _check(frame: Frame) -> None:
    if frame.event is None:
        return
    if frame.event == "job.state_changed":
        contract().validate(STATE_CHANGE, frame.data)
    elif frame.event == "session.opened":
        contract().validate(OPENED, frame.data)
    elif frame.event.startswith(("system.", "server.")):
        contract().validate(NOTICE, frame.data)
    elif "specversion" in frame.data:
        contract().validate(EVENT, frame.data)
        assert frame.data["type"] == frame.event
        assert frame.data["id"] == frame.id
