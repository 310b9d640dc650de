"""Event streams as cases read them: frames, their end, and silence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from conformance.play.event_stream import Frame, streaming, unread
from conformance.play.stage import Stage
from conformance.play.wire import Wire
from conformance.verdicts.reply import CheckFailed


class Parts(httpx.AsyncByteStream):
    """A body that comes in parts, and then ends or stays silent."""

    def __init__(self, *parts: bytes, silent: bool = False, every_s: float = 0.0) -> None:
        self._parts = parts
        self._silent = silent
        self._every_s = every_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
            await asyncio.sleep(self._every_s)
        if self._silent:
            await asyncio.Event().wait()


def stage_of(said: Parts, status: int = 200) -> Stage:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["accept"] == "text/event-stream"
        return httpx.Response(status, headers={"Content-Type": "text/event-stream"}, stream=said)

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://server")
    return Stage(Wire(client), {})


async def test_frames_are_read_across_parts_to_the_end() -> None:
    said = Parts(
        b"retry: 3000\n\n:heart", b"beat\nid: 1\n\nid: 2\nevent: a\ndata: {", b'"n":1}\n\n'
    )
    async with streaming(stage_of(said), "events/stream") as frames:
        assert frames.headers["content-type"] == "text/event-stream"
        found = await frames.events_to_the_end()
    assert found == [
        Frame(retry="3000"),
        Frame(id="1", comment="heartbeat"),
        Frame(id="2", event="a", data='{"n":1}'),
    ]
    assert found[2].json == {"n": 1}


async def test_silence_and_an_early_end_fail_the_case() -> None:
    async with streaming(stage_of(Parts(b":hello\n\n", silent=True)), "events/stream") as frames:
        with pytest.raises(CheckFailed, match=r"expected an event, got none within 0\.05 s"):
            await frames.event(within_s=0.05)
    async with streaming(stage_of(Parts(b":hello\n\n")), "events/stream") as frames:
        with pytest.raises(CheckFailed, match="expected an event, got the end of the stream"):
            await frames.event()


async def test_signs_of_life_are_no_event() -> None:
    beaten = Parts(*[b":heartbeat\n\n"] * 1000, every_s=0.02)
    async with streaming(stage_of(beaten), "events/stream") as frames, asyncio.timeout(5):
        with pytest.raises(CheckFailed, match=r"expected an event, got none within 0\.1 s"):
            await frames.event(within_s=0.1)


async def test_a_stream_that_goes_on_where_it_should_end_fails_the_case() -> None:
    async with streaming(stage_of(Parts(b":hello\n\n", silent=True)), "events/stream") as frames:
        with pytest.raises(CheckFailed, match=r"expected the end of the stream, got none within"):
            await frames.events_to_the_end(within_s=0.05)


async def test_a_stream_that_never_answers_fails_the_case() -> None:
    async def silent(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    client = httpx.AsyncClient(transport=httpx.MockTransport(silent), base_url="http://server")
    with pytest.raises(CheckFailed, match=r"the head of an answer, got nothing within 0\.05 s"):
        async with streaming(Stage(Wire(client), {}), "events/stream", within_s=0.05):
            pass


async def test_a_stream_whose_connection_breaks_fails_the_case() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("reset")

    client = httpx.AsyncClient(transport=httpx.MockTransport(broken), base_url="http://server")
    with pytest.raises(CheckFailed, match="the head of an answer, got ReadError: reset"):
        async with streaming(Stage(Wire(client), {}), "events/stream"):
            pass


async def test_a_stream_that_is_refused_fails_the_case() -> None:
    with pytest.raises(CheckFailed, match="status of GET events/stream: 200"):
        async with streaming(stage_of(Parts(b"{}"), 503), "events/stream"):
            pass


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[Stage]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert request.startswith("GET /ojs/v1/events/stream HTTP/1.1\r\n")
        assert "accept: text/event-stream\r\n" in request.lower()
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield Stage(Wire(client), {})


def saying(*said: bytes) -> Serve:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in said:
            writer.write(part)
            await writer.drain()

    return serve


@pytest.mark.parametrize(
    "said",
    [
        (HEAD, b"\r\n:a\n\nid: 1\r\neve", b"nt: b\n\n"),
        (
            HEAD,
            CHUNKED,
            b"4\r\n:a\n\n\r\n8;x=y\r\nid: 1\r\ne\r\n",
            b"9\r\nvent: b\n\n\r\n0\r\n\r\n",
        ),
        (HEAD, CHUNKED, b"14\r\n:a\n\nid: 1\nevent: b\n\n\r\nfffffff0\r\n"),
    ],
    ids=["to the end", "in chunks", "before a chunk that is too long"],
)
async def test_a_stream_is_read_when_its_frames_are_asked_for(said: tuple[bytes, ...]) -> None:
    async with serving(saying(*said)) as stage, unread(stage, "events/stream") as begin:
        found = await begin().events_to_the_end()
    assert found == [Frame(comment="a"), Frame(id="1", event="b")]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"HTTP/1.1 503 Busy\r\n\r\n", r'status of GET events/stream: \["200"\], got \["503"\]'),
        (b"HTTP/1.1 200 OK\r\n", "expected the head of an answer, got "),
        (b"x" * 20_000, "expected the head of an answer, got "),
    ],
)
async def test_what_is_no_stream_fails_the_case(said: bytes, told: str) -> None:
    async with serving(saying(said)) as stage:
        with pytest.raises(CheckFailed, match=told):
            async with unread(stage, "events/stream"):
                pass


async def test_a_stream_that_is_not_read_soon_holds_its_server_back() -> None:
    piece, most = b":" + b"x" * 65_000 + b"\n\n", 60
    written = asyncio.Event()
    sent = 0

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.transport.set_write_buffer_limits(0)
        writer.write(HEAD + b"\r\n")
        while sent < most:
            writer.write(piece)
            sent += 1
            try:
                # Too short a wait on a slow machine only ends the loop sooner.
                await asyncio.wait_for(writer.drain(), 0.3)
            except TimeoutError:
                break
        written.set()
        await writer.drain()

    async with serving(serve) as stage, unread(stage, "events/stream") as begin:
        await asyncio.wait_for(written.wait(), 20)
        assert sent < most // 4
        assert len(await begin().events_to_the_end()) == sent
