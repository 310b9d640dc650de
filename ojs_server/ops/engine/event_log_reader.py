"""Follow the event log: one reader for all event streams of a node.

    commits ── wake ──▶ EventLogReader ── reads after its cursor ──▶ each Follower whose filter
    other nodes ─┘                                                   matches; a bounded buffer

Without followers nothing runs, and a commit pays for one comparison.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from typing import Final

import msgspec

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import Event
from ojs_server.store.event_log import matches, tenant_of
from ojs_server.store.records import EventFilter, EventPage, LogSpan, PlacedEvent
from ojs_wire import codes

# Pause between reads of a busy log, so that not every commit causes one.
STRIDE_S: Final = 0.01
# The pause grows by this for each stream that got events: waking a stream costs several times as
# much as another event in its buffer.
STRIDE_MORE_S: Final = 0.00015
# A notice of another node can be lost, and an open transaction can hold back its events.
SLOW_POLL_S: Final = 1.0
FIRST_LOOK_S: Final = 0.01
# Time for which other nodes announce their events to this one, and the interval of renewals.
FOLLOW_MS: Final = 30_000
FOLLOW_EVERY_S: Final = 10.0
PAGE: Final = 500
# Most bytes of event data in a buffer, besides the limit on events.
MAX_BYTES: Final = 1 << 20

ALL: Final = EventFilter()

log = logging.getLogger("ojs.events")


class LogEntry:
    """One event on its way to many streams; `frames` holds its name and text in each form."""

    __slots__ = ("frames", "placed")

    def __init__(self, placed: PlacedEvent) -> None:
        self.placed = placed
        self.frames: dict[str, tuple[str, bytes]] = {}


class Lost(msgspec.Struct):
    """The events that a slow stream missed: how many, the first and the last."""

    count: int
    oldest: PlacedEvent
    newest: PlacedEvent


class Follower:
    """One stream: its filter, and the buffer of events to send."""

    def __init__(self, event_filter: EventFilter, buffer: int) -> None:
        self.filter = event_filter
        self.closed = False
        # The end of the log when this follower was added. Earlier entries may still come, from the
        # reader's cursor on.
        self.start = 0
        self._buffer = buffer
        self._entries: deque[LogEntry] = deque()
        self._bytes = 0
        self._lost: Lost | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._due_s = 0.0

    def push(self, entries: Sequence[LogEntry], size: int) -> None:
        """Add events with this total size; the oldest are dropped if the buffer is full."""
        self._entries.extend(entries)
        self._bytes += size
        while len(self._entries) > 1 and (
            len(self._entries) > self._buffer or self._bytes > MAX_BYTES
        ):
            dropped = self._entries.popleft().placed
            self._bytes -= len(dropped.event.own)
            if self._lost is None:
                self._lost = Lost(0, dropped, dropped)
            self._lost.count += 1
            self._lost.newest = dropped
        self._wake()

    def take(self) -> tuple[Lost | None, Sequence[LogEntry]]:
        """Return the range of missed events, and the events that came after it."""
        lost, entries = self._lost, tuple(self._entries)
        self._lost, self._bytes = None, 0
        self._entries.clear()
        return lost, entries

    async def wait(self, within_s: float) -> bool:
        """Wait for events or the end of the stream; False after the time limit."""
        if not (self.closed or self._entries):
            # Not asyncio.timeout, which costs more: streams wait more often than they do anything
            # else.
            loop = asyncio.get_running_loop()
            self._due_s = loop.time() + within_s
            if self._alarm is None or self._alarm.when() > self._due_s:
                self._set_alarm(loop)
            self._waiter = loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.closed or bool(self._entries)

    def _set_alarm(self, loop: asyncio.AbstractEventLoop) -> None:
        # One timer serves many waits, as few of them last until their limit.
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_at(self._due_s, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake the waiter, or set the timer again if the wait began after it was set."""
        self._alarm = None
        if loop.time() < self._due_s:
            self._set_alarm(loop)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        self._wake()


