"""The event log and its streams: events that are lost, doubled, or out of order."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from ojs_server.http.streams.event_feed import EventStream
from ojs_server.ops.engine import event_log_reader
from ojs_server.ops.engine.event_log_reader import STRIDE_S, EventLogReader
from ojs_server.store.records import EventPage
from ojs_server.store.tables import events as log
from ojs_worker.client import events as client_events
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="events", needs="a page of the log that is exactly full", like="277102b9")
def a_full_page_skips_the_next_event() -> None:
    """The cursor of a page that is full passes over the event behind it."""

    def make(read_page: Any) -> Any:
        def skipping(stretch: Any, start: int, event_filter: Any, limit: int) -> EventPage:
            page: EventPage = read_page(stretch, start, event_filter, limit)
            if page.has_more and len(page.events) == limit:
                behind = read_page(stretch, page.cursor, event_filter, 1)
                return msgspec.structs.replace(page, cursor=behind.cursor)
            return page

        return skipping

    wrap(log, "read_page", make)


@planted(sees="events", needs="a commit while the log is read, and then none")
def a_commit_during_a_read_is_forgotten() -> None:
    """The reader of the log forgets what was committed while it read."""

    async def rest(self: EventLogReader) -> None:
        await asyncio.sleep(STRIDE_S)
        self._woken.clear()
        self._expected = self.cursor
        with suppress(TimeoutError):
            async with asyncio.timeout(self._longest_rest()):
                await self._woken.wait()

    put(EventLogReader, "_rest", rest)


@planted(sees="events", needs="a client that comes back while events are written", like="a65a90bc")
def streams_miss_what_follows_their_replay() -> None:
    """A stream that resumes misses the events between its replay and its first new one."""

    def make(pages: Any) -> Any:
        async def once(self: EventStream) -> Any:
            if not self._follows:
                async for piece in pages(self):
                    yield piece

        return once

    wrap(EventStream, "_pages", make)


@planted(sees="events", needs="a client that comes back while events are written", like="bc337be4")
def streams_repeat_their_replay() -> None:
    """A stream that resumes sends again what its replay has sent already."""

    def make(follow: Any) -> Any:
        async def behind(self: EventStream) -> None:
            await follow(self)
            if self._subscription.after is not None:
                self.cursor = min(self.cursor, self._subscription.after)

        return behind

    wrap(EventStream, "follow", make)


@planted(sees="events", needs="a stream of everything, and one of a queue, of one filter")
def events_of_two_kinds_are_out_of_order() -> None:
    """A stream gets the events of a page by kinds, not in the order of the log."""

    def push(shared: Any) -> int:
        for followers, entries in shared.items():
            size = sum(len(entry.placed.event.own) for entry in entries)
            for follower in followers:
                follower.push(entries, size)
        return len(shared)

    put(event_log_reader, "_push", push)


@planted(sees="events", needs="tenants with streams", like="a65a90bc")
def streams_tell_of_other_tenants() -> None:
    """A stream of a tenant gets the events of others that are alike but for the tenant."""
    put(event_log_reader, "tenant_of", lambda event: None)


@planted(sees="events", needs="a client whose stream breaks")
def clients_do_not_resume() -> None:
    """A client whose stream breaks goes on with what happens from then on."""
    wrap(client_events, "stream_of", lambda stream_of: lambda path, last=None: stream_of(path))
