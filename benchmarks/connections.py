"""Many HTTP connections from one process, like those of a fleet of workers and producers."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeVar

import httptools
import msgspec

ENQUEUE: Final = "/ojs/v1/jobs"
BATCH: Final = "/ojs/v1/jobs/batch"
FETCH: Final = "/ojs/v1/workers/fetch"
ACK: Final = "/ojs/v1/workers/ack"
BEAT: Final = "/ojs/v1/workers/heartbeat"
SETTLE: Final = "/ojs/v1/workers/settle"

Taken = TypeVar("Taken")


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def good(self) -> bytes:
        """The body; raises unless the status is 2xx, or 101."""
        if self.status // 100 != 2 and self.status != 101:
            raise ConnectionError(f"answered {self.status}: {self.body[:300]!r}")
        return self.body


class Line(asyncio.Protocol):
    """One connection, kept open; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._body = b""
        self._upgraded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to ask."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """No answer will come."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        """A piece of the answer; what comes after an upgrade is ignored."""
        try:
            if not self._upgraded:
                self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgraded = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the answer."""
        self._headers[name.lower()] = value

    def on_body(self, part: bytes) -> None:
        """A part of its body."""
        self._body += part

    def on_message_complete(self) -> None:
        """The answer is there."""
        answer = Answer(self._parser.get_status_code(), self._headers, self._body)
        waiting, self._waiting, self._headers, self._body = self._waiting, None, {}, b""
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def ask(
        self, path: str, body: Any = None, method: str = "POST", head: str = ""
    ) -> "asyncio.Future[Answer]":
        """Send a request, with JSON or a text as it is; its answer comes later."""
        assert self._transport is not None
        assert self._waiting is None, "one request at a time"
        if self._transport.is_closing():
            raise ConnectionError("the server ended the connection while nothing was asked")
        sent = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        sent = b"" if body is None else sent
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(sent)}\r\n{head}\r\n".encode()
            + sent
        )
        return self._waiting

    async def call(self, path: str, body: Any = None, method: str = "POST") -> Any:
        """Send a request and return the decoded body; raise unless the status is 2xx."""
        return msgspec.json.decode((await self.ask(path, body, method)).good())

    def close(self) -> None:
        """Close the connection; the answer to the last request is discarded."""
        self._waiting = None
        if self._transport is not None:
            self._transport.abort()


@asynccontextmanager
async def lines(port: int, count: int) -> AsyncIterator[list[Line]]:
    """Open this many connections, and close them at the end."""
    opened: list[Line] = []
    try:
        for _ in range(count):
            opened.append(await opened_line(port))
        yield opened
    finally:
        for line in opened:
            line.close()


async def opened_line(port: int) -> Line:
    """Open one connection."""
    _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    return line


def job(queue: str) -> dict[str, Any]:
    """One that does nothing."""
    return {"type": "bench.noop", "args": [1, "payload"], "options": {"queue": queue}}


async def fill(line: Line, count: int, one: dict[str, Any], step: int = 1000) -> None:
    """Store jobs that wait."""
    for start in range(0, count, step):
        await line.call(BATCH, {"jobs": [one] * min(step, count - start)})


def done(jobs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the outcomes that acknowledge jobs that were fetched, for a call that settles."""
    return [{"job_id": one["id"], "attempt": one["attempt"], "outcome": "ack"} for one in jobs]


class Delay(msgspec.Struct, Generic[Taken], frozen=True):
    """Something that was waited for, and the answer to the request that brought it about."""

    taken: Taken
    answer: Any
    since_request_ms: float
    since_answer_ms: float


async def delayed(waiting: Awaitable[Taken], request: Awaitable[Any]) -> Delay[Taken]:
    """Make a request while something is waited for, and measure when that comes."""
    wait = asyncio.create_task(_stamped(waiting))
    # Long enough for the wait to have begun at the server, even on a busy machine.
    await asyncio.sleep(0.02)
    begun = time.perf_counter()
    found = await asyncio.gather(wait, _stamped(request))
    (taken, there), (answer, answered) = found
    return Delay(taken, answer, (there - begun) * 1000, (there - answered) * 1000)


async def _stamped(one: Awaitable[Taken]) -> tuple[Taken, float]:
    return await one, time.perf_counter()


class Traffic:
    """Producers at a constant rate, and workers that settle what they fetch."""

    def __init__(
        self, queues: Sequence[str], rate: float, batch: int, producers: int, workers: int
    ) -> None:
        self.made: Counter[str] = Counter()
        self.done = 0
        self._queues, self._batch = queues, batch
        self._producers, self._workers = producers, workers
        self._every_s = self._batch * producers / rate

    async def run(self, port: int, seconds: float) -> None:
        """Produce for the given time, and go on until every job is completed."""
        async with lines(port, self._producers + self._workers) as opened:
            producing = [
                asyncio.create_task(self._produce(line, part, seconds))
                for part, line in enumerate(opened[: self._producers])
            ]
            working = [
                self._work(line, part, producing)
                for part, line in enumerate(opened[self._producers :])
            ]
            try:
                await asyncio.gather(*producing, *working)
            finally:
                for one in producing:
                    one.cancel()

    async def _produce(self, line: Line, part: int, seconds: float) -> None:
        begun, number = time.perf_counter(), 0
        while (passed := time.perf_counter() - begun) < seconds:
            await asyncio.sleep(max(0.0, number * self._every_s - passed))
            first = (number * self._producers + part) * self._batch
            places = range(first, first + self._batch)
            names = [self._queues[place % len(self._queues)] for place in places]
            await line.call(BATCH, {"jobs": [job(name) for name in names]})
            self.made.update(names)
            number += 1

    async def _work(self, line: Line, part: int, producing: Sequence[asyncio.Task[None]]) -> None:
        queues = self._queues[part :: self._workers]
        fetch = {"queues": queues, "count": self._batch, "wait_ms": 100}
        results: list[dict[str, Any]] = []
        over = False
        while results or not over:
            # Read before the FETCH, which finds all jobs that were produced until now.
            over = all(one.done() for one in producing)
            body = {"worker_id": f"bench-{part}", "results": results, "fetch": fetch}
            results = done((await line.call(SETTLE, body))["jobs"])
            self.done += len(results)
