"""Jobs whose answer is so old that the server may have given them to another worker."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ojs_worker import Worker
from ojs_worker.environment import Environment, machine
from ojs_worker.job import Job
from ojs_worker.running import beats
from ojs_worker.running.lease_check import Bounds
from tests.worker.bad_handlers import waits_there
from tests.worker.conftest import Start
from tests.worker.scripted import (
    ACK,
    BEAT,
    FETCH,
    NACK,
    PUBLIC,
    REGISTER,
    SETTLE,
    Json,
    ScriptedServer,
    job,
)

Make = Callable[..., Worker]
KEPT, LOST = job(1, "note"), job(2, "note")


class Sleep:
    """A clock of elapsed time, which the machine's sleep moves on."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.slept_s


@pytest.fixture
def sleep() -> Sleep:
    return Sleep()


def beside(sleep: Sleep) -> Environment:
    """The machine's environment, on a machine that sleeps."""
    return msgspec.structs.replace(machine(), elapsed=sleep)


class Stage:
    """A worker that records the jobs it begins, and a server whose answers arrive after a sleep."""

    def __init__(self, worker: Worker, server: ScriptedServer, sleep: Sleep) -> None:
        self.worker = worker
        self.server = server
        self.sleep = sleep
        self.begun: list[str] = []
        self.lost = {LOST["id"]}
        # True if the answers to BEATs have a list of lost jobs.
        self.says_lost = True
        server.answers[BEAT] = self.beaten

        @worker.job("note")
        async def note(ctx: Any) -> None:
            self.begun.append(ctx.job.id)

    def beaten(self, body: Json) -> tuple[int, Json]:
        lost = [one for one in body["active_job_ids"] if one in self.lost]
        said = {"jobs_lost": lost} if self.says_lost else {}
        return 200, {"state": body["state"], **said}

    def slept_upon(self, seconds: float, *jobs: Json) -> None:
        """Answer the next FETCH with jobs, and let the worker sleep before it reads them."""

        def answer(body: Json) -> tuple[int, Json]:
            del self.server.answers[FETCH]
            self.sleep.slept_s += seconds
            return 200, {"jobs": list(jobs)}

        self.server.answers[FETCH] = answer

    def listed(self, one: Json) -> list[Json]:
        """The BEATs that list a job."""
        return [call.body for call in self.server.of(BEAT) if one["id"] in _listed(call.body)]

    def silent(self, one: Json) -> bool:
        """True if no outcome of the job was reported and its handler was not begun."""
        told = [*self.server.about(ACK, one), *self.server.about(NACK, one)]
        return not told and one["id"] not in self.begun


def _listed(body: Json) -> list[str]:
    listed: list[str] = body["active_job_ids"]
    return listed


@pytest.fixture
def make_stage(make_worker: Make, scripted: ScriptedServer, sleep: Sleep) -> Callable[..., Stage]:
    def make(**settings: Any) -> Stage:
        return Stage(make_worker(environment=beside(sleep), **settings), scripted, sleep)

    return make


