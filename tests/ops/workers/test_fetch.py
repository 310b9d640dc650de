"""FETCH with waiting: woken by events, never by time alone, and no wake-up is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.profile import PROFILES
from ojs_server.domain.workers.worker import Directive, WorkerState
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.settle import Ack, Activate, Fail
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers import fetch as fetching
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.fetch import fetch
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.presence import Direct, Register
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import Store
from tests.ops.bench import HandClock, enqueue, environment
from tests.ops.waiting_calls import WaitingCalls

LONG_MS = 60_000


async def put(engine: Engine, **given: Any) -> str:
    """Enqueue one job; answers its id."""
    return (await engine.run(enqueue(**given))).jobs[0].job.id


def ids(deliveries: FetchedJobs) -> list[str]:
    return [one.claimed.job.id for one in deliveries]


class Fetches(WaitingCalls[FetchedJobs]):
    """Waiting fetches."""

    async def start(self, worker: str | None = None, **given: Any) -> asyncio.Task[FetchedJobs]:
        """A fetch that has looked, found nothing, and waits."""
        gone = given.pop("gone", None)
        claim = Claim(given.pop("queues", ("q",)), 1, worker, **given)
        task = await self.begin(fetch(self.engine, claim, LONG_MS, gone), looks=1)
        # One operation of the writer's later, the fetch has seen its answer.
        await self.engine.read(lambda reader: reader.ping())
        await self.engine.read(lambda reader: reader.ping())
        return task


@pytest.fixture
async def fetches(engine: Engine) -> Any:
    started = Fetches(engine)
    yield started
    await started.end()


async def answer(task: asyncio.Task[FetchedJobs]) -> list[str]:
    """Return the ids of the jobs that a fetch got."""
    async with asyncio.timeout(30):
        return ids(await task)


async def test_without_waiting_an_empty_answer_comes_at_once(engine: Engine) -> None:
    assert await fetch(engine, Claim(("q",)), 0) == ()
    assert engine.wakeups.queues() == []


async def test_a_job_that_is_there_needs_no_waiting(engine: Engine) -> None:
    job_id = await put(engine)
    assert ids(await fetch(engine, Claim(("q",)), LONG_MS)) == [job_id]
    assert engine.wakeups.queues() == []


async def test_the_wait_ends_empty_handed(engine: Engine) -> None:
    assert await fetch(engine, Claim(("q",)), 5) == ()


async def test_who_has_waited_does_not_wait_for_a_store_that_is_lost(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    run = engine.run

    async def look(claim: Any) -> Any:
        nonlocal looks
        looks += 1
        found = await run(claim)
        engine.availability.lose("it hangs")
        return found

    monkeypatch.setattr(engine, "run", look)
    # Long enough for the first look, also on a slow machine.
    with pytest.raises(Unavailable):
        await fetch(engine, Claim(("q",)), 2_000)
    assert looks == 1
    assert engine.wakeups.queues() == []


async def test_an_enqueue_wakes_who_waits(engine: Engine, fetches: Fetches) -> None:
    task = await fetches.start(queues=("r", "q"))
    job_id = await put(engine)
    assert await answer(task) == [job_id]


async def test_each_job_goes_to_one_waiter_in_the_order_of_coming(
    engine: Engine, fetches: Fetches
) -> None:
    tasks = [await fetches.start() for _ in range(3)]
    for task in tasks:
        job_id = await put(engine)
        assert await answer(task) == [job_id]


async def test_everything_that_makes_a_job_available_wakes(
    engine: Engine, fetches: Fetches, clock: HandClock
) -> None:
    async def activated() -> str:
        job_id = await put(engine, pending=True)
        await engine.run(Activate(job_id))
        return job_id

    async def promoted() -> str:
        job_id = await put(engine, scheduled_at="+PT1S")
        clock.advance(1000)
        await engine.run(Sweep(reachable_since=0, requested_at=clock.now))
        return job_id

    async def resumed() -> str:
        await engine.run(SetPaused("q", True))
        job_id = await put(engine)
        await engine.run(SetPaused("q", False))
        return job_id

    ways: list[Callable[[], Any]] = [activated, promoted, resumed]
    job_id = ""
    for way in ways:
        task = await fetches.start()
        job_id = await way()
        assert await answer(task) == [job_id]
    task = await fetches.start()
    await engine.run(Fail(job_id, parse_fault(None), requeue=True))
    assert await answer(task) == [job_id]


async def test_a_paused_queue_hands_nothing_to_who_waits(engine: Engine, fetches: Fetches) -> None:
    await engine.run(SetPaused("q", True))
    task = await fetches.start()
    other = await fetches.start(queues=("r",))
    await put(engine)
    found = await put(engine, queue="r")
    assert await answer(other) == [found]
    assert not task.done()


async def test_closing_answers_everybody_at_once(engine: Engine, fetches: Fetches) -> None:
    tasks = [await fetches.start() for _ in range(3)]
    engine.wakeups.close()
    assert [await answer(task) for task in tasks] == [[], [], []]
    assert await fetch(engine, Claim(("q",)), LONG_MS) == ()


async def test_who_has_gone_claims_nothing_and_hands_the_wake_on(
    engine: Engine, fetches: Fetches
) -> None:
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = await fetches.start(gone=gone)
    stays = await fetches.start()
    gone.set_result(None)
    job_id = await put(engine)
    assert await answer(left) == []
    assert await answer(stays) == [job_id]
    assert engine.wakeups.queues() == []


async def test_who_goes_while_woken_hands_the_wake_on(engine: Engine, fetches: Fetches) -> None:
    cancelled = await fetches.start()
    stays = await fetches.start()
    engine.wakeups.wake({"q": 1})
    cancelled.cancel()
    job_id = await put(engine)
    assert await answer(stays) == [job_id]


async def test_a_look_that_fails_hands_the_wake_on(
    engine: Engine, fetches: Fetches, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = await fetches.start("unlucky")
    lucky = await fetches.start("lucky")
    run = engine.run

    async def refuse(operation: Any) -> Any:
        if isinstance(operation, Claim) and operation.worker_id == "unlucky":
            raise Unavailable("not now")
        return await run(operation)

    monkeypatch.setattr(engine, "run", refuse)
    job_id = await put(engine)
    assert await answer(lucky) == [job_id]
    with pytest.raises(Unavailable):
        await unlucky


async def test_who_wants_other_types_does_not_use_up_the_wake(
    engine: Engine, fetches: Fetches
) -> None:
    picky = await fetches.start(job_types=("other",))
    also = await fetches.start(job_types=("t",))
    job_id = await put(engine)
    assert await answer(also) == [job_id]
    wanted = await put(engine, type="other")
    assert await answer(picky) == [wanted]


async def test_a_quiet_worker_does_not_stand_in_front_of_others(
    engine: Engine, fetches: Fetches
) -> None:
    first = await fetches.start("first")
    second = await fetches.start("second")
    await engine.run(Direct(Directive.QUIET, "first"))
    job_id = await put(engine)
    assert await answer(second) == [job_id]
    engine.wakeups.close()
    assert await answer(first) == []


async def test_a_quiet_worker_waits_as_long_as_it_asked_and_gets_nothing(engine: Engine) -> None:
    await engine.run(Beat("w", WorkerState.QUIET, False, ()))
    job_id = await put(engine)
    waiting = asyncio.create_task(fetch(engine, Claim(("q",), 1, "w"), LONG_MS))
    async with asyncio.timeout(30):
        (delivery,) = await fetch(engine, Claim(("q",), 1, "x"), LONG_MS)
        assert delivery.claimed.job.id == job_id
        assert await fetch(engine, Claim(("q",), 1, "w"), 50) == ()
        assert not waiting.done()
        engine.wakeups.close()
        assert await waiting == ()


async def test_jobs_whose_caller_left_during_the_claim_go_to_somebody_else(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await put(engine)
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    run = engine.run

    async def leave_meanwhile(operation: Any) -> Any:
        outcome = await run(operation)
        if isinstance(operation, Claim) and not gone.done():
            gone.set_result(None)
        return outcome

    monkeypatch.setattr(engine, "run", leave_meanwhile)
    assert await fetch(engine, Claim(("q",), 1, "w"), LONG_MS, gone) == ()
    (delivery,) = await run(Claim(("q",), 1, "x"))
    assert (delivery.claimed.job.id, delivery.claimed.job.releases) == (job_id, 1)


async def test_jobs_of_a_caller_who_left_stay_with_a_worker_that_may_have_asked_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await put(engine)
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    claim, run = Claim(("q",), 1, "w", fetch_id="f"), engine.run
    again: list[FetchedJobs] = []

    async def ask_again_meanwhile(operation: Any) -> Any:
        outcome = await run(operation)
        if not again:
            again.append(await run(claim))
            gone.set_result(None)
        return outcome

    monkeypatch.setattr(engine, "run", ask_again_meanwhile)
    assert await fetch(engine, claim, LONG_MS, gone) == ()
    assert ids(again[0]) == [job_id]
    assert ids(await run(Claim(("q",), 1, "x"))) == []


async def test_all_jobs_of_a_caller_who_left_go_back_though_some_cannot(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await put(engine) for _ in range(3)]
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    run, refusals = engine.run, [Unavailable("not now")]
    monkeypatch.setattr(fetching, "GIVE_BACK_AGAIN_S", 0.001)

    async def meanwhile(operation: Any) -> Any:
        if isinstance(operation, SettleAndFetch) and refusals:
            raise refusals.pop()
        outcome = await run(operation)
        if isinstance(operation, Claim):
            await run(Ack(made[1]))
            gone.set_result(None)
        return outcome

    monkeypatch.setattr(engine, "run", meanwhile)
    assert await fetch(engine, Claim(("q",), 3, "w"), LONG_MS, gone) == ()
    assert not refusals
    assert ids(await run(Claim(("q",), 3, "x"))) == [made[0], made[2]]


async def test_a_server_that_stops_is_not_asked_again_to_take_jobs_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(engine)
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    run = engine.run

    async def meanwhile(operation: Any) -> Any:
        if isinstance(operation, SettleAndFetch):
            raise Unavailable("the server is stopping")
        outcome = await run(operation)
        gone.set_result(None)
        engine.wakeups.close()
        return outcome

    monkeypatch.setattr(engine, "run", meanwhile)
    async with asyncio.timeout(30):
        assert await fetch(engine, Claim(("q",), 1, "w"), LONG_MS, gone) == ()


async def test_who_names_types_alone_is_woken_by_every_queue(
    engine: Engine, fetches: Fetches
) -> None:
    task = await fetches.start(queues=(), job_types=("t",))
    await put(engine, queue="s", type="other")
    job_id = await put(engine, queue="r")
    assert await answer(task) == [job_id]


async def test_a_repeated_fetch_hands_on_the_wake_that_it_had_no_use_for(
    engine: Engine, fetches: Fetches
) -> None:
    first = await fetches.start("w", fetch_id="f")
    again = await fetches.start("w", fetch_id="f")
    other = await fetches.start("x")
    taken = await put(engine)
    assert await answer(first) == [taken]
    job_id = await put(engine)
    assert await answer(again) == [taken]
    assert await answer(other) == [job_id]


async def test_a_worker_that_is_not_heard_of_keeps_no_job_from_others(
    store: Store, clock: HandClock
) -> None:
    """In a profile with `gates_fetch` it gets no jobs, and its wake-up goes to the next waiter."""
    engine = Engine(store, Rules(profile=PROFILES["blackboard"]), environment())
    fetches = Fetches(engine)
    try:
        await engine.run(Register("mute", {}))
        await fetches.start("mute")
        other = await fetches.start()
        job_id = await put(engine)
        assert await answer(other) == [job_id]
    finally:
        await fetches.end()
        await engine.close()


async def test_a_hundred_waiters_and_a_hundred_jobs_find_each_other(engine: Engine) -> None:
    tasks = [
        asyncio.create_task(fetch(engine, Claim(("q",), 1, f"w{n}"), LONG_MS)) for n in range(100)
    ]
    made = [await put(engine) for _ in range(10)]
    made += await asyncio.gather(*(put(engine) for _ in range(90)))
    async with asyncio.timeout(60):
        found = await asyncio.gather(*tasks)
    assert sorted(job_id for one in found for job_id in ids(one)) == sorted(made)
    assert engine.wakeups.queues() == []


async def test_a_worker_that_may_not_take_the_job_does_not_keep_it_from_another(
    engine: Engine, fetches: Fetches
) -> None:
    await engine.run(Register("choosy", {"handlers": [{"type": "t", "versions": "1"}]}))
    await fetches.start("choosy")
    other = await fetches.start()
    job_id = await put(engine, version=2)
    assert await answer(other) == [job_id]


async def test_a_job_that_comes_while_a_worker_is_looked_up_reaches_another(
    engine: Engine, fetches: Fetches, monkeypatch: pytest.MonkeyPatch
) -> None:
    await engine.run(Register("choosy", {"handlers": [{"type": "t", "versions": "1"}]}))
    found, read = asyncio.Event(), engine.read

    async def slowly(look: Any) -> Any:
        monkeypatch.setattr(engine, "read", read)
        await found.wait()
        return await read(look)

    monkeypatch.setattr(engine, "read", slowly)
    await fetches.start("choosy")
    other = await fetches.start()
    job_id = await put(engine, version=2)
    assert await answer(other) == [job_id]
    found.set()
