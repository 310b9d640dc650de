"""The engine against a scripted server, without processes and sockets."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ojs_worker import (
    BlockingContext,
    Context,
    Discard,
    Snooze,
    StopReason,
    Worker,
    current_context,
)
from ojs_worker.running.beats import Answer, Report
from ojs_worker.running.fetch_loop import FetchLoop
from ojs_worker.running.machine import Command
from ojs_worker.transport import Reply, Request
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import (
    ACK,
    ALL,
    BEAT,
    DEREGISTER,
    FETCH,
    NACK,
    REGISTER,
    MemoryTransport,
    ScriptedServer,
    job,
)

Make = Callable[..., Worker]


@pytest.fixture
def worker(make_worker: Make) -> Worker:
    return make_worker()


async def test_results_of_every_kind_are_told(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("in.loop")
    async def in_loop(ctx: Context, a: int) -> dict[str, Any]:
        await asyncio.sleep(0)
        assert current_context() is ctx
        return {"a": a, "attempt": ctx.attempt, "queue": ctx.queue}

    @worker.job("in.thread")
    def in_thread(ctx: BlockingContext, a: int) -> tuple[int, bool]:
        assert current_context() is ctx
        return a, threading.current_thread().daemon

    one, other = job(1, "in.loop", [1], attempt=4), job(2, "in.thread", [2])
    async with start(worker):
        await scripted.offer(one, other)
        done = await scripted.settled(one)
        assert done["result"] == {"a": 1, "attempt": 4, "queue": "default"}
        assert done["attempt"] == 4
        assert done["worker_id"] == scripted.calls[0].body["worker_id"]
        assert (await scripted.settled(other))["result"] == [2, True]


BAD_RESULTS = [object(), {"x": object()}, float("nan"), [None, float("inf")], "\ud800"]


@pytest.mark.parametrize("value", BAD_RESULTS, ids=["object", "inner", "nan", "inf", "half"])
async def test_a_result_that_json_cannot_hold_is_a_clear_failure(
    worker: Worker, scripted: ScriptedServer, start: Start, value: Any
) -> None:
    @worker.job("bad.result")
    async def bad() -> Any:
        return value

    one = job(1, "bad.result")
    async with start(worker):
        await scripted.offer(one)
        error = (await scripted.settled(one, NACK))["error"]
    assert error["type"] == "BadResult"
    assert error["retryable"] is False
    assert "cannot be written as JSON" in error["message"]


@pytest.mark.parametrize(("status", "code"), [(413, "RESULT_TOO_LARGE"), (422, "bad_result")])
async def test_a_result_that_the_server_refuses_fails_the_job(
    worker: Worker, scripted: ScriptedServer, start: Start, status: int, code: str
) -> None:
    @worker.job("a.b")
    async def large() -> str:
        return "large"

    scripted.answers[ACK] = lambda body: (status, {"error": {"message": "no"}})
    one = job(1, "a.b")
    async with start(worker):
        await scripted.offer(one)
        assert (await scripted.settled(one, NACK))["error"]["code"] == code
    assert len(scripted.about(ACK, one)) == 1


async def test_middleware_stands_around_the_handler(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    order = []

    @worker.use
    async def outer(job: Any, ctx: Context, call_next: Any) -> Any:
        order.append(f"outer {job.type}")
        ctx.metadata["user"] = "ada"
        result = await call_next()
        order.append("outer again")
        return [result]

    @worker.use
    async def inner(job: Any, ctx: Context, call_next: Any) -> Any:
        order.append("inner")
        return await call_next()

    @worker.job("a.b")
    def handler(ctx: BlockingContext) -> Any:
        order.append("handler")
        return ctx.metadata["user"]

    one = job(1, "a.b")
    async with start(worker):
        await scripted.offer(one)
        assert (await scripted.settled(one))["result"] == ["ada"]
        with pytest.raises(RuntimeError, match="while the worker runs"):
            worker.use(inner)
    assert order == ["outer a.b", "inner", "handler", "outer again"]


@pytest.mark.parametrize("place", ["loop", "thread"])
async def test_a_job_over_its_time_has_failed(
    worker: Worker, scripted: ScriptedServer, start: Start, place: str
) -> None:
    ended = threading.Event()

    @worker.job("long.loop")
    async def in_loop(ctx: Context) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            assert ctx.stop_reason is StopReason.TIMEOUT
            ended.set()

    @worker.job("long.thread")
    def in_thread(ctx: BlockingContext) -> None:
        while not ctx.cancelled:
            time.sleep(0.01)
        ended.set()

    one = job(1, f"long.{place}", timeout_ms=50)
    async with start(worker):
        await scripted.offer(one)
        error = (await scripted.settled(one, NACK))["error"]
        assert error["type"] == error["code"] == "timeout"
        assert error["details"]["limit_seconds"] == 0.05
        assert await asyncio.to_thread(ended.wait, 10)
    assert scripted.about(ACK, one) == []
    assert len(scripted.about(NACK, one)) == 1


async def test_a_handler_may_end_in_its_grace_period(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("long.job")
    async def saves(ctx: Context) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "saved"
        return "never"

    one = job(1, "long.job", timeout=0.05, grace_period=10)
    async with start(worker):
        await scripted.offer(one)
        assert (await scripted.settled(one))["result"] == "saved"


async def test_a_handler_that_ignores_its_end_keeps_its_place(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(concurrency=1)
    release = threading.Event()

    @worker.job("stuck.job")
    def stuck() -> None:
        release.wait(20)

    one, other = job(1, "stuck.job", timeout_ms=30), job(2, "stuck.job")
    async with start(worker) as running:
        await scripted.offer(one)
        await scripted.settled(one, NACK)
        await scripted.until_beat(active_job_ids=[])
        place = len(scripted.calls)
        await scripted.offer(other)
        await scripted.until_beat(active_job_ids=[])
        assert running.engine.free == 0
        assert FETCH not in [call.path for call in scripted.calls[place:]]
        release.set()
        await scripted.settled(other)


async def test_a_delivery_that_comes_again_replaces_the_lost_one(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    seen: list[tuple[int, StopReason | None]] = []

    @worker.job("a.b")
    async def handler(ctx: Context) -> int:
        if ctx.attempt == 1:
            try:
                await asyncio.sleep(60)
            finally:
                seen.append((1, ctx.stop_reason))
        return ctx.attempt

    async with start(worker):
        await scripted.offer(job(1, "a.b"))
        await scripted.until_beat(active_job_ids=[job(1)["id"]])
        await scripted.offer(job(1, "a.b", attempt=2))
        done = await scripted.settled(job(1))
    assert done["attempt"] == done["result"] == 2
    assert seen == [(1, StopReason.LOST)]
    assert len(scripted.of(ACK)) == 1


async def test_an_answer_about_an_earlier_delivery_stops_nobody(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    """The BEAT that listed attempt 1 is answered when attempt 2 is here already."""
    entered, go_on = asyncio.Event(), asyncio.Event()

    @worker.job("a.b")
    async def handler(ctx: Context) -> int:
        if ctx.attempt == 2:
            entered.set()
            await go_on.wait()
        return ctx.attempt

    async with start(worker) as running:
        await scripted.offer(job(1, "a.b"))
        await scripted.settled(job(1))
        report = running.engine.report()
        await scripted.offer(job(1, "a.b", attempt=2))
        await entered.wait()
        stale = Report(report.state, {job(1)["id"]: 1})
        running.engine.beat_answered(Answer(state="running", jobs_lost=[job(1)["id"]]), stale)
        go_on.set()
        await scripted.until(lambda: len(scripted.of(ACK)) == 2)


async def test_a_job_that_ended_is_not_taken_for_lost(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    """The ACK and the BEAT that still lists the job cross each other."""

    @worker.job("a.b")
    async def handler() -> str:
        return "done"

    hold = asyncio.Event()
    scripted.answers[ACK] = lambda body: (503, {}) if not hold.is_set() else (200, {})
    one = job(1, "a.b")
    async with start(worker):
        await scripted.offer(one)
        await scripted.until(lambda: scripted.about(ACK, one))
        scripted.beat = {"jobs_lost": [one["id"]]}
        await scripted.until_beat(active_job_ids=[one["id"]])
        hold.set()
        await scripted.until_beat(active_job_ids=[])
    assert len(scripted.about(ACK, one)) >= 2


async def test_a_lost_job_may_run_on_where_a_late_ack_counts(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(stop_lost=False)
    go_on = asyncio.Event()

    @worker.job("a.b")
    async def handler() -> str:
        await go_on.wait()
        return "late"

    one = job(1, "a.b")
    scripted.beat = {"jobs_lost": [one["id"]]}
    async with start(worker):
        await scripted.offer(one)
        await scripted.until_beat(active_job_ids=[one["id"]])
        await scripted.until_beat(active_job_ids=[one["id"]])
        go_on.set()
        assert (await scripted.settled(one))["result"] == "late"


async def test_a_fetch_without_an_answer_is_repeated_with_its_id(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    scripted.answers[FETCH] = lambda body: None
    async with start(worker):
        await scripted.until(lambda: len(scripted.of(FETCH)) >= 3)
        del scripted.answers[FETCH]
        await scripted.offer(job(1, "no.handler"))
        await scripted.settled(job(1), NACK)
        await scripted.until(lambda: len({c.body["fetch_id"] for c in scripted.of(FETCH)}) > 1)
    ids = [call.body["fetch_id"] for call in scripted.of(FETCH)]
    assert len(set(ids[:4])) == 1
    assert ids[4] != ids[3]


def refusing(server: ScriptedServer, path: str, times: int = 1) -> None:
    """Have the next calls of a path answered with 409."""
    left = times

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        nonlocal left
        left -= 1
        if left <= 0:
            del server.answers[path]
        return 409, {"error": {"code": "conflict", "message": "worker w has left"}}

    server.answers[path] = answer


async def test_a_worker_whose_fetch_is_refused_registers_beats_and_goes_on(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("a.b")
    async def handler() -> str:
        return "well"

    scripted.paths = ALL
    async with start(worker):
        await scripted.until(lambda: scripted.of(FETCH))
        refusing(scripted, FETCH)
        await scripted.until(lambda: len(scripted.of(REGISTER)) == 2)
        one = job(1, "a.b")
        await scripted.offer(one)
        await scripted.settled(one)
    paths = [call.path for call in scripted.calls]
    anew = len(paths) - 1 - paths[::-1].index(REGISTER)
    after = [path for path in paths[anew + 1 :] if path in (BEAT, FETCH)]
    assert after[0] == BEAT
    assert len(scripted.of(REGISTER)) == 2


async def test_a_worker_that_may_not_come_back_ends_in_order(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("a.b")
    async def handler() -> str:
        return "well"

    scripted.paths = ALL
    async with start(worker) as running:
        await scripted.until(lambda: scripted.of(FETCH))
        refusing(scripted, REGISTER)
        refusing(scripted, FETCH)
        await scripted.until(lambda: scripted.of(DEREGISTER))
        assert running.engine.shutting_down


async def test_a_strict_server_is_asked_in_plain_ojs(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("a.b")
    async def handler() -> None: ...

    plain = {"queues", "count", "worker_id"}
    refused = (400, {"error": {"message": "unknown member"}})
    usual = scripted.handle

    async def strict(path: str, body: dict[str, Any]) -> Any:
        if path == FETCH and set(body) - plain:
            scripted.calls.append(scripted.calls[0])
            return refused
        if path == BEAT and "active_jobs" in body:
            return refused
        return await usual(path, body)

    scripted.handle = strict  # type: ignore[method-assign]
    async with start(worker):
        await scripted.offer(job(1, "a.b"))
        await scripted.settled(job(1))
        await scripted.until_beat(active_job_ids=[])


async def test_a_job_that_cannot_be_read_spoils_no_other(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    @worker.job("a.b")
    async def handler() -> str:
        return "well"

    broken = {**job(1, "a.b"), "args": "not a list"}
    nameless: dict[str, Any] = {"type": "a.b"}
    async with start(worker):
        await scripted.offer(broken, nameless, job(2, "a.b"))
        assert (await scripted.settled(job(2)))["result"] == "well"
        error = (await scripted.settled(broken, NACK))["error"]
    assert error["type"] == "UnreadableJob"
    assert "args" in error["message"]


@pytest.mark.parametrize(("choice", "told"), [("fail", True), ("discard", False)])
async def test_a_job_without_a_handler_fails_as_wished(
    make_worker: Make, scripted: ScriptedServer, start: Start, choice: str, told: bool
) -> None:
    async with start(make_worker(unknown_type=choice)):
        await scripted.offer(job(1, "no.handler"))
        error = (await scripted.settled(job(1), NACK))["error"]
    assert error["retryable"] is told
    assert "no handler for no.handler" in error["message"]


async def test_types_without_a_handler_are_left_to_others(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()
    worker.job("a.b")(lambda: None)
    async with start(worker):
        await scripted.until(lambda: scripted.of(FETCH))
    assert scripted.of(FETCH)[0].body["job_types"] == ["a.b"]
    assert scripted.calls[0].body["job_types"] == ["a.b"]


async def test_jobs_that_come_all_the_same_go_back_with_one_warning_a_type(
    make_worker: Make,
    scripted: ScriptedServer,
    start: Start,
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = make_worker()
    worker.job("a.b")(lambda: None)
    async with start(worker):
        await scripted.offer(job(1, "no.handler"), job(2, "no.handler"), job(3, "a.b"))
        for number in (1, 2):
            assert (await scripted.settled(job(number), NACK))["requeue"] is True
        await scripted.settled(job(3))
    said = [one.getMessage() for one in caplog.records if "no.handler" in one.getMessage()]
    assert said == ["this worker has no handler for no.handler; its jobs go back to the server"]


@pytest.mark.parametrize("handlers", [0, 1001])
async def test_every_type_is_asked_for_where_it_is_wished_or_there_are_too_many(
    make_worker: Make, scripted: ScriptedServer, start: Start, handlers: int
) -> None:
    worker = make_worker(only_known_types=handlers > 0)
    for number in range(handlers or 1):
        worker.job(f"a.b{number}")(lambda: None)
    async with start(worker):
        await scripted.until(lambda: scripted.of(FETCH))
    assert not any("job_types" in call.body for call in scripted.calls)


async def test_a_server_that_knows_plain_ojs_only_is_asked_for_every_type(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker()
    worker.job("a.b")(lambda: None)

    def refuses(body: dict[str, Any]) -> Any:
        if body.keys() - {"queues", "count", "worker_id"}:
            return 400, {"error": {"message": "unknown members"}}
        return 200, {"jobs": []}

    scripted.answers[FETCH] = refuses
    async with start(worker):
        await scripted.until(lambda: len(scripted.of(FETCH)) > 1)
    first, second = scripted.of(FETCH)[:2]
    assert "job_types" in first.body
    assert "job_types" not in second.body


@pytest.mark.parametrize(
    ("settings", "served"),
    [
        ({}, ["default", "mail", "slow"]),
        ({"queues": ["slow", "own"]}, ["slow", "own", "mail"]),
        ({"queues": ["own"], "only_queues": True}, ["own"]),
    ],
)
async def test_the_queues_of_handlers_are_served_beside_the_named_ones(
    make_worker: Make,
    scripted: ScriptedServer,
    start: Start,
    settings: dict[str, Any],
    served: list[str],
) -> None:
    worker = make_worker(**settings)
    for kind, options in (("a", {"queue": "mail"}), ("b", {"queue": "slow"}), ("c", {})):
        worker.job(kind, **options)(lambda: None)  # type: ignore[arg-type]
    async with start(worker):
        await scripted.until(lambda: scripted.of(FETCH))
    assert scripted.of(FETCH)[0].body["queues"] == served
    assert scripted.calls[0].body["queues"] == served


async def test_jobs_that_arrive_when_no_more_are_wanted_go_back(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    one = job(1, "a.b")

    def late(body: dict[str, Any]) -> Any:
        if body["state"] == "quiet":
            scripted.waiting.append(one)
            task = asyncio.ensure_future(scripted.offer())
            tasks.append(task)
        return 200, {"state": body["state"]}

    tasks: list[Any] = []
    async with start(worker) as running:
        await scripted.until(lambda: scripted.of(FETCH))
        scripted.answers[BEAT] = late
        running.begin_shutdown()
        assert (await scripted.settled(one, NACK))["requeue"] is True
    assert running.engine.machine.exit_code == 0
    assert scripted.calls[-1].path == DEREGISTER


async def test_a_worker_that_is_resumed_while_its_last_fetch_is_awaited_fetches_again(
    worker: Worker, scripted: ScriptedServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    @worker.job("a.b")
    async def handler() -> str:
        return "done"

    async def resumed(loop: FetchLoop, limit_s: float) -> None:
        running.engine.handle(Command.RESUME)
        awaited.set()

    awaited = asyncio.Event()
    monkeypatch.setattr(FetchLoop, "quiesce", resumed)
    async with start(worker) as running:
        await scripted.until(lambda: scripted.of(FETCH))
        running.engine.handle(Command.QUIET)
        await awaited.wait()
        await scripted.offer(job(1, "a.b"))
        assert (await scripted.settled(job(1)))["result"] == "done"


async def test_a_worker_that_is_resumed_fetches_once_the_server_knows(
    worker: Worker, scripted: ScriptedServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes it for quiet would hold the FETCH, and give it no jobs."""
    send, sent, arrives = MemoryTransport.send, asyncio.Event(), asyncio.Event()

    async def slowly(transport: MemoryTransport, request: Request) -> Reply:
        if request.path == BEAT and running.engine.machine.may_fetch:
            sent.set()
            await arrives.wait()
        return await send(transport, request)

    async with start(worker) as running:
        await scripted.until(lambda: scripted.of(FETCH))
        running.engine.handle(Command.QUIET)
        await running.fetch_loop.stopped.wait()
        monkeypatch.setattr(MemoryTransport, "send", slowly)
        place = len(scripted.calls)
        running.engine.handle(Command.RESUME)
        await sent.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert scripted.calls[place:] == []
        arrives.set()
        await scripted.until(lambda: FETCH in [call.path for call in scripted.calls[place:]])
    assert scripted.calls[place].path == BEAT


