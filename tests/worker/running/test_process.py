"""The real binary under real signals, against a scripted server: what any OJS server may expect.

The tests w1 to w15 are run twice: against a server with the four public calls only, and against
one that registers workers and holds FETCHes.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from tests.worker.process import WorkerProcess, worker
from tests.worker.scripted import (
    ACK,
    ALL,
    BEAT,
    DEREGISTER,
    FETCH,
    NACK,
    PUBLIC,
    REGISTER,
    Call,
    ScriptedServer,
    job,
    listening,
)

STATES = {"running", "quiet", "terminate"}
LONG = [60_000]
HANDLERS = "tests.worker.bad_handlers:worker"


class Stage:
    """A scripted server and the way to start workers on it."""

    def __init__(self, server: ScriptedServer, url: str) -> None:
        self.server = server
        self.url = url

    def worker(self, *options: str, **environ: Any) -> Any:
        """A worker process for this server."""
        return worker(self.url, *options, **environ)

    async def running(self) -> None:
        """Wait until the worker asks for jobs."""
        await self.server.until(lambda: self.server.of(FETCH))

    async def holding(self, *jobs: dict[str, Any]) -> None:
        """Hand out jobs, and wait until a BEAT lists exactly these."""
        await self.server.offer(*jobs)
        ids = {one["id"] for one in jobs}
        await self.server.until(
            lambda: any(set(call.body["active_job_ids"]) == ids for call in self.server.of(BEAT))
        )

    def fetches_when_quiet(self) -> int:
        """The number of FETCHes after the second BEAT with the state quiet: one that was on its way
        may overtake the first."""
        beats = [n for n, call in enumerate(self.server.calls) if _is_quiet(call)]
        return sum(call.path == FETCH for call in self.server.calls[beats[1] :])

    async def until_quiet(self) -> None:
        """Wait until two BEATs have reported that the worker is quiet."""
        await self.server.until_beat(state="quiet")
        await self.server.until_beat(state="quiet")


def _is_quiet(call: Call) -> bool:
    return call.path == BEAT and call.body["state"] != "running"


@asynccontextmanager
async def staged(paths: frozenset[str]) -> AsyncIterator[Stage]:
    server = ScriptedServer(paths=paths, holds=paths is ALL)
    async with listening(server) as url:
        yield Stage(server, url)


@pytest.fixture(params=["four calls", "all calls"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with staged(ALL if request.param == "all calls" else PUBLIC) as made:
        yield made


@pytest.fixture
async def full() -> AsyncIterator[Stage]:
    async with staged(ALL) as made:
        yield made


def goodbye(server: ScriptedServer) -> None:
    """The last calls of a worker: a BEAT that says terminate and lists nothing, and deregister."""
    last_beat = server.of(BEAT)[-1].body
    assert last_beat["state"] == "terminate"
    assert last_beat["active_job_ids"] == []
    assert server.calls[-1].path == DEREGISTER
    assert server.calls[-2].path == BEAT


async def test_w1_it_registers_and_beats_before_it_fetches(stage: Stage) -> None:
    ids = set()
    for _ in range(2):
        stage.server.calls.clear()
        async with stage.worker("--queues", "critical,default", "--labels", "region:eu"):
            await stage.running()
        paths = [call.path for call in stage.server.calls]
        assert paths[:3] == [REGISTER, BEAT, FETCH]
        body = stage.server.calls[0].body
        assert body["queues"] == ["critical", "default"]
        assert body["concurrency"] == 2
        assert body["labels"] == ["region:eu"]
        assert body["pid"] > 1
        assert body["hostname"]
        ids.add(body["worker_id"])
    assert len(ids) == 2


async def test_w2_idle_it_beats_and_asks_its_queues_in_order(stage: Stage) -> None:
    async with stage.worker("--queues", "critical,default", "--heartbeat-interval", "0.5"):
        await stage.server.until(lambda: len(stage.server.of(BEAT)) >= 5)
    beats = stage.server.of(BEAT)
    gaps = [later.at - sooner.at for sooner, later in pairwise(beats)]
    # A busy machine delays single ones, so the mean is judged.
    assert 0.4 <= sum(gaps) / len(gaps) <= 2.0
    assert all(beat.body["active_job_ids"] == [] for beat in beats)
    for fetch in stage.server.of(FETCH):
        assert fetch.body["queues"] == ["critical", "default"]
        assert fetch.body["count"] == 2


async def test_w3_it_never_takes_more_than_it_may(stage: Stage) -> None:
    jobs = [job(n, "test.slow", [300]) for n in range(5)]
    stage.server.gives_all = True
    stage.server.waiting = jobs[:3]
    async with stage.worker():
        # The third one is given back at once: it was more than was asked for.
        released = await stage.server.settled(jobs[2], NACK)
        assert released["requeue"] is True
        stage.server.gives_all = False
        await stage.server.offer(*jobs[3:])
        for one in (*jobs[:2], *jobs[3:]):
            await stage.server.settled(one)
    assert max(len(call.body["active_job_ids"]) for call in stage.server.of(BEAT)) <= 2
    held: set[str] = set()
    for call in stage.server.calls:
        if call.path == FETCH:
            assert call.body["count"] <= 2 - len(held)
        elif call.path == ACK:
            held.discard(call.body["job_id"])
        elif call.path == BEAT:
            held |= set(call.body["active_job_ids"])


async def test_w4_every_beat_says_its_state_and_exactly_its_jobs(stage: Stage) -> None:
    one, other = job(1, "test.slow", LONG), job(2, "test.slow", [400])
    async with stage.worker() as process:
        await stage.holding(one, other)
        await stage.server.settled(other)
        await stage.server.until_beat(active_job_ids=[one["id"]])
        process.send(signal.SIGTERM)
        assert await process.code() == 1
    beats = [call.body for call in stage.server.of(BEAT)]
    assert {beat["state"] for beat in beats} <= STATES
    assert all(beat["worker_id"] == beats[0]["worker_id"] for beat in beats)


def constantly(answer: Any) -> Callable[[Any], Any]:
    return lambda body: answer


async def test_w5_beats_without_an_answer_change_nothing(stage: Stage) -> None:
    troubles: list[Any] = [(500, {"error": {"message": "sorry"}}), None]
    async with stage.worker():
        for number, trouble in enumerate(troubles, 1):
            stage.server.answers[BEAT] = constantly(trouble)
            for _ in range(3):
                await stage.server.until_beat(state="running")
            one = job(number)
            await stage.server.offer(one)
            assert (await stage.server.settled(one))["result"] == []
            assert {call.body["state"] for call in stage.server.of(BEAT)} == {"running"}
        del stage.server.answers[BEAT]
        await stage.server.until_beat(state="running")


async def test_w6_quiet_by_the_server(stage: Stage) -> None:
    one = job(1, "test.slow", [700])
    async with stage.worker() as process:
        await stage.holding(one)
        stage.server.beat = {"state": "quiet"}
        await stage.server.until_beat(state="quiet")
        await stage.server.settled(one)
        await stage.server.until_beat(state="quiet", active_job_ids=[])
        await stage.until_quiet()
        assert stage.fetches_when_quiet() == 0
        assert process.alive()
        # The server may lift what it asked for.
        stage.server.beat = {"state": "running"}
        await stage.server.until_beat(state="running")
        await stage.server.until(stage.fetches_when_quiet)


async def test_w7_terminate_by_the_server(stage: Stage) -> None:
    one = job(1, "test.slow", LONG)
    async with stage.worker() as process:
        await stage.holding(one)
        stage.server.beat = {"state": "terminate"}
        assert await process.code() == 1
    (fail,) = stage.server.about(NACK, one)
    assert fail["error"]["type"] == "shutdown"
    assert fail["error"]["code"] == "shutdown"
    assert fail["error"]["retryable"] is True
    assert fail["error"]["details"]["error_class"] == "ShutdownError"
    assert fail["attempt"] == 1
    goodbye(stage.server)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
async def test_w8_w12_a_signal_drains(stage: Stage, sig: signal.Signals) -> None:
    one = job(1, "test.slow", [800])
    async with stage.worker(OJS_GRACE_PERIOD=20) as process:
        await stage.holding(one)
        process.send(sig)
        quiet = await stage.server.until_beat(state="quiet")
        assert quiet["active_job_ids"] == [one["id"]]
        assert await process.code() == 0
    assert len(stage.server.about(ACK, one)) == 1
    assert stage.server.of(NACK) == []
    assert stage.fetches_when_quiet() == 0
    goodbye(stage.server)


async def test_w9_tstp_quiets_and_cont_wakes(stage: Stage) -> None:
    async with stage.worker() as process:
        await stage.running()
        process.send_all(signal.SIGTSTP)
        await stage.until_quiet()
        await stage.until_quiet()
        assert process.alive()
        assert stage.fetches_when_quiet() == 0
        process.send_all(signal.SIGCONT)
        await stage.server.until_beat(state="running")
        one = job(1)
        await stage.server.offer(one)
        await stage.server.settled(one)


async def test_w10_nothing_resumes_a_worker_that_ends(stage: Stage) -> None:
    one = job(1, "test.slow", [600])
    async with stage.worker(OJS_GRACE_PERIOD=20) as process:
        await stage.holding(one)
        process.send(signal.SIGTERM)
        await stage.server.until_beat(state="quiet")
        place = len(stage.server.calls)
        process.send(signal.SIGCONT)
        stage.server.beat = {"state": "running"}
        assert await process.code() == 0
    assert stage.fetches_when_quiet() == 0
    later = {call.body["state"] for call in stage.server.calls[place:] if call.path == BEAT}
    assert later <= {"quiet", "terminate"}


@pytest.mark.parametrize(
    ("sig", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
async def test_w11_a_second_signal_forces_the_end(
    stage: Stage, sig: signal.Signals, code: int
) -> None:
    one = job(1, "test.slow", LONG)
    async with stage.worker(OJS_GRACE_PERIOD=300) as process:
        await stage.holding(one)
        process.send(signal.SIGTERM)
        await stage.server.until_beat(state="quiet")
        process.send(sig)
        assert await process.code() == code
    assert [fail["error"]["type"] for fail in stage.server.about(NACK, one)] == ["shutdown"]


async def test_w13_a_refused_ack_is_not_repeated(stage: Stage) -> None:
    gone = (409, {"error": {"code": "conflict", "message": "not yours"}})
    one, other = job(1), job(2)
    stage.server.answers[ACK] = lambda body: gone if body["job_id"] == one["id"] else (200, {})
    async with stage.worker() as process:
        await stage.server.offer(one)
        await stage.server.settled(one)
        await stage.server.offer(other)
        await stage.server.settled(other)
        await stage.server.until_beat(active_job_ids=[])
        assert len(stage.server.about(ACK, one)) == 1
        assert stage.server.of(NACK) == []
        assert process.alive()
        assert any("lease" in line and one["id"] in line for line in process.output)


@pytest.mark.parametrize("member", ["jobs_lost", "cancelled_jobs"])
async def test_w14_a_lost_job_is_stopped_and_not_settled(stage: Stage, member: str) -> None:
    lost = job(1, "test.slow", LONG), job(2, "test.block", LONG)
    other = job(3)
    async with stage.worker() as process:
        await stage.holding(*lost)
        stage.server.beat = {member: [one["id"] for one in lost]}
        await stage.server.until_beat(active_job_ids=[])
        stage.server.beat = {}
        await stage.server.offer(other)
        await stage.server.settled(other)
        process.send(signal.SIGTERM)
        # The handlers are stopped: nothing is waited for.
        assert await process.code() == 0
    for one in lost:
        assert stage.server.about(ACK, one) == stage.server.about(NACK, one) == []


async def test_w15_failures_say_what_happened(stage: Stage) -> None:
    jobs = [
        job(1, "test.fail_always"),
        job(2, "test.discard"),
        job(3, "test.unheard_of"),
        job(4, "test.compute", [{"limit": "many"}]),
        job(5, "test.panic"),
    ]
    async with stage.worker("--unknown-type", "fail"):
        await stage.server.offer(*jobs)
        bodies = [await stage.server.settled(one, NACK) for one in jobs]
    errors = [body["error"] for body in bodies]
    assert all(body["attempt"] == 1 and body["worker_id"] for body in bodies)
    assert [(error["type"], error["retryable"]) for error in errors] == [
        ("RuntimeError", True),
        ("Discard", False),
        ("UnknownJobType", True),
        ("InvalidArguments", False),
        ("SystemExit", True),
    ]
    assert errors[0]["message"] == "this handler always fails"
    assert errors[0]["details"]["error_class"] == "builtins.RuntimeError"
    assert any("fail_always" in line for line in errors[0]["backtrace"])
    assert errors[1]["details"]["action"] == "discard"
    assert "`limit`" in errors[3]["message"]


async def test_jobs_that_outlast_the_grace_can_be_given_back_free(full: Stage) -> None:
    one = job(1, "test.slow", LONG)
    async with full.worker("--shutdown-release", "requeue") as process:
        await full.holding(one)
        process.send(signal.SIGTERM)
        assert await process.code() == 1
    assert [fail["requeue"] for fail in full.server.about(NACK, one)] == [True]


async def test_results_wait_until_the_server_is_back(full: Stage) -> None:
    one = job(1)
    away = {"error": {"message": "away"}}
    full.server.answers[ACK] = lambda body: (503, away)
    async with full.worker() as process:
        await full.server.offer(one)
        await full.server.until(lambda: len(full.server.about(ACK, one)) >= 2)
        # The job is held, and its lease renewed, until the ACK is answered.
        await full.server.until_beat(active_job_ids=[one["id"]])
        del full.server.answers[ACK]
        await full.server.until_beat(active_job_ids=[])
        process.send(signal.SIGTERM)
        assert await process.code() == 0


async def start_and_hold(full: Stage, process: WorkerProcess, one: dict[str, Any]) -> None:
    """Wait until a handler of the tests' own says that it has begun."""
    await full.server.offer(one)
    async with asyncio.timeout(20):
        while not any("began" in line for line in process.output):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_thread_that_never_ends_does_not_hold_the_process(full: Stage) -> None:
    one = job(1, "stuck.thread")
    async with full.worker(target=HANDLERS) as process:
        await start_and_hold(full, process, one)
        process.send(signal.SIGTERM)
        assert await process.code() == 1
    assert [fail["error"]["type"] for fail in full.server.about(NACK, one)] == ["shutdown"]
    goodbye(full.server)


