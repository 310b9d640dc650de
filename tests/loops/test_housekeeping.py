"""The sweeper: awake when something falls due, and never for nothing."""

import asyncio
import gc
import logging
import re
from collections.abc import AsyncIterator

import msgspec
import pytest

from ojs_server.domain.profile import OJS
from ojs_server.environment import machine
from ojs_server.loops import housekeeping
from ojs_server.loops.housekeeping import (
    PAUSE_S,
    PRUNE_EVERY_MS,
    SLOW_POLL_S,
    WAITING_MS,
    Housekeeping,
)
from ojs_server.loops.runner import Loops
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import fetch
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from ojs_server.store.open import open_store
from ojs_server.store.records import DueTimes, QueueCounts
from tests.loops.sleeper import AT, Night, Sleeper, Surroundings
from tests.ops.bench import enqueue, environment

SLOW_MS = round(SLOW_POLL_S * 1000)


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


@pytest.fixture
async def night(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Night]:
    """A sweeper of a store without other nodes, past its first round, which prunes."""
    sleeper = Sleeper()
    monkeypatch.setattr(housekeeping, "at_most", sleeper.at_most)
    night = Night(around, sleeper, shared=False)
    assert await sleeper.pause() == PAUSE_S
    yield night
    await night.end()


async def test_the_first_round_prunes_and_then_only_every_minute(night: Night) -> None:
    around = night.around
    assert [sweep.prune for sweep in around.sweeps] == [True]
    around.now = AT + PRUNE_EVERY_MS - 1
    await night.sleeper.next()
    assert len(around.sweeps) == 1
    around.now = AT + PRUNE_EVERY_MS
    await night.sleeper.next()
    assert [sweep.prune for sweep in around.sweeps] == [True, True]


async def test_pruning_goes_on_until_it_is_done(night: Night) -> None:
    around = night.around
    around.now = AT + PRUNE_EVERY_MS
    around.answer = lambda sweep: Swept(AT, removed=500, more=True)
    for _ in range(3):
        assert await night.sleeper.next() == 0
    around.answer = lambda sweep: Swept(around.now)
    assert await night.sleeper.next() == PAUSE_S
    assert [sweep.prune for sweep in around.sweeps] == [True] * 5
    assert await night.sleeper.next() == SLOW_POLL_S
    assert len(around.sweeps) == 5


async def test_with_nothing_due_it_looks_again_slowly(night: Night) -> None:
    assert await night.sleeper.next() == SLOW_POLL_S
    assert await night.sleeper.next() == SLOW_POLL_S
    assert len(night.around.sweeps) == 1


@pytest.mark.parametrize(
    ("due", "pause_ms"),
    [
        (DueTimes(AT + 120, None, None), 120),
        (DueTimes(None, AT + 80, None), 80),
        (DueTimes(AT + 120, AT + 80, AT), 80),
        (DueTimes(None, None, AT - 30_000 + 60), 60),
        (DueTimes(AT + SLOW_MS + 1, AT + 9_000, AT), SLOW_MS),
    ],
)
async def test_it_sleeps_until_the_first_thing_is_due(
    night: Night, due: DueTimes, pause_ms: int
) -> None:
    night.around.due = due
    assert await night.sleeper.next() == pause_ms / 1000
    assert len(night.around.sweeps) == 1


async def test_where_sessions_count_it_sleeps_until_one_has_been_away_for_too_long(
    night: Night,
) -> None:
    night.around.due = DueTimes(None, None, AT - 20_000, dropped=AT - 1000 + 70)
    assert await night.sleeper.next() == SLOW_POLL_S
    night.around.rules = Rules(profile=msgspec.structs.replace(OJS, session_grace_ms=1000))
    assert await night.sleeper.next() == 0.07


async def test_what_is_due_is_swept_at_once_and_until_nothing_is_left(night: Night) -> None:
    around = night.around
    around.due = DueTimes(AT, None, None)
    around.answer = lambda sweep: Swept(AT, matured=500, more=True)
    assert await night.sleeper.next() == 0
    around.answer = lambda sweep: Swept(AT, matured=3)
    assert await night.sleeper.next() == 0
    around.due = DueTimes(None, None, None)
    assert await night.sleeper.next() == SLOW_POLL_S
    assert len(around.sweeps) == 3
    assert around.sweeps[-1].requested_at == AT


async def test_what_may_not_be_judged_yet_does_not_keep_it_busy(night: Night) -> None:
    night.around.due = DueTimes(None, AT - 5, None)
    assert await night.sleeper.next() == PAUSE_S
    assert await night.sleeper.next() == PAUSE_S


async def test_an_earlier_due_time_wakes_it(night: Night) -> None:
    assert await night.sleeper.next() == SLOW_POLL_S
    night.around.due = DueTimes(AT + 100, None, None)
    night.sweeper.expect(AT + 100)
    assert await night.sleeper.pause() == 0.1


