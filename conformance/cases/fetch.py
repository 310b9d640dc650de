"""Cases of FETCH: the jobs that it returns, their order, the worker, and how long it waits."""

import asyncio
import json
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import moment, seconds_between
from conformance.cases.visibility import taken_back
from conformance.play.stage import Stage


@case("OJS-FET-001")
async def queues_are_named(stage: Stage) -> None:
    """A FETCH that names no queues is refused."""
    for queues in ([], None, "default", [1]):
        (await stage.post("workers/fetch", {"queues": queues})).expect(400)
    (await stage.post("workers/fetch", {})).expect(400)


@case("OJS-FET-028")
async def names_of_queues(stage: Stage) -> None:
    """A FETCH names up to 100 queues, each by a name that a queue can have."""
    for queues in (["q"] * 101, ["Bad Name"]):
        (await stage.post("workers/fetch", {"queues": queues})).error(400, "invalid_request")
    many = [stage.name() for _ in range(100)]
    (await stage.send_fetch(many)).expect(200, {"jobs": []})


@case("OJS-FET-026")
async def nothing_to_hand_out(stage: Stage) -> None:
    """A FETCH that finds nothing is answered with an empty array."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.send_fetch(stage.name())).expect(200, {"jobs": []})


@case("OJS-FET-006", "OJS-FET-007")
async def jobs_are_whole(stage: Stage) -> None:
    """The answer has the whole job, which is active and in its first delivery."""
    queue = stage.name()
    args = ["text", {"deep": [None, 1.5]}, True]
    job = await stage.enqueue(queue, args=args, meta={"key": "value"})
    reply = (await stage.send_fetch(queue, stage.name("w"))).expect(200, {"jobs": {"$size": 1}})
    taken = reply["jobs"][0]
    expected = {"id": job["id"], "type": "test.case", "queue": queue, "args": args}
    stage.equal({name: taken.get(name) for name in expected}, expected, "the job")
    stage.equal(taken["meta"]["key"], "value", "meta")
    stage.equal(taken["state"], "active", "state")
    stage.equal(taken["attempt"], 1, "attempt")
    stage.check("started_at" in taken, "started_at", taken)


@case("OJS-FET-002", "OJS-FET-003")
async def count(stage: Stage) -> None:
    """At most as many jobs come as were asked for, one by default, also without a worker_id."""
    queue = stage.name()
    for _ in range(6):
        await stage.enqueue(queue)
    for requested in (None, 3, 1):
        found = len(
            await (stage.fetch(queue, count=requested) if requested else stage.fetch(queue))
        )
        stage.check(1 <= found <= (requested or 1), f"1 to {requested or 1} jobs", found)


@case("OJS-FET-029", "OJS-FET-032")
async def counts_and_batch_sizes(stage: Stage) -> None:
    """A FETCH brings as many jobs as `count` or `batch_size` says, up to 1000."""
    queue = stage.name()
    await stage.enqueue_many(queue, 10)
    stage.equal(len(await stage.fetch(queue)), 1, "jobs without count")
    stage.equal(len(await stage.fetch(queue, count=3)), 3, "jobs for count 3")
    stage.equal(len(await stage.fetch(queue, batch_size=2)), 2, "jobs for batch_size 2")
    stage.equal(len(await stage.fetch(queue, count=1000)), 4, "jobs for count 1000")
    for wrong in (0, -1, 1001, "2", 1.5, True):
        (await stage.send_fetch(queue, count=wrong)).error(400, "invalid_request")


@case("OJS-FET-004")
async def job_types(stage: Stage) -> None:
    """With job_types only jobs of these types come, and the others stay where they are."""
    queue = stage.name()
    kinds = ("kind.a", "kind.b", "kind.c")
    jobs = {kind: await stage.enqueue(queue, type=kind) for kind in kinds}
    taken = await stage.fetch(queue, count=5, job_types=["kind.b", "kind.x"])
    stage.equal([job["id"] for job in taken], [jobs["kind.b"]["id"]], "jobs")
    rest = [job["type"] for job in await stage.fetch(queue, count=5)]
    stage.equal(rest, ["kind.a", "kind.c"], "what was left, in order")


@case("OJS-FET-004")
async def many_job_types(stage: Stage) -> None:
    """A FETCH may name a thousand job types, and gets their jobs in the order of the queue."""
    queue = stage.name()
    first = await stage.enqueue(queue, type="kind.n999")
    await stage.enqueue(queue, type="other")
    last = await stage.enqueue(queue, type="kind.n0")
    kinds = [f"kind.n{number}" for number in range(1000)]
    taken = await stage.fetch(queue, count=5, job_types=kinds)
    stage.equal([job["id"] for job in taken], [first["id"], last["id"]], "jobs")
    (await stage.send_fetch(queue, job_types=[*kinds, "kind"])).error(400, "invalid_request")


@case("OJS-FET-005", "OJS-VIS-002", level=1)
async def leases_that_were_asked_for(stage: Stage) -> None:
    """A lease is as long as FETCH says, or else as the job says."""
    short = {"visibility_timeout_ms": 4_000}
    for own, request in ((short, {}), ({}, short)):
        queue = stage.name()
        job = await stage.enqueue(queue, **own)
        began = time.monotonic()
        await stage.take(queue, stage.name("w"), **request)
        await asyncio.sleep(1)
        state = (await stage.look(job))["state"]
        # On a busy machine the answer may come after the lease.
        if time.monotonic() - began < 3.9:
            stage.equal(state, "active", "state while the lease runs")
        await taken_back(stage, job)


@case("OJS-FET-031", level=1)
async def lengths_of_leases(stage: Stage) -> None:
    """FETCH's visibility timeout wins over the job's, and the job's over the server's."""

    async def seconds(own: int | None, fetch: dict[str, Any]) -> float:
        queue = stage.name()
        await stage.enqueue(queue, **({"visibility_timeout_ms": own} if own else {}))
        taken = await stage.take(queue, **fetch)
        return seconds_between(taken["started_at"], taken["lease_expires_at"])

    stage.equal(await seconds(70_000, {}), 70.0, "seconds, by the job")
    stage.equal(await seconds(70_000, {"visibility_timeout_ms": 0}), 70.0, "seconds, 0 in FETCH")
    stage.equal(await seconds(70_000, {"visibility_timeout_ms": 90_000}), 90.0, "by FETCH")
    stage.equal(await seconds(None, {"visibility_timeout": "PT2M"}), 120.0, "by FETCH")
    beat = await stage.beat(stage.name("w"))
    stage.equal(await seconds(None, {}), float(beat["visibility_timeout"]), "by the server")


@case("OJS-FET-008")
async def queues_in_order(stage: Stage) -> None:
    """A queue is looked at once those that FETCH names before it are empty."""
    first, second, third = (stage.name() for _ in range(3))
    jobs = {queue: await stage.enqueue(queue) for queue in (third, first, second)}
    named = [first, second, third]
    taken = [(await stage.take(named))["id"] for _ in named]
    stage.equal(taken, [jobs[queue]["id"] for queue in named], "order")


@case("OJS-FET-027", "OJS-QUE-001", level=4, capability="priority_queues")
async def order(stage: Stage) -> None:
    """Jobs come by their priority, and among equals who came first."""
    queue = stage.name()
    low = await stage.enqueue(queue, priority=-5)
    plain = [await stage.enqueue(queue) for _ in range(3)]
    high = await stage.enqueue(queue, priority=10)
    expected = [high["id"], *(job["id"] for job in plain), low["id"]]
    taken = [(await stage.take(queue))["id"] for _ in expected]
    stage.equal(taken, expected, "order")


@case("OJS-FET-034", level=4, capability="priority_queues")
async def priority_outranks_age(stage: Stage) -> None:
    """Of two priorities one always comes first, whichever job joined the queue before the other."""
    first = list[int]()
    for priorities in ((-5, 10), (10, -5)):
        queue = stage.name()
        jobs = {(await stage.enqueue(queue, priority=each))["id"]: each for each in priorities}
        first.append(jobs[(await stage.take(queue))["id"]])
    stage.equal(first[1], first[0], "the priority that comes first in the other order")


@case(
    *("OJS-FET-008", "OJS-FET-032", "OJS-FET-027", "OJS-QUE-001", "OJS-QUE-003"),
    level=4,
    capability="priority_queues",
)
async def order_in_one_answer(stage: Stage) -> None:
    """The jobs of one answer stand in the order of queues, priority and age, as single ones do."""
    first, second = stage.name(), stage.name()
    low = await stage.enqueue(second, priority=-5)
    plain = [await stage.enqueue(second) for _ in range(3)]
    high = await stage.enqueue(second, priority=10)
    other = await stage.enqueue(first, priority=-100)
    taken = await stage.fetch([first, second], count=10)
    expected = [other["id"], high["id"], *(job["id"] for job in plain), low["id"]]
    stage.equal([job["id"] for job in taken], expected, "order")
    for job in taken:
        (await stage.fail(job, requeue=True)).expect(200)
    singly = [(await stage.take([first, second]))["id"] for _ in expected]
    stage.equal(singly, expected, "order, one at a time")


@case("OJS-QUE-001")
async def first_in_first_out(stage: Stage) -> None:
    """Jobs of one queue and priority are handed out in the order of joining, ids aside."""
    queue = stage.name()
    ids = sorted((stage.new_id() for _ in range(8)), reverse=True)
    for chosen in ids:
        await stage.enqueue(queue, id=chosen)
    taken = [(await stage.take(queue))["id"] for _ in range(8)]
    stage.equal(taken, ids, "order")


@case("OJS-FET-024", level=1, alone=True, seconds=60)
async def due_beside_many(stage: Stage) -> None:
    """The next FETCH hands out a due job, however many others are due at the same time."""
    crowd, queue, worker = stage.name(), stage.name(), stage.name("w")

    async def now() -> datetime:
        return moment((await stage.beat(worker))["server_time"])

    for _ in range(4):
        due = await now() + timedelta(seconds=2)
        for _ in range(2):
            await stage.enqueue_many(crowd, 1000, scheduled_at=due.isoformat())
        last = due + timedelta(milliseconds=1)
        job = await stage.enqueue(queue, scheduled_at=last.isoformat())
        # Poll the server's clock, which counts; the first FETCH after that time must find the job.
        await asyncio.sleep(max(0.0, (last - await now()).total_seconds() - 0.05))
        for _ in range(10_000):
            if await now() >= last:
                break
        taken = await stage.take(queue, worker)
        stage.equal(taken["id"], job["id"], "the job that is due")


@case("OJS-FET-009", "OJS-VIS-001", "OJS-LIF-018")
async def thirty_two_fetchers(stage: Stage) -> None:
    """Of 32 workers that fetch at once no two get the same delivery, and no job is left out."""
    queue = stage.name()
    jobs = [await stage.enqueue(queue) for _ in range(100)]

    async def worker(number: int) -> list[str]:
        mine: list[str] = []
        while taken := await stage.fetch(queue, f"w-{number}", count=1 + number % 3):
            mine += [job["id"] for job in taken]
        return mine

    held = await asyncio.gather(*(worker(number) for number in range(32)))
    # One that lost every race may have gone with nothing.
    held.append(await worker(32))
    times = Counter(job for mine in held for job in mine)
    twice = {job: number for job, number in times.items() if number > 1}
    stage.equal(twice, {}, "jobs handed out twice")
    stage.equal(sorted(times), sorted(job["id"] for job in jobs), "jobs handed out")


@case("OJS-FET-009")
async def one_job_for_many(stage: Stage) -> None:
    """Of 32 fetches for a single job exactly one gets it, again and again."""
    queue = stage.name()
    for _ in range(10):
        await stage.enqueue(queue)
        taken = await asyncio.gather(*(stage.fetch(queue, f"w-{n}") for n in range(32)))
        stage.equal(sum(map(len, taken)), 1, "deliveries")


@case("OJS-FET-012", "OJS-WRK-004", level=1)
async def quiet_workers_get_nothing(stage: Stage) -> None:
    """A worker that reported quiet or terminate gets nothing until it is running again."""
    for state in ("quiet", "terminate"):
        queue, worker = stage.name(), stage.name("w")
        await stage.enqueue(queue)
        await stage.beat(worker, state=state)
        (await stage.send_fetch(queue, worker)).expect(200, {"jobs": [], "state": state})
        await stage.beat(worker, state="running")
        await stage.take(queue, worker)
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    await stage.beat(worker, state="quiet")
    (await stage.post("workers/register", {"worker_id": worker})).expect(200)
    await stage.take(queue, worker)


@case("OJS-FET-014", "OJS-FET-017", level=0, capability="long_poll")
async def waiting_has_an_end(stage: Stage) -> None:
    """A FETCH waits as long as it asked, and is then answered with nothing."""
    queue = stage.name()
    for wait, least, most in ((None, 0, 2000), (0, 0, 2000), (600, 550, 3000)):
        more: dict[str, Any] = {} if wait is None else {"wait_ms": wait}
        reply = (await stage.send_fetch(queue, **more)).expect(200, {"jobs": []})
        took = reply.duration_ms
        stage.check(least <= took <= most, f"{least} to {most} ms for wait_ms {wait}", took)


@case("OJS-FET-015", capability="long_poll")
async def waiting_is_cut(stage: Stage) -> None:
    """A wait beyond the maximum, which the manifest names, is cut to it and not refused."""
    longest = (stage.manifest.get("limits") or {}).get("max_wait_ms")
    stage.check(isinstance(longest, int) and longest > 0, "limits.max_wait_ms", longest)
    queue = stage.name()
    async with stage.waiting(stage.send_fetch(queue, wait_ms=10_000_000)) as (waiter,):
        await asyncio.sleep(0.3)
        stage.check(not waiter.done(), "a FETCH that waits", "it was answered")
        await stage.enqueue(queue)
        expected = {"jobs": {"$size": 1}, "granted_wait_ms": longest}
        (await asyncio.wait_for(waiter, 5)).expect(200, expected)


@case("OJS-FET-023", capability="fetch_lines")
async def one_job_a_line(stage: Stage) -> None:
    """Jobs come one a line where Accept asks for it, and a last line has the other members."""
    queue, lines = stage.name(), "application/x-ndjson"
    jobs = [await stage.enqueue(queue, args=["one\ntwo"]) for _ in range(2)]
    body = {"queues": [queue], "count": 5, "wait_ms": 10_000_000}
    reply = (await stage.post("workers/fetch", body, Accept=lines)).expect(200)
    stage.equal(reply.headers["content-type"].partition(";")[0], lines, "Content-Type")
    *found, last = [json.loads(line) for line in reply.text.splitlines()]
    stage.equal([line["id"] for line in found], [job["id"] for job in jobs], "jobs")
    stage.equal(found[0]["args"], ["one\ntwo"], "args")
    stage.check("granted_wait_ms" in last, "granted_wait_ms in the last line", last)
    nothing = await stage.post("workers/fetch", {"queues": [queue]}, Accept=lines)
    stage.equal(nothing.expect(200).text, "", "lines of an empty answer")
    refused = await stage.post("workers/fetch", {"queues": ["-"]}, Accept=lines)
    refused.error(400, "invalid_request", field="queues")


@case("OJS-FET-016", capability="long_poll", alone=True)
async def waiters_are_woken_by_enqueue(stage: Stage) -> None:
    """A waiting FETCH has the job a moment after it was enqueued."""
    queue, delays = stage.name(), list[float]()
    for _ in range(5):
        async with stage.waiting(stage.send_fetch(queue, wait_ms=10_000)) as (waiter,):
            await asyncio.sleep(0.15)
            started = time.monotonic()
            job = await stage.enqueue(queue)
            reply = (await asyncio.wait_for(waiter, 5)).expect(200, {"jobs": {"$size": 1}})
            delays.append(time.monotonic() - started)
            stage.equal(reply["jobs[0].id"], job["id"], "the job")
    # A busy machine may delay some of them; a server that only polls delays all.
    stage.check(min(delays) < 0.4, "woken, not found by a slow poll", delays)


@case("OJS-FET-016", level=1, capability="long_poll")
async def waiters_are_woken_by_all_else(stage: Stage) -> None:
    """Promotion, retry, requeue, a lost lease and a resumed queue wake a waiting FETCH."""
    queue = stage.name()

    async def woken(after_s: float) -> None:
        reply = (await stage.send_fetch(queue, wait_ms=10_000)).expect(200, {"jobs": {"$size": 1}})
        took = reply.duration_ms / 1000
        stage.check(took < after_s + 4, f"an answer within {after_s + 4} s", took)
        (await stage.ack(reply["jobs[0].id"])).expect(200)

    await stage.enqueue(queue, scheduled_at="+PT0.6S")
    await woken(0.6)
    await stage.enqueue(queue, retry={"initial_interval": "PT0.6S", "jitter": False})
    (await stage.fail(await stage.take(queue))).expect(200)
    await woken(0.6)
    await stage.enqueue(queue)
    await stage.take(queue, visibility_timeout_ms=600)
    await woken(0.6)
    await stage.enqueue(queue)
    held = await stage.take(queue)
    async with stage.waiting(woken(0.2)) as (waiter,):
        await asyncio.sleep(0.2)
        (await stage.fail(held, requeue=True)).expect(200)
        await waiter
    (await stage.post(f"queues/{queue}/pause")).expect(200)
    await stage.enqueue(queue)
    async with stage.waiting(woken(0.2)) as (waiter,):
        await asyncio.sleep(0.2)
        (await stage.post(f"queues/{queue}/resume")).expect(200)
        await waiter


@case("OJS-FET-017", "OJS-JOB-011", "OJS-DUR-008", own_server="main", seconds=120)
async def stopping_answers_waiters(stage: Stage) -> None:
    """A server that is told to stop answers every waiting call at once, and ends with 0."""
    assert stage.process is not None
    queue = stage.name()
    job = await stage.enqueue(stage.name())
    result = stage.get(f"jobs/{job['id']}/result", wait="true", timeout=25)
    fetches = [stage.send_fetch(queue, wait_ms=25_000) for _ in range(5)]
    async with stage.waiting(result, *fetches) as waiters:
        await asyncio.sleep(2.5)  # time for all of them to arrive, also on a slow machine
        started = time.monotonic()
        code = await stage.process.stop()
        replies = await asyncio.wait_for(asyncio.gather(*waiters), 5)
        took = time.monotonic() - started
    for reply in replies[1:]:
        reply.expect(200, {"jobs": []})
    replies[0].expect((202, 408, 503))
    stage.check(took < 10, "an end within 10 s", took)
    stage.equal(code, 0, "exit code")


@case("OJS-FET-018", capability="long_poll")
async def waiters_that_hung_up_get_nothing(stage: Stage) -> None:
    """A waiting FETCH whose connection has closed is given no job."""
    queue = stage.name()
    for _ in range(5):
        async with stage.waiting(stage.send_fetch(queue, wait_ms=10_000)):
            await asyncio.sleep(0.15)
        await asyncio.sleep(0.1)
        job = await stage.enqueue(queue)
        reply = (await stage.send_fetch(queue, wait_ms=2_000)).expect(200, {"jobs": {"$size": 1}})
        stage.equal(reply["jobs[0].id"], job["id"], "the job")


@case("OJS-FET-019", "OJS-FET-020", "OJS-FET-021")
async def asking_again(stage: Stage) -> None:
    """A FETCH that is repeated with its fetch_id gets the jobs that it was given, and no more."""
    queue, worker, fetch = stage.name(), stage.name("w"), stage.name("f")
    await stage.enqueue_many(queue, 5)
    first = await stage.fetch(queue, worker, count=2, fetch_id=fetch)
    again = await stage.fetch(queue, worker, count=2, fetch_id=fetch)
    stage.equal([job["id"] for job in again], [job["id"] for job in first], "the same jobs")
    for name in ("attempt", "lease_expires_at", "started_at"):
        stage.equal([job[name] for job in again], [job[name] for job in first], name)
    (await stage.ack(first[0], worker)).expect(200)
    left = await stage.fetch(queue, worker, count=2, fetch_id=fetch)
    stage.equal([job["id"] for job in left], [first[1]["id"]], "those that are still held")
    other = await stage.fetch(queue, stage.name("w"), count=2, fetch_id=fetch)
    stage.equal(len(other), 2, "jobs for another worker with the same fetch_id")
    (await stage.ack(first[1], worker)).expect(200)
    fresh = await stage.fetch(queue, worker, count=2, fetch_id=fetch)
    stage.equal(len(fresh), 1, "jobs of a new FETCH, once none is held")
    for wrong in ("", "x" * 256, 7, "a\nb"):
        (await stage.send_fetch(queue, worker, fetch_id=wrong)).error(400, "invalid_request")
