"""Cases of profiles: servers with the defaults of other systems, and with times of seconds."""

import asyncio

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.cases.presence import MANAGED
from conformance.play.stage import Stage
from conformance.processes.server import StartError
from conformance.verdicts.reply import Record

CHANGES = ("worker.unreachable", "worker.offline", "worker.deleted", "worker.online")
# Settings of the variants, and the defaults that follow from them.
UNREACHABLE_S, DELETED_S = 1.0, 8.0
OFFLINE_S, STUCK_S = 3 * UNREACHABLE_S, 6 * UNREACHABLE_S
CHECK_S = 0.5
LATE_S = 10.0  # added to limits for a busy machine


async def _handed(stage: Stage, queue: str, worker: str) -> Record:
    """The next job of a queue; the worker beats before each try, or it might not be online."""
    found: list[Record] = []

    async def is_there() -> bool:
        await stage.beat(worker)
        found.extend(await stage.fetch(queue, worker))
        return bool(found)

    await stage.until(is_there, LATE_S, "a job for a worker that beats")
    return found[0]


async def _changes(stage: Stage, worker: str) -> list[Record]:
    """The changes of presence that were told of a worker."""
    events = await stage.events(types=",".join(CHANGES))
    return [event for event in events if event["subject"] == worker]


async def _until_notified(stage: Stage, worker: str, kind: str, within_s: float) -> None:
    async def is_notified() -> bool:
        return kind in [event["type"] for event in await _changes(stage, worker)]

    await stage.until(is_notified, within_s + LATE_S, kind)


async def _until_gone(stage: Stage, worker: str) -> None:
    async def is_gone() -> bool:
        shown = (await stage.get(f"workers/{worker}")).expect(200)
        return bool(shown["worker.state"] == "terminated")

    await stage.until(is_gone, OFFLINE_S + LATE_S, "a silent worker is terminated")


@case(
    *("OJS-PRS-001", "OJS-PRS-002", "OJS-PRS-003"),
    level=1,
    capability=MANAGED,
    own_server="blackboard",
    seconds=90,
)
async def falling_silent(stage: Stage) -> None:
    """Each change of presence is told once, at the times that are set or that follow from them."""
    worker = stage.name("w")
    await stage.beat(worker)
    await _until_notified(stage, worker, "worker.unreachable", UNREACHABLE_S)
    await stage.beat(worker)
    seen = (await stage.get(f"workers/{worker}")).expect(200)["worker"]
    await _until_notified(stage, worker, "worker.deleted", DELETED_S)
    await asyncio.sleep(2 * CHECK_S)  # time in which it could be reported twice
    changes = await _changes(stage, worker)
    names = [event["type"].removeprefix("worker.") for event in changes]
    expected = ["unreachable", "online", "unreachable", "offline", "deleted"]
    stage.equal(names, expected, "changes, each told once")
    before = [event["data"]["previous"] for event in changes]
    stage.equal(before, ["online", *expected[:-1]], "what they were before")
    for event, after_s in zip(changes[2:], (UNREACHABLE_S, OFFLINE_S, DELETED_S), strict=True):
        last_beat = event["data"]["last_heartbeat_at"]
        stage.equal(last_beat, seen["last_heartbeat_at"], "last_heartbeat_at")
        took = seconds_between(last_beat, event["time"])
        stage.check(took >= after_s, f"{event['type']} after {after_s:g} s of silence", took)


@case("OJS-PRS-002", "OJS-PRS-004", level=1, capability=MANAGED, own_server="blackboard")
async def online_by_beating(stage: Stage) -> None:
    """A worker is online from its first BEAT on, and one that is not is handed nothing."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)

    async def presence() -> str:
        shown = (await stage.get(f"workers/{worker}")).expect(200)
        return str(shown["worker.presence"])

    async def is_unreachable() -> bool:
        return await presence() == "unreachable"

    often = {"heartbeat_interval": {"$lte": UNREACHABLE_S / 6}}
    (await stage.post("workers/register", {"worker_id": worker})).expect(200, often)
    stage.check(await presence() != "online", "a worker that is not online", "online")
    stranger = stage.name("w")
    nothing = {"jobs": [], "presence": "unreachable"}
    for unknown in (worker, stranger, stranger):
        (await stage.send_fetch(queue, unknown)).expect(200, nothing)
    stage.equal((await _handed(stage, queue, worker))["id"], job["id"], "the job")
    await stage.enqueue(queue)
    await stage.until(is_unreachable, UNREACHABLE_S + LATE_S, "a silent worker is unreachable")
    (await stage.send_fetch(queue, worker)).expect(
        200, {"jobs": [], "presence": {"$type": "string"}}
    )
    await _handed(stage, queue, worker)
    await stage.enqueue(queue)
    await _until_gone(stage, worker)
    for _ in range(2):
        reply = (await stage.send_fetch(queue, worker)).error(
            409, "conflict", resource_type="worker"
        )
        stage.check("ping" in reply["error.hint"].lower(), "a hint to ping", reply["error.hint"])
    await _handed(stage, queue, worker)


@case("OJS-WRK-040", "OJS-WRK-035", level=1, capability=MANAGED, own_server="jobmanager")
async def fetching_is_living(stage: Stage) -> None:
    """A worker that fetches lives, also while its FETCH is held; the dead come back by one."""
    queue, nothing = stage.name(), stage.name()
    fetching, held, silent = (stage.name(kind) for kind in ("asking", "held", "silent"))
    for worker in (fetching, held, silent):
        await stage.beat(worker)
    lives_s = 2 * OFFLINE_S

    async def hold() -> None:
        (await stage.send_fetch(nothing, held, wait_ms=round(1000 * lives_s))).expect(
            200, {"jobs": []}
        )

    async with stage.waiting(hold()) as (holding,):
        for _ in range(round(lives_s / (UNREACHABLE_S / 4))):
            await stage.empty(nothing, fetching)
            await asyncio.sleep(UNREACHABLE_S / 4)
        await _until_gone(stage, silent)
        await holding
    for worker in (fetching, held):
        seen = (await stage.get(f"workers/{worker}")).expect(200, {"worker.state": "running"})
        stage.equal(seen["worker.incarnation"], 1, "incarnation of one that fetched")
    await stage.enqueue(queue)
    await stage.take(queue, silent)
    seen = (await stage.get(f"workers/{silent}")).expect(200, {"worker.state": "running"})
    stage.equal(seen["worker.incarnation"], 2, "incarnation of one that was dead")


@case("OJS-PRS-001", level=1, capability=MANAGED, own_server="blackboard")
async def defaults_and_no_more(stage: Stage) -> None:
    """A profile changes defaults only: calls mean the same, and a job's own options win."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    retry = {"max_attempts": 2, "initial_interval": "PT0.1S", "jitter": False}
    second = await stage.enqueue(queue, retry=retry)
    for state in ("discarded", "retryable"):
        job = await _handed(stage, queue, worker)
        (await stage.fail(job, worker)).expect(200, {"state": state})
    job = await _handed(stage, queue, worker)
    stage.equal([job["id"], job["attempt"]], [second["id"], 2], "the job that is tried again")
    (await stage.ack(job, worker, result=[1])).expect(200)
    seen = await stage.look(job)
    stage.equal([seen["state"], seen["result"]], ["completed", [1]], "state and result")