async def test_a_later_due_time_lets_it_sleep(night: Night) -> None:
    assert await night.sleeper.next() == SLOW_POLL_S
    night.sweeper.expect(AT + SLOW_MS)
    night.sweeper.expect(AT + 1_800_000)
    assert await night.sleeper.sleeps_on()


async def test_a_due_time_that_is_announced_while_it_looks_is_not_missed(night: Night) -> None:
    """The commit came too late for the read of the due times, and too early to wake a sleeper."""
    night.around.meanwhile = lambda: night.sweeper.expect(AT + 40)
    assert await night.sleeper.next() == 0.04


async def test_a_waiter_that_comes_makes_it_look(night: Night) -> None:
    assert await night.sleeper.next() == SLOW_POLL_S
    night.sweeper.nudge()
    assert await night.sleeper.pause() == SLOW_POLL_S


async def test_it_survives_the_stores_absence_and_says_so_once(
    night: Night, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        night.around.gone()
        for _ in range(3):
            assert await night.sleeper.next() == SLOW_POLL_S
        night.around.failure = None
        for _ in range(2):
            await night.sleeper.next()
    lost, back = [record.getMessage() for record in caplog.records]
    assert lost == "the store is lost: no route to 10.1.2.3"
    assert re.fullmatch(r"the store is back after \d+\.\d s: a disk", back)


async def test_it_survives_a_failed_round(night: Night, caplog: pytest.LogCaptureFixture) -> None:
    def explode(sweep: object) -> Swept:
        raise ValueError("odd")

    night.around.due = DueTimes(AT, None, None)
    night.around.answer = explode
    with caplog.at_level(logging.ERROR, "ojs.housekeeping"):
        assert await night.sleeper.next() == SLOW_POLL_S
    assert "a round of housekeeping failed" in caplog.text
    night.around.answer = lambda sweep: Swept(AT, matured=1)
    assert await night.sleeper.next() == 0


async def test_a_stop_during_a_round_logs_nothing(
    night: Night, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sweeping = asyncio.Event()

    async def endless(sweep: Sweep) -> Swept:
        sweeping.set()
        return await asyncio.Future()

    monkeypatch.setattr(night.around, "sweep", endless)
    night.around.due = DueTimes(AT, None, None)
    night.sweeper.nudge()
    async with asyncio.timeout(30):
        await sweeping.wait()
    await night.end()
    # The operations end some turns of the loop later.
    assert await night.sleeper.sleeps_on()
    gc.collect()
    assert caplog.records == []


async def test_silence_is_judged_from_the_last_gap_on(night: Night) -> None:
    around = night.around
    around.due = DueTimes(AT, None, None)
    around.now = AT + 1500
    await night.sleeper.next()
    around.now = AT + 60_000
    await night.sleeper.next()
    assert [sweep.reachable_since for sweep in around.sweeps] == [AT, AT, AT + 60_000]


async def test_the_node_of_a_shared_store_helps_its_waiting_fetches(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = Sleeper()
    monkeypatch.setattr(housekeeping, "at_most", sleeper.at_most)
    waiters = [around.wakeups.enter((queue,)) for queue in ("full", "empty", "paused")]
    around.queues = [
        QueueCounts("full", False, AT, None, {"available": 2}),
        QueueCounts("empty", False, AT, None, {"available": 0}),
        QueueCounts("paused", True, AT, AT, {"available": 2}),
    ]
    night = Night(around, sleeper, shared=True)
    await sleeper.pause()
    assert [waiter.woken for waiter in waiters] == [True, False, False]
    # Other nodes are informed about the waiting FETCH now and then, not in every round.
    assert around.noted == [AT + WAITING_MS]
    around.now = AT + WAITING_MS // 2
    await sleeper.next()
    assert around.noted == [AT + WAITING_MS]
    around.now += 1
    await sleeper.next()
    assert around.noted == [AT + WAITING_MS, around.now + WAITING_MS]
    await night.end()


@pytest.mark.parametrize("queues", [("full",), ()])
async def test_without_other_nodes_nobody_is_told(night: Night, queues: tuple[str, ...]) -> None:
    """A wake that was lost within this one does no more harm than one of another node."""
    waiter = night.around.wakeups.enter(queues)
    producer = night.around.producers.enter(("full",))
    night.around.queues = [QueueCounts("full", False, AT, None, {"available": 2})]
    await night.sleeper.next()
    assert waiter.woken
    assert not producer.woken
    assert night.around.noted == []


async def test_who_fetches_is_written_down_every_few_seconds(night: Night) -> None:
    around, every_ms = night.around, OJS.sign_every_ms
    with around.signs.held("w"):
        await night.sleeper.next()
        assert around.heard == [SignsOfLife({}, frozenset({"w"}))]
        around.now += every_ms - 1
        await night.sleeper.next()
        assert len(around.heard) == 1
        around.now += 1
        await night.sleeper.next()
        assert len(around.heard) == 2
    around.now += every_ms
    await night.sleeper.next()
    assert len(around.heard) == 2


async def test_who_fetches_is_written_down_before_anybody_is_declared_dead(night: Night) -> None:
    around = night.around
    around.signs.note(["w"], AT)
    await night.sleeper.next()
    around.signs.note(["w"], AT + 1)
    around.now += 1
    around.due = DueTimes(None, None, AT + 1 - 30_000)
    sweeps = len(around.sweeps)
    around.answer = lambda sweep: Swept(around.now, dead=len(around.heard) - 1)
    await night.sleeper.next()
    assert around.heard == [SignsOfLife({"w": AT}), SignsOfLife({"w": AT + 1})]
    assert len(around.sweeps) == sweeps + 1


async def test_a_scheduled_job_reaches_a_waiting_worker(store_url: str) -> None:
    """The whole chain in real time: commit, due time, sweep, wake, claim."""
    store = open_store(store_url)
    engine = Engine(store, Rules(), environment())
    sweeper = Housekeeping(engine, machine().monotonic_ms, shared=store.kind != "sqlite")
    engine.on_due = sweeper.expect
    loops = Loops()
    loops.start("housekeeping", sweeper.run)
    try:
        waiting = asyncio.create_task(fetch(engine, Claim(("q",), 1, "w"), 60_000))
        made = await engine.run(enqueue(scheduled_at="+PT0.05S"))
        async with asyncio.timeout(30):
            (delivery,) = await waiting
        assert delivery.claimed.job.id == made.jobs[0].job.id
        assert delivery.claimed.job.scheduled_at is not None
        assert delivery.claimed.job.started_at is not None
        assert delivery.claimed.job.started_at >= delivery.claimed.job.scheduled_at
    finally:
        await loops.stop()
        await engine.close()
        store.close()


async def test_due_jobs_are_available_by_the_timer_and_not_by_polling(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the poll out of the way, each is promoted by the timer on its own due time."""
    monkeypatch.setattr(housekeeping, "SLOW_POLL_S", 3600)
    store = open_store(store_url)
    engine = Engine(store, Rules(), environment())
    sweeper = Housekeeping(engine, machine().monotonic_ms, shared=store.kind != "sqlite")
    engine.on_due = sweeper.expect
    loops = Loops()
    loops.start("housekeeping", sweeper.run)
    late: list[int] = []
    try:
        for delay in ("+PT0.3S", "+PT0.2S", "+PT0.1S"):
            await engine.run(enqueue(scheduled_at=delay))
        while len(late) < 3:
            async with asyncio.timeout(60):
                deliveries = await fetch(engine, Claim(("q",), 3, "w"), 60_000)
            for one in deliveries:
                job = one.claimed.job
                assert job.enqueued_at is not None
                assert job.scheduled_at is not None
                late.append(job.enqueued_at - job.scheduled_at)
    finally:
        await loops.stop()
        await engine.close()
        store.close()
    # The store's own clock tells; a busy machine may delay some of them.
    assert min(late) >= 0
    assert min(late) < 100, f"the jobs were promoted {late} ms late"


async def test_waiting_for_a_busy_writer_is_no_gap(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nothing would ever be judged while requests wait for longer than that."""
    around, since = night.around, night.around.sweeps[0].reachable_since
    around.due = DueTimes(AT, None, None)
    monkeypatch.setattr(housekeeping, "SLOW_POLL_S", 0.001)
    looked, done = asyncio.Semaphore(0), asyncio.Event()

    async def slow(sweep: Sweep) -> Swept:
        around.sweeps.append(sweep)
        await done.wait()
        return Swept(around.now, matured=1)

    def pass_a_second() -> None:
        around.now += 1000
        looked.release()

    monkeypatch.setattr(around, "sweep", slow)
    around.meanwhile = pass_a_second
    night.sweeper.nudge()
    async with asyncio.timeout(30):
        for _ in range(5):
            await looked.acquire()
    around.meanwhile = lambda: None
    done.set()
    assert await night.sleeper.pause() == 0
    await night.sleeper.next()
    assert len(around.sweeps) == 3
    assert [sweep.reachable_since for sweep in around.sweeps[1:]] == [since, since]


async def test_a_stall_while_the_writer_is_busy_is_a_gap(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = night.around
    around.due = DueTimes(AT, None, None)
    monkeypatch.setattr(housekeeping, "SLOW_POLL_S", 0.001)

    async def stopped(sweep: Sweep) -> Swept:
        around.sweeps.append(sweep)
        around.now += 40_000
        return Swept(around.now, matured=1)

    monkeypatch.setattr(around, "sweep", stopped)
    await night.sleeper.next()
    await night.sleeper.next()
    first, second = around.sweeps[1:]
    assert second.reachable_since == first.requested_at + 40_000
