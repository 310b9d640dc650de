"""Event streams as cases read them: frames, their end, and silence."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from conformance.frames import Frame, streaming
from conformance.reply import CheckFailed
from conformance.stage import Stage
from conformance.wire import Wire


class Said(httpx.AsyncByteStream):
    """A body that comes in parts, and then ends or stays silent."""

    def __init__(self, *parts: bytes, silent: bool = False) -> None:
        self._parts = parts
        self._silent = silent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        if self._silent:
            await asyncio.Event().wait()


def stage_of(said: Said, status: int = 200) -> Stage:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["accept"] == "text/event-stream"
        return httpx.Response(status, headers={"Content-Type": "text/event-stream"}, stream=said)

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://server")
    return Stage(Wire(client), {})


async def test_frames_are_read_across_parts_to_the_end() -> None:
    said = Said(b"retry: 3000\n\n:heart", b"beat\nid: 1\n\nid: 2\nevent: a\ndata: {", b'"n":1}\n\n')
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
    async with streaming(stage_of(Said(b":hello\n\n", silent=True)), "events/stream") as frames:
        with pytest.raises(CheckFailed, match=r"expected a frame, got nothing within 0\.05 s"):
            await frames.event(within_s=0.05)
    async with streaming(stage_of(Said(b":hello\n\n")), "events/stream") as frames:
        with pytest.raises(CheckFailed, match="expected an event, got the end of the stream"):
            await frames.event()


async def test_a_stream_that_goes_on_where_it_should_end_fails_the_case() -> None:
    async with streaming(stage_of(Said(b":hello\n\n", silent=True)), "events/stream") as frames:
        with pytest.raises(CheckFailed, match=r"expected the end of the stream, got none within"):
            await frames.events_to_the_end(within_s=0.05)


async def test_a_stream_that_is_refused_fails_the_case() -> None:
    with pytest.raises(CheckFailed, match="status of GET events/stream: 200"):
        async with streaming(stage_of(Said(b"{}"), 503), "events/stream"):
            pass
