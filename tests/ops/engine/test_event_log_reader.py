"""Following the event log: one reader for all streams, with a filter for each of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import Event
from ojs_server.ops.engine import event_log_reader as tailing
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.event_log_reader import (
    ALL,
    MAX_BYTES,
    EventLogReader,
    Follower,
    LogEntry,
)
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Store
from ojs_server.store.records import EventFilter, EventPage, LogSpan, PlacedEvent
from tests.http.waiting import until
from tests.ops.bench import enqueue, environment, rng


def entry(position: int, size: int = 2) -> LogEntry:
    data = b'"' + b"x" * (size - 2) + b'"'
    return LogEntry(PlacedEvent(position, 0, Event("t.x", "s", "q", None, data)))


def push(follower: Follower, *entries: LogEntry) -> None:
    follower.push(entries, sum(len(one.placed.event.data) for one in entries))


def places(follower: Follower) -> list[int]:
    return [one.placed.position for one in follower.take()[1]]


def subjects(follower: Follower) -> list[tuple[str, str]]:
    return [(one.placed.event.type, one.placed.event.subject) for one in follower.take()[1]]


@asynccontextmanager
async def following(engine: Engine, wanted: EventFilter = ALL) -> AsyncIterator[Follower]:
    follower = engine.log_reader.admit(wanted)
    try:
        await engine.log_reader.follow(follower)
        yield follower
    finally:
        engine.log_reader.leave(follower)


async def put(engine: Engine, **given: object) -> str:
    job_id: str = (await engine.run(enqueue(**given))).jobs[0].job.id  # type: ignore[arg-type]
    return job_id


async def all_read(engine: Engine) -> None:
    """Until the reader has seen everything that is in the log."""
    end = (await engine.read(lambda reader: reader.log_span())).last
    await until(lambda: engine.log_reader.cursor == end)


async def test_followers_get_what_they_want_and_nothing_from_before(engine: Engine) -> None:
    before = await put(engine)
    async with (
        following(engine) as everything,
        following(engine, EventFilter(queues=("q", "other"))) as queues,
        following(engine, EventFilter(types=("job.canc*",))) as cancels,
        following(engine, EventFilter(job_types=("special",))) as special,
        following(engine, EventFilter(subject=before)) as one,
    ):
        after = await put(engine)
        elsewhere = await put(engine, queue="elsewhere", type="special")
        await engine.run(Cancel(before))
        await all_read(engine)
        new, far = ("job.enqueued", after), ("job.enqueued", elsewhere)
        gone = ("job.cancelled", before)
        assert subjects(everything) == [new, far, gone]
        assert subjects(queues) == [new, gone]
        assert subjects(cancels) == [gone]
        assert subjects(special) == [far]
        assert subjects(one) == [gone]


async def test_followers_of_tenants_are_told_of_their_own_alone(engine: Engine) -> None:
    async with (
        following(engine, EventFilter(tenant="acme")) as acme,
        following(engine, EventFilter(tenant="beta", queues=("q",))) as beta,
        following(engine) as everything,
    ):
        # The jobs differ only by tenant, and their events are read with one page.
        whose = ["acme", "beta", None, "beta", "acme"]
        jobs = [{"meta": {"tenant_id": name}} if name else {} for name in whose]
        done = await engine.run(enqueue(jobs=jobs))
        told = [("job.enqueued", stored.job.id) for stored in done.jobs]
        await all_read(engine)
        assert subjects(everything) == told
        assert subjects(acme) == [told[0], told[4]]
        assert subjects(beta) == [told[1], told[3]]


async def test_a_follower_of_several_queues_has_their_events_in_order(engine: Engine) -> None:
    queues = ["q", "other", "q", "third", "other"]
    async with (
        following(engine, EventFilter(queues=("other", "q"))) as two,
        following(engine, EventFilter(queues=("q",))) as one,
    ):
        done = await engine.run(enqueue(jobs=[{"queue": name} for name in queues]))
        told = [("job.enqueued", stored.job.id) for stored in done.jobs]
        await all_read(engine)
        assert subjects(two) == [told[0], told[1], told[2], told[4]]
        assert subjects(one) == [told[0], told[2]]


async def test_the_log_is_read_once_for_all_and_by_nobody_without_followers(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = engine.read
    reads = 0

    async def counted(question: Callable[..., object]) -> object:
        nonlocal reads
        reads += 1
        return await read(question)

    monkeypatch.setattr(engine, "read", counted)
    await put(engine)
    assert (reads, engine.log_reader.running) == (0, False)
    followers = []
    for _ in range(200):
        followers.append(engine.log_reader.admit(ALL))
        await engine.log_reader.follow(followers[-1])
    begun = reads
    job_id = await put(engine)
    await until(lambda: engine.log_reader.cursor > followers[0].start)
    assert reads - begun <= 2
    assert [subjects(one) for one in followers] == [[("job.enqueued", job_id)]] * 200
    for one in followers:
        engine.log_reader.leave(one)
    await until(lambda: not engine.log_reader.running)
    idle = reads
    await put(engine)
    assert (reads, len(engine.log_reader)) == (idle, 0)


async def test_a_long_log_comes_in_order_to_whoever_takes_it(engine: Engine) -> None:
    taken: list[str | None] = []

    def take(follower: Follower) -> None:
        # On a busy machine more may come at once than there is room for.
        lost, entries = follower.take()
        taken.extend([None] * (lost.count if lost else 0))
        taken.extend(one.placed.event.subject for one in entries)

    async with following(engine) as follower:
        ids = []
        for _ in range(30):
            done = await engine.run(enqueue(jobs=[{}] * 100))
            ids += [stored.job.id for stored in done.jobs]
            take(follower)
        end = (await engine.read(lambda reader: reader.log_span())).last
        while engine.log_reader.cursor < end:
            await follower.wait(5)
            take(follower)
        take(follower)
    assert [one or job_id for one, job_id in zip(taken, ids, strict=True)] == ids
    assert taken[-1] == ids[-1]


async def test_a_wait_ends_with_an_event_with_the_end_and_with_its_time(engine: Engine) -> None:
    async with following(engine) as follower:
        assert not await follower.wait(0.01)
        await put(engine)
        assert await follower.wait(5)
        follower.take()
        engine.log_reader.close()
        assert await follower.wait(5)
        assert follower.closed
        with pytest.raises(Unavailable, match="stopping"):
            engine.log_reader.admit(ALL)


async def test_each_wait_has_its_own_time_whatever_the_others_had() -> None:
    follower = Follower(ALL, 3)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for within_s in (0.02, 30, 0.05, 30, 0.02):
        if within_s == 30:
            loop.call_soon(push, follower, entry(1))
            assert await follower.wait(within_s)
            follower.take()
        else:
            started = loop.time()
            assert not await follower.wait(within_s)
            assert loop.time() - started >= within_s
    assert loop.time() - begun < 10
    loop.call_later(0.1, follower.close)
    assert await follower.wait(30)


def test_a_slow_follower_keeps_the_newest_and_knows_what_it_lost() -> None:
    follower = Follower(ALL, 3)
    for position in range(1, 8):
        push(follower, entry(position))
    lost, entries = follower.take()
    assert lost is not None
    assert (lost.count, lost.oldest.position, lost.newest.position) == (4, 1, 4)
    assert [one.placed.position for one in entries] == [5, 6, 7]
    push(follower, entry(8))
    assert follower.take()[0] is None


def test_a_buffer_is_bounded_in_bytes_too_but_holds_any_one_event() -> None:
    follower = Follower(ALL, 1000)
    for position in range(1, 6):
        push(follower, entry(position, MAX_BYTES // 2))
    assert places(follower) == [4, 5]
    push(follower, entry(6, 2 * MAX_BYTES))
    assert places(follower) == [6]
    push(follower, entry(7))
    assert places(follower) == [7]


async def test_there_is_room_for_so_many(store: Store) -> None:
    engine = Engine(store, Rules(), environment(rng()), max_streams=1)
    async with following(engine):
        with pytest.raises(Unavailable, match="1 event streams"):
            engine.log_reader.admit(ALL)
    async with following(engine):
        pass
    await engine.close()


class Log:
    """A log that other nodes write to, as the reader sees it."""

    def __init__(self, *pages: EventPage | Unavailable) -> None:
        self.pages = list(pages)
        self.asked: list[int] = []
        self.looked = 0
        self.end = 10

    async def page(self, after: int, limit: int) -> EventPage:
        self.looked += 1
        found = self.pages.pop(0) if self.pages else EventPage([], after, False)
        if isinstance(found, Unavailable):
            raise found
        return found

    async def span(self) -> LogSpan:
        return LogSpan(1, self.end)

    async def ask(self, for_ms: int) -> None:
        self.asked.append(for_ms)

    def reader(self, *, shared: bool) -> EventLogReader:
        reader = EventLogReader(self.page, self.span, self.ask, most=5, buffer=5)
        reader.shared = shared
        return reader


async def test_what_an_older_transaction_hides_is_looked_for_again() -> None:
    hidden = EventPage([], 10, False)
    log = Log(hidden, hidden, hidden, EventPage([entry(12).placed], 12, False))
    reader = log.reader(shared=False)
    follower = reader.admit(ALL)
    await reader.follow(follower)
    await until(lambda: log.looked == 1)
    reader.wake(12)
    assert await follower.wait(5)
    assert places(follower) == [12]
    # With all events delivered, the log is not read any more.
    looked = log.looked
    assert not await follower.wait(0.1)
    assert log.looked <= looked + 1
    reader.leave(follower)


async def test_what_others_have_yet_to_be_handed_is_not_new_to_who_comes_later() -> None:
    log = Log()
    reader = log.reader(shared=False)
    first, second = reader.admit(ALL), reader.admit(ALL)
    await reader.follow(first)
    log.end = 12
    await reader.follow(second)
    assert (first.start, reader.cursor, second.start) == (10, 10, 12)
    reader.leave(first)
    reader.leave(second)


async def test_a_notice_that_never_came_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tailing, "SLOW_POLL_S", 0.02)
    log = Log(EventPage([], 10, False), EventPage([entry(11).placed], 11, False))
    reader = log.reader(shared=True)
    follower = reader.admit(ALL)
    await reader.follow(follower)
    assert await follower.wait(5)
    assert places(follower) == [11]
    assert log.asked == [30_000]
    reader.leave(follower)


async def test_a_store_that_is_away_ends_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tailing, "SLOW_POLL_S", 0.02)
    away = Unavailable("away")
    log = Log(away, away, EventPage([entry(11).placed], 11, False))
    reader = log.reader(shared=False)
    follower = reader.admit(ALL)
    await reader.follow(follower)
    assert await follower.wait(5)
    assert places(follower) == [11]
    reader.leave(follower)
    await until(lambda: not reader.running)
