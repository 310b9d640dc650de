"""The streams of statistics: counts and rates, sent at intervals."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from ojs_server.domain.errors import Unavailable
from ojs_server.http.shared_read import EVERY_S, Statistics
from ojs_server.http.streams.event_feed import EventStream
from ojs_server.http.streams.sse import frame

TYPES: Final = ("job.enqueued", "job.completed", "job.failed", "job.cancelled")


class StatsStream(EventStream):
    """A stream of statistics as numbers: at the start, and then between the events."""

    def _rest_s(self) -> float:
        return EVERY_S

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the frames of the stream."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        async for piece in super().pieces():
            yield piece
            if loop.time() >= due and not self._follower.closed:
                due = loop.time() + EVERY_S
                with suppress(Unavailable):
                    yield frame("metrics", self._metrics(await self._server.shared_stats.latest()))

    def _metrics(self, found: Statistics) -> bytes:
        return found.numbers


class LiveStatsStream(StatsStream):
    """A stream of statistics with the queues and workers by name."""

    def _metrics(self, found: Statistics) -> bytes:
        return found.lists
