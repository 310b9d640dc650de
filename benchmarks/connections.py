"""Many HTTP connections from one process, like those of a fleet of workers and producers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

ENQUEUE: Final = "/ojs/v1/jobs"
BATCH: Final = "/ojs/v1/jobs/batch"
FETCH: Final = "/ojs/v1/workers/fetch"
ACK: Final = "/ojs/v1/workers/ack"
BEAT: Final = "/ojs/v1/workers/heartbeat"


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    status: int
    head: bytes
    body: bytes

    def json(self) -> Any:
        """The decoded body; raises unless it is a 2xx."""
        if self.status // 100 != 2:
            raise RuntimeError(f"answered {self.status}: {self.body[:300]!r}")
        return msgspec.json.decode(self.body)


class Line(asyncio.Protocol):
    """One connection, kept open; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._come = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to ask."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """No answer will come."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        """A piece of the answer."""
        self._come += data
        head, end, body = self._come.partition(b"\r\n\r\n")
        if not end or self._waiting is None:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            waiting, self._waiting, self._come = self._waiting, None, b""
            if not waiting.done():
                waiting.set_result(Answer(int(head[9:12]), head, body))

    def ask(self, path: str, body: Any) -> "asyncio.Future[Answer]":
        """Send a request; its answer comes later."""
        assert self._transport is not None
        assert self._waiting is None, "one request at a time"
        if self._transport.is_closing():
            raise ConnectionError("the server ended the connection while nothing was asked")
        sent = msgspec.json.encode(body)
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(sent)}\r\n\r\n".encode()
            + sent
        )
        return self._waiting

    async def call(self, path: str, body: Any) -> Any:
        """Send a request and return the decoded body; raise unless the status is 2xx."""
        return (await self.ask(path, body)).json()

    def close(self) -> None:
        """Close the connection; the answer to the last request is discarded."""
        self._waiting = None
        if self._transport is not None:
            self._transport.abort()


@asynccontextmanager
async def lines(port: int, count: int) -> AsyncIterator[list[Line]]:
    """Open this many connections, and close them at the end."""
    loop = asyncio.get_running_loop()
    opened: list[Line] = []
    try:
        for _ in range(count):
            _, line = await loop.create_connection(Line, "127.0.0.1", port)
            opened.append(line)
        yield opened
    finally:
        for line in opened:
            line.close()


def job(queue: str) -> dict[str, Any]:
    """One that does nothing."""
    return {"type": "bench.noop", "args": [1, "payload"], "options": {"queue": queue}}


async def fill(line: Line, queue: str, count: int, step: int = 1000) -> None:
    """Store jobs that wait."""
    for start in range(0, count, step):
        await line.call(BATCH, {"jobs": [job(queue)] * min(step, count - start)})