async def test_a_blocked_loop_is_named_and_cannot_outlast_two_signals(full: Stage) -> None:
    one = job(1, "stuck.loop")
    async with full.worker(target=HANDLERS) as process:
        await start_and_hold(full, process, one)
        async with asyncio.timeout(20):
            while not any("blocked the event loop" in line for line in process.output):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert any("stuck.loop" in line and "blocked" in line for line in process.output)
        await process.take(signal.SIGINT)
        process.send(signal.SIGTERM)
        assert await process.code() == 143


async def test_a_blocked_loop_does_not_hold_the_process_past_its_grace(full: Stage) -> None:
    async with full.worker(target=HANDLERS) as process:
        await start_and_hold(full, process, job(1, "stuck.loop"))
        process.send(signal.SIGTERM)
        assert await process.code() == 1


async def test_a_handler_in_a_process_tells_its_progress_and_what_it_cannot(full: Stage) -> None:
    one = job(1, "tells.more")
    path = f"/ojs/v1/jobs/{one['id']}/progress"
    full.server.answers[path] = lambda body: (200, body)
    async with full.worker(target=HANDLERS):
        await full.server.offer(one)
        result = (await full.server.settled(one))["result"]
    assert "has no checkpoints" in result[0]
    assert result[1:] == [one["id"], False]
    said = full.server.of(path)[-1].body
    assert {"progress": 0.5, "message": "half"}.items() <= said.items()