async def test_an_old_answer_is_asked_about_before_its_jobs_begin(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    # No BEAT of its own comes while the test lasts.
    stage = make_stage(heartbeat_interval=3600)
    stage.slept_upon(31, KEPT, LOST)
    async with start(stage.worker):
        await scripted.settled(KEPT)
        asked = [scripted.calls.index(call) for call in scripted.of(BEAT)][-1]
        acked = scripted.calls.index(scripted.of(ACK)[0])
        assert set(_listed(scripted.calls[asked].body)) == {KEPT["id"], LOST["id"]}
        assert asked < acked
    assert stage.begun == [KEPT["id"]]
    assert stage.silent(LOST)


async def test_a_fresh_answer_costs_no_beat(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(heartbeat_interval=3600)
    stage.slept_upon(29, KEPT)
    async with start(stage.worker):
        await scripted.settled(KEPT)
        assert len(scripted.of(BEAT)) == 1


LEASE: Json = {
    "started_at": "2030-01-31T09:00:00.000Z",
    "lease_expires_at": "2030-01-31T09:00:02.500Z",
}


@pytest.mark.parametrize(
    ("told", "settings", "members"),
    [
        ({"heartbeat_timeout": 2}, {}, {}),
        ({"visibility_timeout_default": 2}, {}, {}),
        ({}, {"visibility_timeout": 2}, {}),
        ({}, {}, LEASE),
        ({}, {}, {"heartbeat_timeout": 2}),
    ],
    ids=["dead", "usual lease", "asked lease", "told lease", "heartbeat of the job"],
)
async def test_each_bound_counts(
    make_stage: Callable[..., Stage],
    scripted: ScriptedServer,
    start: Start,
    told: Json,
    settings: Json,
    members: Json,
) -> None:
    stage = make_stage(heartbeat_interval=3600, **settings)
    scripted.answers[REGISTER] = lambda body: (200, {"ok": True, **told})
    stage.slept_upon(3, {**KEPT, **members})
    async with start(stage.worker):
        await scripted.settled(KEPT)
        assert stage.listed(KEPT)


def test_the_shortest_bound_counts() -> None:
    bounds = Bounds(40.0)
    assert bounds.of(Job(id="1", type="a")) == 30
    bounds.learn(dead_after_s=60, lease_s=20)
    assert bounds.of(Job(id="1", type="a")) == 40
    assert bounds.of(Job(id="1", type="a", **LEASE)) == 2.5
    assert bounds.of(Job(id="1", type="a", heartbeat_timeout=7)) == 7
    bounds.learn(dead_after_s=-1, lease_s="soon")
    nonsense: Json = {"started_at": "once", "lease_expires_at": "2030-01-31T09:00:02.500"}
    assert bounds.of(Job(id="1", type="a", heartbeat_timeout="PT7S", **nonsense)) == 40


async def test_a_repeated_fetch_is_as_old_as_its_first_try(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(heartbeat_interval=3600)

    def unheard(body: Json) -> None:
        stage.slept_upon(0, LOST, KEPT)
        stage.sleep.slept_s += 31

    scripted.answers[FETCH] = unheard
    async with start(stage.worker):
        await scripted.settled(KEPT)
    first, again = (call.body["fetch_id"] for call in scripted.of(FETCH)[:2])
    assert first == again
    assert stage.silent(LOST)


async def test_jobs_that_come_with_a_settle_call_age_as_well(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(heartbeat_interval=3600, concurrency=1)
    first = job(3, "note")

    def settled(body: Json) -> tuple[int, Json]:
        del scripted.answers[SETTLE]
        stage.sleep.slept_s += 31
        results = [{"job_id": one["job_id"], "attempt": 1} for one in body["results"]]
        return 200, {"results": results, "jobs": [LOST]}

    scripted.answers[SETTLE] = settled
    async with start(stage.worker):
        await scripted.offer(first)
        await scripted.until(lambda: stage.listed(LOST))
        await scripted.offer(KEPT)
        await scripted.settled(KEPT)
    assert stage.begun == [first["id"], KEPT["id"]]


async def test_without_an_answer_to_the_beat_nothing_begins(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage()
    stage.slept_upon(31, KEPT)
    tries = 0

    def away(body: Json) -> tuple[int, Json] | None:
        nonlocal tries
        if KEPT["id"] not in body["active_job_ids"]:
            return stage.beaten(body)
        tries += 1
        return None if tries < 4 else stage.beaten(body)

    scripted.answers[BEAT] = away
    async with start(stage.worker):
        await scripted.until(lambda: tries == 3)
        assert not stage.begun
        await scripted.settled(KEPT)
    assert tries >= 4


async def test_an_answer_that_was_slept_upon_itself_is_not_enough(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(heartbeat_interval=3600)
    stage.slept_upon(31, LOST, KEPT)
    stage.lost.clear()

    def slept(body: Json) -> tuple[int, Json]:
        if stage.listed(LOST):
            scripted.answers[BEAT] = stage.beaten
            answer = stage.beaten(body)
            stage.lost.add(LOST["id"])
            stage.sleep.slept_s += 31
            return answer
        return stage.beaten(body)

    scripted.answers[BEAT] = slept
    async with start(stage.worker):
        await scripted.settled(KEPT)
    assert len(stage.listed(KEPT)) >= 2
    assert stage.silent(LOST)


async def test_a_server_that_does_not_tell_of_lost_jobs_ends_their_leases_itself(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    scripted.paths = PUBLIC
    stage = make_stage(concurrency=1)
    stage.says_lost = False
    stage.slept_upon(31, LOST)
    async with start(stage.worker):
        await scripted.offer(KEPT)
        await scripted.settled(KEPT)
    assert stage.silent(LOST)


@pytest.mark.parametrize("told", ["lost", "kept"])
async def test_a_server_that_tells_which_leases_go_on_is_believed(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start, told: str
) -> None:
    stage = make_stage(concurrency=1)
    stage.slept_upon(31, LOST)
    extended = [LOST["id"]] if told == "kept" else []
    scripted.answers[BEAT] = lambda body: (200, {"jobs_extended": extended})
    async with start(stage.worker):
        await scripted.offer(KEPT)
        await scripted.settled(KEPT)
    assert stage.silent(LOST) is (told == "lost")


async def test_a_lost_job_is_not_begun_by_workers_that_finish_late_ones(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(stop_lost=False, auto_extend=False)
    stage.slept_upon(31, LOST, KEPT)
    async with start(stage.worker):
        await scripted.settled(KEPT)
    assert stage.silent(LOST)


async def test_a_job_in_doubt_is_given_back_at_the_end(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage(grace=0.05)
    stage.slept_upon(31, KEPT)

    def away(body: Json) -> tuple[int, Json] | None:
        return None if KEPT["id"] in body["active_job_ids"] else stage.beaten(body)

    scripted.answers[BEAT] = away
    async with start(stage.worker) as running:
        await scripted.until(lambda: stage.listed(KEPT))
        running.begin_shutdown()
        assert (await scripted.settled(KEPT, NACK))["requeue"] is True
    assert not stage.begun


async def test_time_in_doubt_is_no_time_of_the_handler(
    make_stage: Callable[..., Stage], scripted: ScriptedServer, start: Start
) -> None:
    stage = make_stage()
    stage.slept_upon(31, {**KEPT, "timeout": 0.2})
    beats = 0

    def rarely(body: Json) -> tuple[int, Json] | None:
        nonlocal beats
        beats += KEPT["id"] in body["active_job_ids"]
        return stage.beaten(body) if not beats or beats > 8 else None

    scripted.answers[BEAT] = rarely
    async with start(stage.worker):
        await scripted.settled(KEPT)
    assert not scripted.about(NACK, KEPT)


async def test_jobs_that_wait_for_a_process_are_asked_about(
    make_worker: Make, scripted: ScriptedServer, start: Start, sleep: Sleep, tmp_path: Path
) -> None:
    gate, marks = tmp_path / "gate", tmp_path / "marks"
    first = job(3, "waits.there", [str(gate), str(marks), "first"])
    kept = job(1, "waits.there", [str(gate), str(marks), "kept"])
    lost = job(2, "waits.there", [str(gate), str(marks), "lost"])
    worker = make_worker(environment=beside(sleep), processes=1, heartbeat_interval=3600)
    worker.job("waits.there", run_in="process")(waits_there)
    scripted.answers[BEAT] = lambda body: (
        200,
        {"jobs_lost": [lost["id"]] if sleep.slept_s and lost["id"] in _listed(body) else []},
    )
    await scripted.offer(first, lost, kept)
    async with start(worker):
        await scripted.until(lambda: any("progress" in call.path for call in scripted.calls))
        # The worker sleeps until another one has had the job that waits.
        sleep.slept_s += 31
        gate.write_text("open")
        await scripted.settled(first)
        await scripted.settled(kept)
    assert marks.read_text().split() == ["first", "kept"]


async def test_jobs_by_hand_are_asked_about(
    make_stage: Callable[..., Stage], scripted: ScriptedServer
) -> None:
    stage = make_stage(long_poll=0.05)
    stage.slept_upon(31, LOST)
    async with stage.worker.manual() as manual:
        assert await manual.fetch_one() is None
        assert stage.listed(LOST)
        stage.slept_upon(31, KEPT)
        claimed = await manual.fetch_one()
        assert claimed is not None
        assert stage.listed(KEPT)
        await claimed.ack()
    assert scripted.about(ACK, KEPT)


async def test_a_beat_is_due_though_the_machine_slept(
    make_stage: Callable[..., Stage],
    scripted: ScriptedServer,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beats, "LOOK_S", 0.01)
    stage = make_stage(heartbeat_interval=3600)
    async with start(stage.worker):
        await scripted.until(lambda: scripted.of(BEAT))
        stage.sleep.slept_s += 3600
        await scripted.until(lambda: len(scripted.of(BEAT)) == 2)
