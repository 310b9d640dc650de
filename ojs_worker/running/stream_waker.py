"""Wake-ups by the server's event stream: an idle worker fetches when a job was announced.

An event that is lost costs time only: the worker also fetches at intervals. Where there are
no streams, its FETCHes are held by the server instead.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlencode

from ojs_worker.environment import Environment
from ojs_worker.errors import Refused
from ojs_worker.transport import StreamingTransport
from ojs_worker.transport.backoff import Backoff
from ojs_worker.transport.extensions import Extensions
from ojs_worker.transport.sse import FrameReader
from ojs_worker.transport.streams import extensions_of, follow_for_ever, stream_of

log = logging.getLogger("ojs.worker")

STREAM: Final = "/ojs/v1/events/stream"
# Events after which a job may be available.
EVENTS: Final = ("job.enqueued", "job.released", "queue.resumed")


class StreamWaker:
    """Follows the events of a worker's queues, as long as `run` runs."""

    def __init__(
        self,
        transport: StreamingTransport,
        queues: Sequence[str],
        job_types: Sequence[str] | None,
        read_extensions: Callable[[], Awaitable[Extensions | None]],
        environment: Environment,
    ) -> None:
        query = {"types": ",".join(EVENTS), "queues": ",".join(queues)}
        if job_types is not None:
            query["job_types"] = ",".join(job_types)
        self._transport = transport
        self._path = f"{STREAM}?{urlencode(query)}"
        self._read_extensions = read_extensions
        self._environment = environment
        self._last: str | None = None
        self._woken = asyncio.Event()
        # True while events arrive at once.
        self.connected = False

    async def __call__(self, seconds: float) -> None:
        """Wait until something was announced since the last call, or the time has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    async def run(self) -> None:
        """Follow the stream, and reconnect after every end, until cancelled or refused for good."""
        backoff = Backoff("follow the events", self._environment.random)
        if not (await extensions_of(self._read_extensions, backoff)).event_streams:
            log.info("the server has no event streams; it is asked to hold each FETCH instead")
            return
        try:
            await follow_for_ever(lambda: self._follow(backoff), backoff)
        except Refused as error:
            log.warning("events cannot be followed, FETCHes are held instead: %s", error)

    async def _follow(self, backoff: Backoff) -> None:
        frames = FrameReader()
        request = stream_of(self._path, self._last)
        try:
            async with contextlib.aclosing(self._transport.stream(request)) as pieces:
                async for piece in pieces:
                    if not self.connected:
                        # Earlier events need no replay: the FETCH that follows finds their jobs.
                        self.connected = True
                        self._woken.set()
                        backoff.failures = 0
                    for frame in frames.feed(piece):
                        self._last = frame.id or self._last
                        if frame.event is not None:
                            self._woken.set()
        finally:
            self.connected = False
