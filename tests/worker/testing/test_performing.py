"""Running jobs as a worker would, on a real server."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ojs_worker import BlockingContext, Context, StopReason, Worker
from ojs_worker.faults import BadArguments
from ojs_worker.testing import Ran, Sandbox
from ojs_worker.transport import Request


def handler(worker: Worker, type: str) -> Any:
    found = worker.registry.get(type)
    assert found is not None
    return found


async def test_one_job_is_run_and_its_outcome_told(ojs: Sandbox, worker: Worker) -> None:
    ran = await ojs.run(handler(worker, "email.send"), to="ada")
    assert (ran.state, ran.error, ran.exception, ran.stop_reason) == ("completed", None, None, None)
    assert ran.result == {"to": "ada", "subject": "Hello"}
    assert ran.progress_message == "half"
    assert ran.job.queue == "mail"
    assert ran.job.attempt == 1
    assert ojs.job(ran.job) == ran.job


def test_the_same_without_an_event_loop(ojs: Sandbox, worker: Worker) -> None:
    ran = ojs.run_blocking(handler(worker, "sum.up"), 1, 2, 3)
    assert (ran.state, ran.result) == ("completed", 6)
    ran = ojs.run_blocking(ojs.client.request("sum.up", [4], queue="mail"))
    assert (ran.result, ran.job.queue) == (4, "mail")
    assert repr(ran).startswith("<sum.up [4] on mail, completed, attempt 1 (")


async def test_a_failure_is_told_as_the_engine_tells_it(ojs: Sandbox, worker: Worker) -> None:
    ran = await ojs.run(handler(worker, "give.up"))
    assert (ran.state, ran.error["type"]) == ("discarded", "never.again")
    assert "raised Discard('never')" in repr(ran)
    ran = await ojs.run(handler(worker, "fail.twice"))
    assert ran.state == "retryable"
    assert isinstance(ran.exception, ValueError)
    assert ran.job.next_attempt_at == "2030-01-31T09:01:00Z"
    assert ran.checkpoint == {"tries": 1}
    ran = await ojs.run(handler(worker, "sleep.on"))
    assert (ran.state, ran.job.scheduled_at) == ("scheduled", "2030-01-31T10:00:00Z")
    ran = await ojs.run(ojs.client.request("email.send", {"too": "ada"}))
    assert isinstance(ran.exception, BadArguments)
    assert ran.state == "discarded"


async def test_retries_come_when_the_clock_is_turned(ojs: Sandbox, worker: Worker) -> None:
    await handler(worker, "fail.twice").enqueue()
    assert [ran.state for ran in await ojs.drain()] == ["retryable"]
    ojs.clock.advance("59s")
    assert await ojs.drain() == []
    ojs.clock.advance("1s")
    assert [ran.checkpoint for ran in await ojs.drain()] == [{"tries": 2}]
    (last,) = await ojs.drain(with_scheduled=True)
    assert (last.state, last.result, last.job.attempt) == ("completed", 2, 3)
    ojs.assert_nothing_waits()


def test_a_drain_runs_what_is_enqueued_meanwhile_and_in_order(ojs: Sandbox, worker: Worker) -> None:
    for name in ("ada", "bob"):
        handler(worker, "signup").enqueue_blocking(to=name)
    ran = ojs.drain_blocking()
    assert [one.job.args for one in ran if one.job.type == "email.send"] == [
        [{"to": "ada"}],
        [{"to": "bob"}],
    ]
    assert [one.job.type for one in ran[:1]] == ["signup"]
    assert len(ran) == 4


async def test_a_drain_can_be_confined(ojs: Sandbox) -> None:
    for queue in ("a", "a", "b"):
        await ojs.client.enqueue("sum.up", [1], queue=queue)
    assert [ran.job.queue for ran in await ojs.drain("b")] == ["b"]
    assert len(await ojs.drain(max_jobs=1)) == 1
    assert len(await ojs.drain("none", "a")) == 1
    assert await ojs.drain() == []


async def test_delayed_jobs_are_left_alone_unless_they_are_wanted(ojs: Sandbox) -> None:
    for delay in ("2h", "1h"):
        await ojs.client.enqueue("sum.up", [1], delay=delay)
    assert await ojs.drain() == []
    ran = await ojs.drain(with_scheduled=True)
    assert [one.job.started_at for one in ran] == ["2030-01-31T10:00:00Z", "2030-01-31T11:00:00Z"]


async def test_a_drain_does_not_go_on_for_ever(
    ojs: Sandbox, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[asyncio.Timeout] = []

    def timeout(seconds: float) -> asyncio.Timeout:
        assert seconds == 7
        limits.append(asyncio.timeout(None))
        return limits[-1]

    @worker.job("hang")
    async def hang() -> None:
        limits[-1].reschedule(0)
        await asyncio.Event().wait()

    monkeypatch.setattr("ojs_worker.testing.performing.asyncio", SimpleNamespace(timeout=timeout))
    await ojs.client.enqueue("sum.up")
    await hang.enqueue()
    with pytest.raises(TimeoutError, match="not done after 7 s; 1 jobs ran, the last one: hang"):
        await ojs.drain(timeout_s=7)


async def test_run_leaves_other_jobs_alone(ojs: Sandbox, worker: Worker) -> None:
    add = handler(worker, "sum.up")
    other = await handler(worker, "signup").enqueue(to="ada")
    elsewhere = await add.options(queue="mail").enqueue(1)
    assert (await ojs.run(add, 2)).result == 2
    assert [(ojs.job(one).state, ojs.job(one).attempt) for one in (other, elsewhere)] == [
        ("available", 0),
        ("available", 0),
    ]
    await add.enqueue(3)
    with pytest.raises(LookupError, match=r"1 other sum\.up wait before it; drain first"):
        await ojs.run(add, 4)
    ojs.assert_enqueued(add, count=3)


async def test_what_cannot_run_is_refused(ojs: Sandbox, worker: Worker) -> None:
    with pytest.raises(LookupError, match=r"handler for sum\.upp; did you mean sum\.up\?"):
        await ojs.run(ojs.client.request("sum.upp"))
    with pytest.raises(LookupError, match="is scheduled, so it does not run now"):
        await ojs.run(handler(worker, "sum.up").options(delay=5), 1)
    await ojs.transport.send(Request("POST", "/ojs/v1/queues/mail/pause", b"{}"))
    with pytest.raises(LookupError, match="is its queue mail paused or limited"):
        await ojs.run(handler(worker, "email.send"), to="ada")
    with Sandbox() as empty, pytest.raises(LookupError, match="there is no worker"):
        await empty.drain()


def test_two_workers_do_each_its_own_jobs(worker: Worker) -> None:
    other = Worker(queues="other")

    @other.job("other.job")
    def other_job() -> str:
        return "other"

    with Sandbox(worker, other, Worker()) as ojs:
        other_job.enqueue_blocking()
        ojs.blocking_client.enqueue("sum.up", [1])
        ojs.blocking_client.enqueue("no.body")
        assert {ran.result for ran in ojs.drain_blocking()} == {"other", 1}
        assert ojs.enqueued("no.body")[0].state == "available"


async def test_middleware_stands_around_handlers_and_planted_failures(worker: Worker) -> None:
    seen: list[object] = []

    @worker.use
    async def watch(job: Any, ctx: Any, call_next: Any) -> Any:
        try:
            seen.append(await call_next())
        except OSError as error:
            seen.append(str(error))
            raise

    with Sandbox(worker) as ojs:
        ojs.fail_next("sum.up", OSError("down"))
        failed, done = await ojs.run(ojs.client.request("sum.up", [1])), None
        assert isinstance(failed.exception, OSError)
        done = await ojs.run(ojs.client.request("sum.up", [1]))
        assert (done.state, done.result) == ("completed", None)
    assert seen == ["down", 1]


def test_a_cancel_stops_a_function_between_two_lines(ojs: Sandbox, worker: Worker) -> None:
    @worker.job("count")
    def count(ctx: BlockingContext) -> int:
        rows = 0
        while not ctx.cancelled:
            rows += 1
            if rows == 3:
                ojs.cancel(ctx.job)
        seen.append(rows)
        return rows

    seen: list[int] = []
    ran = ojs.run_blocking(count)
    assert (ran.state, ran.stop_reason, ran.result) == ("cancelled", StopReason.CANCELLED, None)
    assert seen == [3]
    ojs.assert_cancelled(count)


async def test_a_cancel_stops_a_coroutine_at_an_await(ojs: Sandbox, worker: Worker) -> None:
    @worker.job("wait")
    async def wait(ctx: Context) -> None:
        ojs.cancel(ctx.job)
        await asyncio.Event().wait()

    ran = await ojs.run(wait)
    assert (ran.state, ran.stop_reason) == ("cancelled", StopReason.CANCELLED)


def test_time_takes_a_job_from_a_handler_that_is_too_slow(ojs: Sandbox, worker: Worker) -> None:
    @worker.job("slow", timeout="10m", retry=1)
    def slow(ctx: BlockingContext) -> None:
        ojs.clock.advance("9m")
        seen.append(ctx.stop_reason)
        ojs.clock.advance("1m")
        seen.append(ctx.stop_reason)

    seen: list[StopReason | None] = []
    ran = ojs.run_blocking(slow)
    assert (ran.state, ran.stop_reason) == ("discarded", StopReason.LOST)
    assert seen == [None, StopReason.LOST]
    ojs.assert_discarded(slow, error="timeout")


async def test_a_handler_may_take_ages_that_its_worker_beats_through(
    ojs: Sandbox, worker: Worker
) -> None:
    @worker.job("ages")
    async def ages() -> str:
        ojs.clock.advance("P30D")
        return "done"

    ran = await ojs.run(ages)
    assert (ran.result, ran.job.completed_at) == ("done", "2030-03-02T09:00:00Z")


async def test_a_handler_in_a_process_is_run_there(ojs: Sandbox, worker: Worker) -> None:
    from ojs_worker.demo import worker as demo

    ojs.attach(demo)
    ran = await ojs.run(handler(demo, "test.compute"), limit=10)
    assert (ran.state, ran.result) == ("completed", 4)


async def test_drains_may_run_at_once(ojs: Sandbox) -> None:
    for number in range(4):
        await ojs.client.enqueue("sum.up", [number])
    both: tuple[list[Ran], ...] = await asyncio.gather(ojs.drain(), ojs.drain())
    assert sorted(ran.result for part in both for ran in part) == [0, 1, 2, 3]


async def test_a_worker_can_run_for_itself_in_a_sandbox(ojs: Sandbox, worker: Worker) -> None:
    async with worker:
        job = await ojs.client.enqueue("sum.up", [1, 2])
        assert await ojs.client.result(job, timeout_s=20) == 3