async def test_a_worker_leaves_when_its_last_beat_is_answered(
    worker: Worker, scripted: ScriptedServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, sent, arrives = MemoryTransport.send, asyncio.Event(), asyncio.Event()
    ends = asyncio.Event()

    @worker.job("a.b")
    async def work() -> None:
        await ends.wait()

    async def slowly(transport: MemoryTransport, request: Request) -> Reply:
        if request.path == BEAT and not sent.is_set():
            sent.set()
            await arrives.wait()
        return await send(transport, request)

    async with start(worker) as running:
        await scripted.offer(job(1, "a.b"))
        await scripted.until_beat(active_job_ids=[job(1)["id"]])
        running.begin_shutdown()
        await running.fetch_loop.stopped.wait()
        monkeypatch.setattr(MemoryTransport, "send", slowly)
        await sent.wait()
        ends.set()
        await scripted.settled(job(1))
        for _ in range(50):
            await asyncio.sleep(0)
        assert scripted.of(DEREGISTER) == []
        arrives.set()
    assert [call.path for call in scripted.calls][-1] == DEREGISTER


async def test_progress_is_gathered_and_the_last_word_is_told_before_the_end(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    path = f"/ojs/v1/jobs/{job(1)['id']}/progress"
    scripted.paths |= {path}

    @worker.job("a.b")
    async def handler(ctx: Context) -> None:
        for step in range(100):
            ctx.progress(step / 100, f"step {step}")
        await asyncio.sleep(0)
        ctx.progress(7, data={"n": 1})

    async with start(worker):
        await scripted.offer(job(1, "a.b"))
        await scripted.settled(job(1))
    said = [call.body for call in scripted.of(path)]
    assert 1 <= len(said) <= 3
    assert {"progress": 1.0, "data": {"n": 1}, "attempt": 1}.items() <= said[-1].items()
    assert said[-1]["worker_id"] == scripted.calls[0].body["worker_id"]


async def test_a_checkpoint_is_saved_before_the_handler_goes_on(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    path = f"/ojs/v1/jobs/{job(1)['id']}/checkpoint"
    scripted.paths |= {path}
    saved = []

    @worker.job("a.b")
    def handler(ctx: BlockingContext) -> Any:
        ctx.checkpoint({"row": 5})
        saved.append(len(scripted.of(path)))
        ctx.heartbeat()
        return ctx.last_checkpoint

    async with start(worker):
        await scripted.offer(job(1, "a.b", checkpoint={"state": {"row": 4}, "sequence": 1}))
        assert (await scripted.settled(job(1)))["result"] == {"row": 4}
    assert saved == [1]
    body = scripted.of(path)[0].body
    assert {"state": {"row": 5}, "attempt": 1}.items() <= body.items()


async def test_handlers_are_told_that_the_worker_is_about_to_end(
    make_worker: Make, scripted: ScriptedServer, start: Start
) -> None:
    worker = make_worker(grace=20)

    @worker.job("a.b")
    async def handler(ctx: Context) -> str:
        while not ctx.shutting_down:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return "came to an end"

    async with start(worker) as running:
        await scripted.offer(job(1, "a.b"))
        await scripted.until_beat(active_job_ids=[job(1)["id"]])
        running.begin_shutdown()
        assert (await scripted.settled(job(1)))["result"] == "came to an end"


async def test_snooze_and_discard_are_no_warnings(
    worker: Worker, scripted: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    @worker.job("a.snooze")
    async def snoozes() -> None:
        raise Snooze("5m", "not yet")

    @worker.job("a.discard")
    async def discards() -> None:
        raise Discard("never")

    async with start(worker):
        await scripted.offer(job(1, "a.snooze"), job(2, "a.discard"))
        snoozed = (await scripted.settled(job(1), NACK))["error"]["details"]
        await scripted.settled(job(2), NACK)
    assert (snoozed["action"], snoozed["retry_after_ms"]) == ("snooze", 300_000)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


async def test_a_failure_is_logged_with_its_reason(
    worker: Worker, scripted: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    @worker.job("a.b")
    async def handler(ctx: Context) -> None:
        ctx.log.info("about to fail")
        raise ValueError("the reason")

    caplog.set_level(logging.INFO)
    async with start(worker):
        await scripted.offer(job(1, "a.b"))
        await scripted.settled(job(1), NACK)
    (said,) = [r for r in caplog.records if r.message == "about to fail"]
    assert vars(said)["job_id"] == job(1)["id"]
    (failed,) = [r for r in caplog.records if "the reason" in r.message]
    assert failed.exc_info


async def test_no_failure_takes_a_place_for_ever(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    @worker.job("a.b")
    async def speechless() -> None:
        raise Speechless

    async with start(worker) as running:
        await scripted.offer(job(1, "a.b"))
        said = (await scripted.settled(job(1), NACK))["error"]["message"]
        assert said == "it cannot be written: ValueError"
        await scripted.until_beat(active_job_ids=[])
        assert running.engine.free == 3


async def test_a_worker_that_the_server_forgot_tells_who_it_is(
    worker: Worker, scripted: ScriptedServer, start: Start
) -> None:
    async with start(worker):
        await scripted.until_beat(state="running")
        assert "hostname" not in scripted.of(BEAT)[-1].body
        scripted.beat = {"registered": False}
        await scripted.until(lambda: "hostname" in scripted.of(BEAT)[-1].body)
        scripted.beat = {"registered": True}
        await scripted.until(lambda: "hostname" not in scripted.of(BEAT)[-1].body)


async def test_a_token_that_cannot_be_had_now_stops_nothing(scripted: ScriptedServer) -> None:
    class Moody(MemoryTransport):
        failures = 3

        async def send(self, request: Request) -> Reply:
            if self.failures:
                self.failures -= 1
                raise LookupError("no token just now")
            return await super().send(request)

    worker = Worker(transport=Moody(scripted), **QUICK)
    async with worker:
        await scripted.until(lambda: scripted.of(FETCH))


async def test_an_embedded_worker_runs_in_the_programs_loop(
    worker: Worker, scripted: ScriptedServer
) -> None:
    @worker.job("a.b")
    async def handler() -> int:
        return id(asyncio.get_running_loop())

    async with worker:
        await scripted.offer(job(1, "a.b"))
        done = await scripted.settled(job(1))
        assert done["result"] == id(asyncio.get_running_loop())
    assert scripted.calls[-1].path == DEREGISTER
    worker.job("c.d")(lambda: None)
