"""Event streams that wake an idle worker up, and what it does where there are none."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from ojs_worker import Worker
from ojs_worker.errors import Refused, Unreachable, refusal
from ojs_worker.running.fetching import FETCH
from ojs_worker.running.stream_waker import STREAM
from ojs_worker.transport import Request
from ojs_worker.transport.sse import MAX_LINE, Frame, FrameReader
from tests.http.conftest import Serve
from tests.http.listening import on_a_socket
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import ALL, MANIFEST, MemoryTransport, ScriptedServer, job

OFFERED = (200, {"capabilities": {"event_streams": True}})
# Intervals so long that only a stream can have woken the worker.
SLOW = {**QUICK, "wake": "stream", "poll_interval": 300, "heartbeat_interval": 1}


class Streaming(MemoryTransport):
    """The scripted server with event streams, whose content a test puts into `streams`."""

    def __init__(self, server: ScriptedServer) -> None:
        super().__init__(server)
        self.asked: list[Request] = []
        self.news: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        self.asked.append(request)
        while (piece := await self.news.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece


@pytest.fixture
def server() -> ScriptedServer:
    made = ScriptedServer(paths=ALL)
    made.answers[MANIFEST] = lambda body: OFFERED
    return made


@pytest.fixture
def way(server: ScriptedServer) -> Streaming:
    return Streaming(server)


@pytest.fixture
def worker(way: Streaming) -> Worker:
    made = Worker(transport=way, queues=["critical", "q"], **SLOW)

    @made.job("a.b")
    async def handler() -> None: ...

    return made


def waits(server: ScriptedServer) -> list[int]:
    """Return the time for which the server may hold each FETCH."""
    return [call.body["wait_ms"] for call in server.of(FETCH)]


async def test_an_announced_job_is_fetched_at_once(
    worker: Worker, server: ScriptedServer, way: Streaming, start: Start
) -> None:
    async with start(worker):
        way.news.put_nowait(b"retry: 3000\n\n")
        # The stream is there: what came before it is looked for, and nothing is held from now on.
        await server.until(lambda: 0 in waits(server))
        for number in (1, 2):
            await server.offer(job(number, "a.b"))
            way.news.put_nowait(b"id: 7\nevent: job.enqueued\ndata: {}\n\n")
            await server.settled(job(number))
    (asked,) = way.asked
    assert asked.path.startswith(f"{STREAM}?")
    query = parse_qs(urlsplit(asked.path).query)
    assert query["queues"] == ["critical,q"]
    assert "job.enqueued" in query["types"][0]
    assert query["job_types"] == ["a.b"]


async def test_every_type_is_followed_where_all_are_wanted(
    server: ScriptedServer, way: Streaming, start: Start
) -> None:
    worker = Worker(transport=way, only_known_types=False, **SLOW)
    worker.job("a.b")(lambda: None)
    async with start(worker):
        way.news.put_nowait(b"\n")
        await server.until(lambda: 0 in waits(server))
    assert "job_types" not in parse_qs(urlsplit(way.asked[0].path).query)


@pytest.mark.parametrize(
    "end",
    [None, Unreachable("broken", sent=True), refusal(503, b""), b"x" * (MAX_LINE + 1)],
    ids=["ended", "broken", "full", "nonsense"],
)
async def test_a_stream_that_ends_is_taken_up_where_it_ended(
    worker: Worker, server: ScriptedServer, way: Streaming, start: Start, end: object
) -> None:
    async with start(worker):
        way.news.put_nowait(b"id: a\nevent: job.enqueued\ndata: {}\n\n:heartbeat\nid: b\n\n")
        way.news.put_nowait(end)  # type: ignore[arg-type]
        way.news.put_nowait(b"\n")
        async with asyncio.timeout(20):
            await follows(lambda: len(way.asked) == 2)
    first, second = (dict(request.headers or {}) for request in way.asked)
    assert "Last-Event-ID" not in first
    assert second["Last-Event-ID"] == "b"


async def test_without_a_stream_the_server_holds_the_fetch(
    worker: Worker, server: ScriptedServer, way: Streaming, start: Start
) -> None:
    server.holds = True
    server.answers[MANIFEST] = lambda body: (200, {"capabilities": {}})
    async with start(worker):
        await server.offer(job(1, "a.b"))
        await server.settled(job(1))
        await server.offer(job(2, "a.b"))
        await server.settled(job(2))
    assert way.asked == []
    assert set(waits(server)) == {5000}


@pytest.mark.parametrize("error", [refusal(403, b""), refusal(404, b"")])
async def test_a_refused_stream_is_not_asked_for_again(
    worker: Worker,
    server: ScriptedServer,
    way: Streaming,
    start: Start,
    error: Refused,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.holds = True
    way.news.put_nowait(error)
    async with start(worker):
        async with asyncio.timeout(20):
            await follows(lambda: "cannot be followed" in caplog.text)
        await server.offer(job(1, "a.b"))
        await server.settled(job(1))
    assert len(way.asked) == 1


async def test_a_transport_without_streams_is_no_trouble(
    server: ScriptedServer, start: Start
) -> None:
    server.holds = True
    worker = Worker(transport=MemoryTransport(server), unknown_type="fail", **SLOW)
    async with start(worker):
        await server.offer(job(1, "no.handler"))
        await server.until(lambda: server.about("/ojs/v1/workers/nack", job(1)))


def test_frames_come_in_any_pieces() -> None:
    text = b"retry: 3\r\n\r\nid: 1\nevent: a.b\ndata: {}\n\n:heartbeat\nid:2\n\nevent:c"
    whole = [Frame(), Frame("1", "a.b", "{}"), Frame("2")]
    assert FrameReader().feed(text) == whole
    reader = FrameReader()
    found = [frame for byte in text for frame in reader.feed(bytes([byte]))]
    assert found == whole


async def test_our_own_server_wakes_its_worker(serve: Serve, start: Start) -> None:
    done: asyncio.Queue[int] = asyncio.Queue()
    async with serve() as server, on_a_socket(server) as url:
        worker = Worker(url, **{**SLOW, "queues": ["q"]})

        @worker.job("a.b", queue="q")
        async def handler(number: int) -> None:
            done.put_nowait(number)

        async with start(worker) as running:
            async with asyncio.timeout(20):
                await follows(lambda: running.waker.connected)
                # A FETCH that is still held brings the first job, but not the second.
                for number in (1, 2):
                    await handler.enqueue(number)
                    assert await done.get() == number
        await worker.client.close()


async def follows(met: Callable[[], bool]) -> None:
    while not met():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
