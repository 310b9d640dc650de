"""The stream of statistics: how many of everything there are, and how jobs come and end."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from ojs_server.domain.errors import Unavailable
from ojs_server.http.feed import EventStream
from ojs_server.http.sse import frame

EVERY_S: Final = 5.0
TYPES: Final = ("job.enqueued", "job.completed", "job.failed", "job.cancelled")


class SharedStats:
    """The statistics, read at most every few seconds for however many streams tell of them."""

    def __init__(self, read: Callable[[], Coroutine[Any, Any, bytes]]) -> None:
        self._read = read
        self._task: asyncio.Task[bytes] | None = None
        self._until = 0.0

    async def latest(self) -> bytes:
        """What was read last, or is being read."""
        now = asyncio.get_running_loop().time()
        if self._task is None or (self._task.done() and now >= self._until):
            self._task = asyncio.create_task(self._read())
            self._until = now + EVERY_S
        # Others wait for it, too, when the one who began it leaves.
        return await asyncio.shield(self._task)


class StatsStream(EventStream):
    """One stream; the statistics stand between its events, at the beginning first."""

    def _rest_s(self) -> float:
        return EVERY_S

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Frames, as they are to be sent."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        async for piece in super().pieces():
            yield piece
            if loop.time() >= due and not self._follower.closed:
                due = loop.time() + EVERY_S
                with suppress(Unavailable):
                    yield frame("metrics", await self._server.shared_stats.latest())
