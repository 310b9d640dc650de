"""Event streams: events that the client missed are sent first, then new ones as they happen."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any, Final, Literal

import msgspec

from ojs_server.domain.jobs.job import TERMINAL, Event, Job
from ojs_server.domain.streams.cloud_event import cloud_event, cloud_type
from ojs_server.domain.streams.copies import with_camel_copies, with_copies
from ojs_server.domain.streams.feed import fed
from ojs_server.domain.streams.realtime import MOVING, STATE_CHANGED, realtime, state_changed
from ojs_server.http.services import Services
from ojs_server.http.streams.event_cursor import cursor_of
from ojs_server.http.streams.sse import ENDING, OPENING, SHUTDOWN, comment, frame, heartbeat
from ojs_server.http.streams.stream_slot import HeldStream
from ojs_server.ops.engine.event_log_reader import Follower, LogEntry, Lost
from ojs_server.ops.streams.event_json import envelope, event_id
from ojs_server.store.base import Reader
from ojs_server.store.event_log import is_type
from ojs_server.store.records import EventFilter, EventPage, PlacedEvent
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp

HEARTBEAT_S: Final = 10.0
# Interval of looks at a log that is behind.
BEHIND_S: Final = 0.02
REPLAY: Final = 200
_ENDS: Final = frozenset({"job.completed", "job.cancelled", "job.discarded"})

Form = Literal["catalogue", "realtime", "cloudevents"]
# Two more are those of single clients: the public admin UI, and the emitter of the Express adapter.
ClientForm = Literal[Form, "feed", "emitter"]


class Subscription(msgspec.Struct, frozen=True):
    """The subscription of a stream: its filter and form, and the cursor after which it begins.
    `unknown` is a cursor of the client that is not in the log."""

    channel: str
    form: ClientForm
    event_filter: EventFilter
    kinds: tuple[str, ...]
    after: int | None
    unknown: str | None


class EventStream(HeldStream):
    """An event stream: the events that the client missed, then new ones."""

    def __init__(
        self,
        server: Services,
        subscription: Subscription,
        follower: Follower,
        left: Coroutine[Any, Any, None],
    ) -> None:
        super().__init__(server.engine, follower, left)
        self.job: Job | None = None
        self.cursor = subscription.after or 0
        self._server = server
        self._source = server.settings.source
        self._wall_ms = server.environment.wall_ms
        self._subscription = subscription
        self._follows = False
        self._ended = False
        self._ends_with_job = subscription.event_filter.subject is not None

    async def follow(self) -> None:
        """Keep events for this stream from now on."""
        await self._engine.log_reader.follow(self._follower)
        self._follows = True
        if self._subscription.after is None:
            self.cursor = self._follower.start

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the frames of the stream."""
        yield self._opening()
        if self._subscription.unknown is not None:
            yield self._gap(self._subscription.unknown, self.cursor)
        ended = self.job is not None and self.job.state in TERMINAL
        if self._subscription.after is not None:
            replayed = False
            if ended:
                await self._until_complete()
            async for piece in self._replayed():
                replayed = True
                yield piece
            if ended and not replayed:
                yield self._state_now()
        elif ended:
            yield self._state_now()
        if not (ended or self._ended):
            if not self._follows:
                # Read the events between the replay and the log reader's cursor.
                await self.follow()
                async for piece in self._pages():
                    yield piece
            async for piece in self._live():
                yield piece
        if ended or self._ended:
            yield ENDING

    async def _until_complete(self) -> None:
        """Wait until the log has the end of the job: it is read up to the oldest open transaction
        of a server."""
        head, end = await self._engine.read(lambda reader: (reader.log_head(), reader.log_end()))
        while end < head:
            # No transaction tells others of its end.
            await asyncio.sleep(BEHIND_S)
            end = await self._engine.read(lambda reader: reader.log_end())

    async def _replayed(self) -> AsyncGenerator[bytes, None]:
        """Yield the events after the client's cursor from the log, and first a gap, if some are not
        kept any more."""
        span = await self._engine.read(lambda reader: reader.log_span())
        if 0 < self.cursor < span.first:
            yield self._gap(cursor_of(self.cursor), span.first)
        async for piece in self._pages():
            yield piece

    async def _pages(self) -> AsyncGenerator[bytes, None]:
        def ask(reader: Reader) -> EventPage:
            return reader.events(self.cursor, self._subscription.event_filter, REPLAY)

        more = True
        while more and not (self._follower.closed or self._ended):
            page = await self._engine.read(ask)
            if frames := self._frames([LogEntry(placed) for placed in page.events]):
                yield frames
            self.cursor, more = page.cursor, page.has_more

    async def _live(self) -> AsyncGenerator[bytes, None]:
        # A replay ends early where the client leaves meanwhile.
        replayed = not self._follower.closed
        while not self._ended:
            lost, entries = self._follower.take()
            fresh = entries
            if entries and entries[0].placed.position <= self.cursor:
                # The replay was ahead of the log reader.
                fresh = [entry for entry in entries if entry.placed.position > self.cursor]
            if lost is not None and lost.newest.position > self.cursor:
                yield self._dropped(lost)
            if frames := self._frames(fresh):
                yield frames
            if entries or lost is not None:
                continue
            if replayed:
                # Everything that the log reader has read was taken, so the cursor can follow it.
                self.cursor = max(self.cursor, self._engine.log_reader.cursor)
            if self._left.done():
                return
            if self._follower.closed:
                if self._engine.log_reader.closed:
                    yield self._shutdown()
                return
            if not await self._follower.wait(self._rest_s()):
                yield self._heartbeat()

    def _frames(self, entries: Sequence[LogEntry]) -> bytes:
        if entries and not (self._subscription.kinds or self._ends_with_job):
            self.cursor = entries[-1].placed.position
            return b"".join([self._frame(entry)[1] for entry in entries])
        frames = []
        for entry in entries:
            name, text = self._frame(entry)
            kinds = self._subscription.kinds
            kind = entry.placed.event.type
            if not kinds or any(
                is_type(name, pattern) or is_type(kind, pattern) for pattern in kinds
            ):
                frames.append(text)
            self.cursor = entry.placed.position
            # An end before the start of following is not final: the job was revived.
            if kind in _ENDS and self._ends_with_job and self.cursor > self._follower.start:
                self._ended = True
                break
        return b"".join(frames)

    def _frame(self, entry: LogEntry) -> tuple[str, bytes]:
        """Return the name and text of an event, which are made once for all streams of one form."""
        form = self._subscription.form
        made = entry.frames.get(form)
        if made is None:
            name, data = self._shown(entry.placed)
            made = entry.frames[form] = (name, frame(name, data, event_id(entry.placed)))
        return made

    def _shown(self, placed: PlacedEvent) -> tuple[str, bytes]:
        event, form = placed.event, self._subscription.form
        if form == "feed":
            return event.type, fed(event, placed.at)
        if form == "realtime":
            name, data = realtime(event, placed.at)
            return name, named(name, data)
        data = envelope(placed, self._source)
        if form == "cloudevents":
            return cloud_type(event.type), cloud_event(data)
        data = with_copies(data, event)
        if form == "emitter":
            data = with_camel_copies(data, event, placed.at)
        return event.type, data

    def _rest_s(self) -> float:
        """Return the seconds of silence after which a heartbeat is sent."""
        return HEARTBEAT_S

    def _opening(self) -> bytes:
        return OPENING

    def _heartbeat(self) -> bytes:
        return heartbeat(cursor_of(self.cursor))

    def _shutdown(self) -> bytes:
        return SHUTDOWN

    def _state_now(self) -> bytes:
        """Return the final state of an ended job as a frame; its last event is before the client's
        cursor."""
        assert self.job is not None
        job = self.job
        about = Event(STATE_CHANGED, job.id, job.queue, job.type, b"")
        data = state_changed(about, None, job.state, job.finished_at or self._wall_ms())
        return frame(STATE_CHANGED, named(STATE_CHANGED, data), cursor_of(self.cursor))

    def _gap(self, start: str, end: int) -> bytes:
        return frame("system.gap", self._system(gap_start=start, gap_end=cursor_of(end)))

    def _dropped(self, lost: Lost) -> bytes:
        after = cursor_of(self.cursor)
        data = self._system(
            dropped_count=lost.count,
            oldest_dropped_id=event_id(lost.oldest),
            newest_dropped_id=event_id(lost.newest),
            after=after,
        )
        return comment(f"events-dropped {lost.count}") + frame("system.events_dropped", data)

    def _system(self, **more: Any) -> bytes:
        now = format_timestamp(self._wall_ms())
        return encode({"channel": self._subscription.channel, **more, "timestamp": now})


def types_of(kinds: tuple[str, ...], form: ClientForm) -> tuple[str, ...]:
    """Return the types of the events that a filter of types or names of frames wants."""
    if form == "realtime" and any(is_type(STATE_CHANGED, pattern) for pattern in kinds):
        return (*kinds, *MOVING)
    return kinds


def named(name: str, data: bytes) -> bytes:
    """Add the name of its frame to the data of an event, for clients that read that alone."""
    return data[:-1] + b',"event":' + encode(name) + b"}"
