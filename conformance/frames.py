"""Reads server-sent events as an own case sees them: one frame after another, with a limit."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec

from conformance.reply import CheckFailed
from conformance.stage import V1, Stage
from conformance.verdict import FailedCheck


class Frame(msgspec.Struct, frozen=True):
    """One frame: an event, or only a comment or a pause."""

    id: str = ""
    event: str = ""
    data: str = ""
    comment: str = ""
    retry: str = ""

    @property
    def json(self) -> Any:
        """The data as JSON."""
        return msgspec.json.decode(self.data)


class Frames:
    """An open stream; its frames are read in the background."""

    def __init__(self, label: str, response: httpx.Response) -> None:
        self.label = label
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read(response))

    async def next(self, within_s: float = 10.0) -> Frame | None:
        """The next frame, or None where the stream has ended; silence fails the case."""
        try:
            async with asyncio.timeout(within_s):
                return await self._queue.get()
        except TimeoutError:
            raise self._failed("a frame", f"nothing within {within_s:g} s") from None

    async def event(self, within_s: float = 10.0) -> Frame:
        """The next frame that is an event."""
        while (frame := await self.next(within_s)) is not None:
            if frame.event:
                return frame
        raise self._failed("an event", "the end of the stream")

    async def events_to_the_end(self, within_s: float = 15.0) -> list[Frame]:
        """All frames up to the end of the stream; one that goes on fails the case."""
        found = []
        try:
            async with asyncio.timeout(within_s):
                while (frame := await self._queue.get()) is not None:
                    found.append(frame)
        except TimeoutError:
            raise self._failed("the end of the stream", f"none within {within_s:g} s") from None
        return found

    def close(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    async def _read(self, response: httpx.Response) -> None:
        fields: dict[str, str] = {}
        try:
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name or "comment"] = value.removeprefix(" ")
                elif fields:
                    known = {key: fields[key] for key in fields if key in Frame.__struct_fields__}
                    self._queue.put_nowait(Frame(**known))
                    fields = {}
        except httpx.HTTPError:
            pass
        finally:
            self._queue.put_nowait(None)

    def _failed(self, expected: str, actual: str) -> CheckFailed:
        failure = FailedCheck(step_id=self.label, field="stream", expected=expected, actual=actual)
        return CheckFailed(failure)


@asynccontextmanager
async def streaming(
    stage: Stage, path: str, *, headers: Mapping[str, str] | None = None, **query: str
) -> AsyncIterator[Frames]:
    """Open a stream that must be given."""
    label = f"GET {path}"
    async with _asked(stage, path, headers, query) as response:
        stage.equal(response.status_code, 200, f"status of {label}")
        frames = Frames(label, response)
        try:
            yield frames
        finally:
            frames.close()


async def status_of(stage: Stage, path: str) -> int:
    """How the server answers who asks for a stream."""
    async with _asked(stage, path) as response:
        return response.status_code


@asynccontextmanager
async def _asked(
    stage: Stage,
    path: str,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> AsyncIterator[httpx.Response]:
    sent = {"Accept": "text/event-stream", **(headers or {})}
    timeout = httpx.Timeout(30.0, connect=5.0)
    async with stage.wire.client.stream(
        "GET", f"{V1}/{path}", params=query, headers=sent, timeout=timeout
    ) as response:
        yield response