async def test_signals_while_the_program_loads_are_not_lost(full: Stage) -> None:
    async with full.worker(target="tests.worker.slow_module:worker") as process:
        async with asyncio.timeout(20):
            while not any("loading" in line for line in process.output):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        process.send(signal.SIGTSTP)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert full.server.of(FETCH) == []


async def test_a_process_of_the_pool_leaves_signals_to_its_worker(full: Stage) -> None:
    one = job(1, "slow.process", [700])
    async with full.worker(target=HANDLERS, OJS_GRACE_PERIOD=20) as process:
        await start_and_hold(full, process, one)
        (line,) = [line for line in process.output if "began" in line]
        child = int(line.split()[-1])
        for sig in (signal.SIGTSTP, signal.SIGINT, signal.SIGTERM):
            os.kill(child, sig)
        assert (await full.server.settled(one))["result"] == "done"


async def test_a_handler_whose_process_dies_has_failed(full: Stage) -> None:
    one, other = job(1, "dying.process"), job(2, "slow.process", [0])
    async with full.worker(target=HANDLERS) as process:
        await full.server.offer(one)
        fail = await full.server.settled(one, NACK)
        assert fail["error"]["type"] == "HandlerDied"
        assert "code 3" in fail["error"]["message"]
        await full.server.offer(other)
        assert (await full.server.settled(other))["result"] == "done"
        assert process.alive()


@pytest.mark.parametrize("type", ["enqueues.more", "enqueues.there"])
async def test_a_handler_enqueues_at_the_server_that_the_flags_name(full: Stage, type: str) -> None:
    path = "/ojs/v1/jobs"
    full.server.answers[path] = lambda body: (201, {"job": {**body, "state": "available"}})
    options = ("--url", full.url)
    async with worker("http://127.0.0.1:9", *options, target=HANDLERS):
        await full.server.offer(job(1, type))
        result = (await full.server.settled(job(1)))["result"]
    (enqueued,) = full.server.of(path)
    assert enqueued.body["id"] == result
    assert enqueued.body["type"] == "slow.process"


async def test_a_cancelled_job_in_a_process_ends_with_it(full: Stage) -> None:
    one = job(1, "slow.process", LONG)
    async with full.worker(target=HANDLERS) as process:
        await start_and_hold(full, process, one)
        full.server.beat = {"cancelled_jobs": [one["id"]]}
        await full.server.until_beat(active_job_ids=[])
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert full.server.about(ACK, one) == full.server.about(NACK, one) == []
