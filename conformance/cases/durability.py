"""Cases of durability: the state after a crash and after a stop."""

import asyncio
import time
from contextlib import suppress

from conformance.case import case
from conformance.cases.lifecycle import moment
from conformance.play.stage import Stage
from conformance.verdicts.reply import CheckFailed, Record


@case("OJS-DUR-002", "OJS-DUR-010", "OJS-LIF-017", own_server="main", seconds=200, alone=True)
async def kills_under_load(stage: Stage) -> None:
    """Killed while many enqueue, fetch and settle, the server has lost no answered change."""
    assert stage.process is not None
    queue = stage.name()
    enqueued: dict[str, int] = {}
    settled: set[str] = set()

    async def produce(number: int) -> None:
        count = 0
        while True:
            count += 1
            reply = await stage.push(queue=queue, args=[number, count])
            if reply.status == 201:
                enqueued[reply["job.id"]] = count

    async def consume(number: int) -> None:
        worker = f"w-{number}"
        while True:
            for job in await stage.fetch(queue, worker, count=2, wait_ms=200):
                if (await stage.ack(job, worker, attempt=job["attempt"])).status == 200:
                    settled.add(job["id"])

    for _ in range(3):
        work = [produce(number) for number in range(6)] + [consume(n) for n in range(4)]
        async with stage.waiting(*work) as tasks:
            await asyncio.sleep(1.0)
            await stage.process.kill()
            with suppress(CheckFailed):
                await asyncio.wait(tasks, timeout=5)
        await stage.process.start()
    stage.check(len(settled) > 5, "enough settled jobs to mean anything", len(settled))
    for job in settled:
        stage.equal((await stage.look(job))["state"], "completed", "state of an answered ACK")
    for job in list(enqueued)[-200:]:
        state = (await stage.look(job))["state"]
        stage.check(state in ("available", "active", "completed"), "a job that works", state)
    counts = (await stage.get(f"queues/{queue}/stats")).expect(200)["queue"]
    events = await stage.events(queue, types="job.completed")
    stage.equal(len(events), counts["completed"], "events for as many completions as are counted")
    stage.check(counts["completed"] >= len(settled), "at least the answered ones", counts)


@case("OJS-DUR-008", "OJS-DUR-009", own_server="main", seconds=150, alone=True)
async def stops_lose_nothing(stage: Stage) -> None:
    """A server stopped under load answers or refuses every call, and keeps all answered changes."""
    assert stage.process is not None
    queue = stage.name()
    answered: list[str] = []

    async def produce() -> None:
        with suppress(CheckFailed):
            while True:
                reply = await stage.push(queue=queue)
                reply.expect((201, 503))
                if reply.status == 201:
                    answered.append(reply["job.id"])

    job = await stage.enqueue(queue, args=["held"])
    held = await stage.take(queue, "w")
    async with stage.waiting(*(produce() for _ in range(8))):
        await asyncio.sleep(0.7)
        code = await stage.process.stop()
    stage.equal(code, 0, "exit code")
    await stage.process.start()
    stage.equal((await stage.look(held))["state"], "active", "state of the held job")
    (await stage.ack(job, "w", attempt=1)).expect(200)
    for made in answered[-100:]:
        stage.equal((await stage.look(made))["state"], "available", "state")
    counts = (await stage.get(f"queues/{queue}/stats")).expect(200)["queue"]
    stage.check(counts["available"] >= len(answered), "all that were answered", counts)


@case("OJS-DUR-005", "OJS-VIS-012", level=1)
async def one_clock(stage: Stage) -> None:
    """The moments of a job's life never go backwards, whatever its client says of time."""
    queue = stage.name()
    job = await stage.enqueue(queue, created_at="2001-01-01T00:00:00Z")
    await stage.take(queue)
    (await stage.ack(job, completed_at="2001-01-01T00:00:00Z")).expect(200)
    seen = await stage.look(job)
    names = ("created_at", "enqueued_at", "started_at", "completed_at")
    moments = [moment(seen[name]) for name in names]
    stage.equal(moments, sorted(moments), "moments in order")
    times = [moment(event["time"]) for event in await stage.events(queue)]
    stage.equal(times, sorted(times), "times of events in order")
    stage.check(moments[0].year >= 2020, "the server's own moments", dict(seen))