@case("OJS-PRS-002", "OJS-PRS-006", level=1, capability=MANAGED, own_server="blackboard")
async def stuck(stage: Stage) -> None:
    """A job that is with a worker for too long fails, however often the worker lists it."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    job = await _handed(stage, queue, worker)

    async def beating() -> None:
        while True:
            await stage.beat(worker, [job])
            await asyncio.sleep(UNREACHABLE_S / 4)

    async with stage.waiting(beating()):
        await stage.until_state(job, "discarded", STUCK_S + LATE_S)
    seen = await stage.look(job)
    stage.equal(seen["error"]["code"], "stuck", "error.code")
    took = seconds_between(job["started_at"], seen["discarded_at"])
    stage.check(took >= STUCK_S, f"{STUCK_S:g} s or more with the worker", took)


@case("OJS-PRS-002", level=1, capability=MANAGED, own_server="disordered", unstarted=True)
async def times_out_of_order(stage: Stage) -> None:
    """A server does not start if its presence times do not rise, and names the two in question."""
    assert stage.process is not None
    try:
        await stage.process.start()
    except StartError:
        output = stage.process.output
        for name in ("unreachable", "offline"):
            stage.check(
                name in output.lower(), f"the name of the time to {name}", output or "nothing"
            )
    else:
        stage.check(False, "a server that does not start", "one that answers")


async def _losing_jobs(stage: Stage) -> None:
    died, left, gone = (stage.name("w") for _ in range(3))
    retry = {"max_attempts": 3, "initial_interval": "PT1H", "max_interval": "PT1H"}

    async def two_held(worker: str) -> list[Record]:
        """A job that has one attempt, as is the default there, and one that has more."""
        queue = stage.name()
        jobs = [await stage.enqueue(queue), await stage.enqueue(queue, retry=retry)]
        for _ in jobs:
            await _handed(stage, queue, worker)
        return jobs

    async def failed(jobs: list[Record], how: str) -> None:
        states = [(await stage.look(job))["state"] for job in jobs]
        stage.equal(states, ["discarded", "retryable"], f"jobs of a worker that {how}")

    of_the_dead = await two_held(died)
    of_the_left = await two_held(left)
    (await stage.post("workers/deregister", {"worker_id": left})).expect(200)
    await failed(of_the_left, "left")
    of_the_gone = await two_held(gone)
    (await stage.delete(f"workers/{gone}")).expect(200)
    await failed(of_the_gone, "was deleted")
    queue = stage.name()
    await stage.enqueue(queue)
    for _ in range(2):
        (await stage.beat(gone)).expect(200, {"registered": False})
    (await stage.send_fetch(queue, gone)).error(409, "conflict", resource_type="worker")
    (await stage.post("workers/register", {"worker_id": gone})).expect(409)
    await stage.until_state(of_the_dead[0], "discarded", OFFLINE_S + LATE_S)
    await failed(of_the_dead, "died")


@case("OJS-PRS-005", "OJS-PRS-009", level=1, capability=MANAGED, own_server="blackboard")
async def lost_with_blackboard(stage: Stage) -> None:
    """Jobs fail with a worker that dies, leaves or is deleted, and a deleted id does not return."""
    await _losing_jobs(stage)


@case("OJS-PRS-005", "OJS-PRS-009", level=1, capability=MANAGED, own_server="jobmanager")
async def lost_with_jobmanager(stage: Stage) -> None:
    """Jobs are lost with their worker, and a deleted id stays deleted, here as with blackboard."""
    await _losing_jobs(stage)
