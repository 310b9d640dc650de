"""The stream of one job's progress: its state now, each report, and its end."""

from collections.abc import AsyncGenerator
from typing import Final

from ojs_server.domain.jobs.job import TERMINAL, State
from ojs_server.domain.jobs.progress import shown
from ojs_server.http.jobs.progress import Found, described, with_progress
from ojs_server.http.streams.event_feed import EventStream
from ojs_server.http.streams.sse import frame
from ojs_server.ops.engine.event_log_reader import LogEntry
from ojs_server.ops.streams.event_json import event_id
from ojs_server.store.base import Reader
from ojs_wire.codec import encode

# Names of the frames by event type.
NAMES: Final = {
    "progress.updated": "progress",
    "job.completed": "completed",
    "job.discarded": "failed",
    "job.cancelled": "cancelled",
}
_ENDS: Final = {
    State.COMPLETED: "completed",
    State.DISCARDED: "failed",
    State.CANCELLED: "cancelled",
}


class ProgressStream(EventStream):
    """The progress stream of one job; its frames have the data of the events."""

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Send the progress of the job as it is now, then its events as they happen."""
        assert self.job is not None
        job_id = self.job.id

        def look(reader: Reader) -> tuple[int, Found | None]:
            # In this order the progress includes all events up to this position.
            return reader.log_span().last, with_progress(reader, job_id)

        place, found = await self._engine.read(look)
        if found is not None:
            stored, _, known = found
            if self._subscription.after is None and stored.job.state not in TERMINAL:
                self.cursor = max(self.cursor, place)
            yield frame("progress", encode(described(stored.job, shown(stored.job, known))))
        async for piece in super().pieces():
            yield piece

    def _frame(self, entry: LogEntry) -> tuple[str, bytes]:
        event = entry.placed.event
        name = NAMES.get(event.type, event.type)
        return name, frame(name, event.data, event_id(entry.placed))

    def _state_now(self) -> bytes:
        assert self.job is not None
        state = {"job_id": self.job.id, "state": self.job.state}
        return frame(_ENDS[self.job.state], encode(state))