@case("OJS-DUR-007")
async def waiting_jobs_stay(stage: Stage) -> None:
    """A job that has not ended stays, while others end and are read around it."""
    queue = stage.name()
    waiting = {"scheduled_at": "2099-01-01T00:00:00Z"} if stage.claims("delayed_jobs") else {}
    # Each in a queue of its own: a server that lets one wait in another way hands it out nowhere.
    kept = [await stage.enqueue(stage.name(), **more) for more in (waiting, {"pending": True}, {})]
    for _ in range(5):
        await stage.done(queue)
    for job in kept:
        stage.equal((await stage.look(job))["state"], job["state"], "state")


@case("OJS-DUR-003", "OJS-QUE-009", "OJS-IDM-010", own_server="nodes", seconds=120)
async def two_servers_are_one(stage: Stage) -> None:
    """Two servers over one database at once see what the other one stored."""
    async with stage.second_server() as other:
        queue, chosen = stage.name(), stage.new_id()
        job = await stage.enqueue(queue)
        taken = await other.take(queue, "w")
        stage.equal(taken["id"], job["id"], "the job")
        await stage.beat("w", [job])
        (await stage.ack(job, "w", attempt=1, result=[1])).expect(200)
        stage.equal((await other.look(job))["result"], [1], "result")
        (await other.get(f"queues/{queue}/stats")).expect(200, {"queue.completed": 1})
        await other.enqueue_many(queue, 100)

        async def worker(on: Stage) -> list[str]:
            mine: list[str] = []
            while found := await on.fetch(queue, count=3):
                mine += [each["id"] for each in found]
            return mine

        held = await asyncio.gather(*(worker(on) for on in (stage, other) * 8))
        ids = [each for mine in held for each in mine]
        stage.equal([len(ids), len(set(ids))], [100, 100], "deliveries, and different jobs")
        body = {"type": "test.case", "args": [], "queue": queue, "id": chosen}
        replies = await asyncio.gather(*(on.post("jobs", body) for on in (stage, other) * 8))
        statuses = sorted(reply.status for reply in replies)
        stage.equal(statuses, [200] * 15 + [201], "statuses of equal requests on both")


@case("OJS-DUR-004", "OJS-FET-016", own_server="nodes", seconds=120)
async def waiters_at_another_server(stage: Stage) -> None:
    """A FETCH that waits at one server is woken by a job that another one stored."""
    async with stage.second_server() as other:
        queue = stage.name()
        for on, at in ((stage, other), (other, stage)):
            async with stage.waiting(at.send_fetch(queue, wait_ms=15_000)) as (waiter,):
                await asyncio.sleep(0.4)
                started = time.monotonic()
                job = await on.enqueue(queue)
                reply = (await asyncio.wait_for(waiter, 10)).expect(200, {"jobs": {"$size": 1}})
                took = time.monotonic() - started
            stage.equal(reply["jobs[0].id"], job["id"], "the job")
            stage.check(took < 3, "soon after it was stored", took)


@case(
    *("OJS-DUR-006", "OJS-DLQ-003", "OJS-DLQ-012", "OJS-EVT-012"),
    level=1,
    own_server="brief",
    seconds=180,
)
async def retention(stage: Stage) -> None:
    """Ended jobs are kept for the retention that is set, dead letters by their policy."""
    queue = stage.name()
    done = await stage.done(queue)
    gone = await stage.enqueue(queue)
    (await stage.delete(f"jobs/{gone['id']}")).expect(200)
    dead = await stage.discarded(queue)
    kept = await stage.discarded(queue, retry={"on_exhaustion": "dead_letter"})
    waiting = await stage.enqueue(queue)
    for job in (done, gone, dead):

        async def is_gone(job: Record = job) -> bool:
            return (await stage.get(f"jobs/{job['id']}")).status == 404

        await stage.until(is_gone, 15, "a removed job")

    async def no_events() -> bool:
        return not await stage.events(queue, types="job.completed")

    await stage.until(no_events, 120, "no event left")
    (await stage.get(f"dead-letter/{kept['id']}")).expect(200)
    stage.equal((await stage.look(waiting))["state"], "available", "state of a waiting job")
