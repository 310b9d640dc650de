"""Reads server-sent events for cases: one frame after another, with a time limit."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import httpx
import msgspec

from conformance.play.connection import connect
from conformance.play.stage import V1, Stage
from conformance.play.wire import MOST_BYTES
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import FailedCheck

_SECONDS = 10.0


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

    def __init__(
        self, label: str, lines: AsyncIterator[str], headers: Mapping[str, str] | None = None
    ) -> None:
        self.label = label
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}
        self.comments: list[str] = []  # also of a frame that has not ended
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read(lines))

    async def next(self, within_s: float = 10.0) -> Frame | None:
        """Return the next frame, or None at the end of the stream; silence fails the case."""
        try:
            async with asyncio.timeout(within_s):
                return await self._queue.get()
        except TimeoutError:
            raise self._failed("a frame", f"nothing within {within_s:g} s") from None

    async def event(self, within_s: float = 10.0) -> Frame:
        """Return the next frame that is an event; heartbeats in between do not extend the wait."""
        try:
            async with asyncio.timeout(within_s):
                while (frame := await self._queue.get()) is not None:
                    if frame.event:
                        return frame
        except TimeoutError:
            raise self._failed("an event", f"none within {within_s:g} s") from None
        raise self._failed("an event", "the end of the stream")

    async def events_to_the_end(self, within_s: float = 15.0) -> list[Frame]:
        """Return all frames up to the end of the stream; a stream that goes on fails the case."""
        found = []
        try:
            async with asyncio.timeout(within_s):
                while (frame := await self._queue.get()) is not None:
                    found.append(frame)
        except TimeoutError:
            raise self._failed("the end of the stream", f"none within {within_s:g} s") from None
        return found

    def so_far(self) -> list[Frame]:
        """Return the frames that have come and were not asked for."""
        found: list[Frame] = []
        while not self._queue.empty():
            if (frame := self._queue.get_nowait()) is not None:
                found.append(frame)
        return found

    def close(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    async def _read(self, lines: AsyncIterator[str]) -> None:
        fields: dict[str, str] = {}
        try:
            async for line in lines:
                if line:
                    name, _, value = line.partition(":")
                    value = value.removeprefix(" ")
                    if not name:
                        self.comments.append(value)
                    if name == "data" and name in fields:
                        value = f"{fields[name]}\n{value}"
                    fields[name or "comment"] = value
                elif fields:
                    known = {key: fields[key] for key in fields if key in Frame.__struct_fields__}
                    self._queue.put_nowait(Frame(**known))
                    fields = {}
        except (httpx.HTTPError, OSError, EOFError, ValueError):
            pass
        finally:
            self._queue.put_nowait(None)

    def _failed(self, expected: str, actual: str) -> CheckFailed:
        failure = FailedCheck(step_id=self.label, field="stream", expected=expected, actual=actual)
        return CheckFailed(failure)


@asynccontextmanager
async def streaming(
    stage: Stage,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    within_s: float = _SECONDS,
    **query: str,
) -> AsyncIterator[Frames]:
    """Open a stream, which must be accepted; silence fails the case."""
    label = f"GET {path}"
    async with _opened(stage, path, headers, query, within_s) as response:
        stage.equal(response.status_code, 200, f"status of {label}")
        frames = Frames(label, response.aiter_lines(), response.headers)
        try:
            yield frames
        finally:
            frames.close()


@asynccontextmanager
async def unread(stage: Stage, path: str) -> AsyncIterator[Callable[[], Frames]]:
    """Open a stream on a narrow connection; none of it is read before its frames are asked for."""
    url, label = stage.wire.client.base_url, f"GET {path}"
    headers = {"Host": url.netloc.decode(), "Accept": "text/event-stream", **stage.headers}
    named = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    target = f"{url.raw_path.decode().rstrip('/')}{V1}/{path}"
    with ExitStack() as stack:
        try:
            reader, writer = await connect(url, narrow=True)
            stack.callback(writer.close)
            writer.write(f"GET {target} HTTP/1.1\r\n{named}\r\n".encode())
            async with asyncio.timeout(_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        except TimeoutError:
            raise _unanswered(path, f"nothing within {_SECONDS:g} s") from None
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise _unanswered(path, str(error) or type(error).__name__) from error
        stage.equal(head.split()[1:2], ["200"], f"status of {label}")
        pieces = _chunks(reader) if "transfer-encoding: chunked" in head else _reads(reader)
        yield lambda: Frames(label, _lines(pieces))


async def _reads(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(65536):
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await reader.readline()).partition(b";")[0], 16):
        if size > MOST_BYTES:
            raise ValueError(f"a chunk of {size} bytes")
        yield (await reader.readexactly(size + 2))[:-2]


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode().removesuffix("\r")


async def status_of(stage: Stage, path: str) -> int:
    """Return the status with which the server answers a request for a stream."""
    async with _opened(stage, path) as response:
        return response.status_code


@asynccontextmanager
async def _opened(
    stage: Stage,
    path: str,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    within_s: float = _SECONDS,
) -> AsyncIterator[httpx.Response]:
    sent = {"Accept": "text/event-stream", **stage.headers, **(headers or {})}
    # Only the head is limited here: reading frames has limits of its own.
    request = stage.wire.client.build_request(
        "GET", f"{V1}/{path}", params=query, headers=sent, timeout=httpx.Timeout(None, connect=5.0)
    )
    try:
        async with asyncio.timeout(within_s):
            response = await stage.wire.client.send(request, stream=True)
    except TimeoutError:
        raise _unanswered(path, f"nothing within {within_s:g} s") from None
    except httpx.HTTPError as error:
        raise _unanswered(path, f"{type(error).__name__}: {error}") from error
    try:
        yield response
    finally:
        await response.aclose()


def _unanswered(path: str, actual: str) -> CheckFailed:
    return CheckFailed(
        FailedCheck(
            step_id=f"GET {path}",
            field="transport",
            expected="the head of an answer",
            actual=actual,
        )
    )