class EventLogReader:
    """Reads the log while there are followers, and gives each event to those that want it."""

    def __init__(
        self,
        page: Callable[[int, int], Awaitable[EventPage]],
        span: Callable[[], Awaitable[LogSpan]],
        ask_others: Callable[[int], Awaitable[None]],
        *,
        most: int,
        buffer: int,
    ) -> None:
        """`page` reads after a position, `ask_others` makes other nodes announce their events."""
        self.cursor = 0
        # True if other nodes may write to the same log.
        self.shared = False
        self.closed = False
        self._page = page
        self._span = span
        self._ask_others = ask_others
        self._most = most
        self._buffer = buffer
        self._count = 0
        # Number of followers restricted to one tenant.
        self._tenanted = 0
        self._everything: dict[Follower, None] = {}
        self._by_subject: dict[str, dict[Follower, None]] = {}
        self._by_queue: dict[str, dict[Follower, None]] = {}
        self._waiting: dict[Follower, None] = {}
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._expected = 0
        self._patience_s = FIRST_LOOK_S
        self._ask_at = 0.0
        # Number of streams that got events of the last page.
        self._served = 0

    def __len__(self) -> int:
        return self._count

    @property
    def running(self) -> bool:
        """True if the log is being followed."""
        return self._task is not None

    def admit(self, event_filter: EventFilter) -> Follower:
        """Return a new follower; raises if there are too many."""
        if self.closed or self._count >= self._most:
            raise Unavailable(
                "the server is stopping"
                if self.closed
                else f"{self._most} event streams are open on this server already",
                code=codes.OVERLOADED,
                headers={"Retry-After": "1"},
            )
        follower = Follower(event_filter, self._buffer)
        self._count += 1
        self._waiting[follower] = None
        return follower

    async def follow(self, follower: Follower) -> None:
        """Start to give events to a follower: new ones come after its `start`."""
        async with self._starting:
            end = (await self._span()).last
            if self._task is None and not self.closed:
                self.cursor = self._expected = end
                self._ask_at = 0.0
                self._task = asyncio.create_task(self._run())
            # The reader may be ahead of this end, or behind it.
            follower.start = max(self.cursor, end)
            del self._waiting[follower]
            for bucket in self._buckets(follower.filter):
                bucket[follower] = None
            self._tenanted += follower.filter.tenant is not None

    def leave(self, follower: Follower) -> None:
        """Remove a follower, as its stream has ended."""
        self._count -= 1
        if follower in self._waiting:
            del self._waiting[follower]
            return
        self._tenanted -= follower.filter.tenant is not None
        for bucket in self._buckets(follower.filter):
            bucket.pop(follower, None)
        for buckets in (self._by_subject, self._by_queue):
            for name in (follower.filter.subject, *follower.filter.queues):
                if name is not None and not buckets.get(name, True):
                    del buckets[name]
        if self._following == 0:
            # End the task, which would otherwise wait for the next commit.
            self._woken.set()

    def wake(self, position: int | None) -> None:
        """Note that the log has grown to this position, or an unknown one."""
        if self._task is not None:
            if position is not None and position > self._expected:
                self._expected = position
            self._woken.set()

    def close(self) -> None:
        """End all streams: the server is stopping."""
        self.closed = True
        self._end_all()
        if self._task is not None:
            self._task.cancel()

    def _end_all(self) -> None:
        # Not a set, whose order differs between runs.
        followers = {**self._waiting, **self._everything}
        for buckets in (self._by_subject, self._by_queue):
            for bucket in buckets.values():
                followers |= bucket
        for follower in followers:
            follower.close()

    @property
    def _following(self) -> int:
        return self._count - len(self._waiting)

    def _buckets(self, event_filter: EventFilter) -> Iterable[dict[Follower, None]]:
        """Return the index entries of a filter, by which unrelated events skip its follower."""
        if event_filter.subject is not None:
            return [self._by_subject.setdefault(event_filter.subject, {})]
        if event_filter.queues:
            return [self._by_queue.setdefault(queue, {}) for queue in event_filter.queues]
        return [self._everything]

    async def _run(self) -> None:
        try:
            while self._following:
                self._woken.clear()
                if await self._read():
                    # Let streams send before the next page is read.
                    await asyncio.sleep(0)
                else:
                    await self._rest()
        except Exception:
            log.exception("the event log cannot be followed; its streams end")
            self._end_all()
        finally:
            self._task = None

    async def _read(self) -> bool:
        """Read and distribute one page; returns True if there is more."""
        try:
            await self._ask()
            page = await self._page(self.cursor, PAGE)
        except Unavailable as error:
            log.debug("event streams are paused: %s", error.message)
            await asyncio.sleep(SLOW_POLL_S)
            return True
        self._hand_out(page.events)
        self.cursor = max(self.cursor, page.cursor)
        return page.has_more

    async def _ask(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.shared and now >= self._ask_at:
            await self._ask_others(FOLLOW_MS)
            self._ask_at = now + FOLLOW_EVERY_S

    def _hand_out(self, page: Sequence[PlacedEvent]) -> None:
        # Filters see the same values in most events of a page, apart from the job.
        alike: dict[tuple[str | None, ...], list[LogEntry] | None] = {}
        # Most followers want the same events, which are collected once for all of them.
        shared: defaultdict[tuple[Follower, ...], list[LogEntry]] = defaultdict(list)
        for placed in page:
            event = placed.event
            tenant = tenant_of(event) if self._tenanted else None
            kind = (event.type, event.queue, event.job_type, tenant)
            if kind not in alike:
                followers = self._followers_of(event)
                alike[kind] = shared[followers] if followers else None
            entries = alike[kind]
            own = self._by_subject.get(event.subject)
            if entries is not None or own:
                entry = LogEntry(placed)
                if entries is not None:
                    entries.append(entry)
                for follower in own or ():
                    if matches(event, follower.filter):
                        shared[(follower,)].append(entry)
        self._served = _push(shared)

    def _followers_of(self, event: Event) -> tuple[Follower, ...]:
        """Return the followers that want events like this one."""
        return tuple(
            follower
            for bucket in (self._everything, self._by_queue.get(event.queue or ""))
            for follower in bucket or ()
            if matches(event, follower.filter)
        )

    async def _rest(self) -> None:
        """Wait until something was committed that has not been read."""
        await asyncio.sleep(STRIDE_S + self._served * STRIDE_MORE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._longest_rest()):
                await self._woken.wait()

    def _longest_rest(self) -> float | None:
        if self.cursor < self._expected:
            # An older transaction, still open on another node, holds back the announced events.
            self._patience_s *= 2
            if self._patience_s < SLOW_POLL_S:
                return self._patience_s
            self._expected = self.cursor
        self._patience_s = FIRST_LOOK_S
        return SLOW_POLL_S if self.shared else None


def _push(shared: Mapping[tuple[Follower, ...], Sequence[LogEntry]]) -> int:
    """Give each follower the events it wants, in the order of the log; return their number."""
    given: defaultdict[Follower, list[tuple[Sequence[LogEntry], int]]] = defaultdict(list)
    for followers, entries in shared.items():
        size = sum(len(entry.placed.event.own) for entry in entries)
        for follower in followers:
            given[follower].append((entries, size))
    for follower, parts in given.items():
        if len(parts) == 1:
            follower.push(*parts[0])
        else:
            together = chain.from_iterable(entries for entries, _ in parts)
            follower.push(sorted(together, key=_PLACE), sum(size for _, size in parts))
    return len(given)


_PLACE: Final = attrgetter("placed.position")
