"""Cases of bounded queues: jobs that are refused, wait, or are dropped, and their events."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.cases.workflows import drained
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

BOUNDS = "backpressure"
# Events of a job that was dropped to make room.
ENDS = ("backpressure.dropped", "job.discarded", "dead_letter.added")


async def bounded(stage: Stage, **policy: Any) -> str:
    """A new queue with a bound."""
    queue = stage.name()
    settings = {"backpressure": policy}
    # Of the paths of this call, the one of the published text and cases.
    (await stage.call("PUT", f"admin/queues/{queue}/config", settings)).expect(200)
    return queue


def refused(reply: Reply) -> None:
    """Require the refusal of a full queue, as far as it is published."""
    reply.expect(429, {"error.code": "QUEUE_FULL"})
    for name in ("retry-after", "x-ojs-queue-depth", "x-ojs-queue-bound"):
        if name not in reply.headers:
            reply.fail(f"header:{name}", "this header", "nothing")


def full(reply: Reply, **members: object) -> Reply:
    """Require the refusal of a full queue."""
    expected = {f"error.{name}": value for name, value in members.items()}
    reply.error(429, "QUEUE_FULL").expect(429, expected)
    for name in ("x-ojs-queue-depth", "x-ojs-queue-bound"):
        if name not in reply.headers:
            reply.fail(f"header:{name}", "this header", "nothing")
    reply.seconds_to_wait()
    return reply


@case("OJS-BPR-001", "OJS-BPR-003", capability=BOUNDS)
async def bounds_by_number(stage: Stage) -> None:
    """A queue is bounded by the number of jobs that wait, those for a later time as well."""
    queue = await bounded(stage, max_depth=2, strategy="reject")
    first = await stage.enqueue(queue)
    delayed = stage.claims("delayed_jobs")  # of another level
    await stage.enqueue(queue, **({"scheduled_at": "2099-01-01T00:00:00Z"} if delayed else {}))
    refused(await stage.push(queue=queue))
    (await stage.delete(f"jobs/{first['id']}")).expect(200)
    await stage.enqueue(queue)


@case(
    "OJS-BPR-001",
    "OJS-BPR-003",
    "OJS-BPR-008",
    "OJS-BPR-011",
    "OJS-BPR-012",
    "OJS-BPR-017",
    capability=BOUNDS,
)
async def bounds_by_number_and_size(stage: Stage) -> None:
    """A queue is bounded by the number or the size of waiting jobs; held ones do not count."""
    queue = await bounded(stage, max_depth=2, strategy="reject")
    await stage.enqueue(queue)
    await stage.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    at_two = await stage.push(queue=queue)
    full(at_two, queue={"$eq": queue}, depth=2, bound=2, strategy="reject")
    stage.equal(at_two.headers["x-ojs-queue-depth"], "2", "X-OJS-Queue-Depth")
    stage.equal(at_two.headers["x-ojs-queue-bound"], "2", "X-OJS-Queue-Bound")
    await stage.take(queue)
    await stage.enqueue(queue)
    stats = (await stage.get(f"queues/{queue}/stats")).expect(200)["stats"]
    expected = {"depth": 2, "max_depth": 2, "strategy": "reject"}
    stage.equal({name: stats.get(name) for name in expected}, expected, "stats")
    stage.equal(float(stats["pressure"]), 1.0, "pressure")
    sized = await bounded(stage, max_size_bytes=1000, strategy="reject")
    await stage.enqueue(sized, args=["x" * 600])
    full(await stage.push(queue=sized, args=["x" * 600]))
    await stage.enqueue(sized, args=["x" * 10])
    stats = (await stage.get(f"queues/{sized}/stats")).expect(200)["stats"]
    stage.check(600 < stats["bytes"] <= 1000, "bytes", stats)
    stage.equal(stats["max_size_bytes"], 1000, "max_size_bytes")


@case("OJS-BPR-011", "OJS-BPR-017", capability=BOUNDS, own_server="main")
async def bounds_that_come_later(stage: Stage) -> None:
    """A bound counts the jobs that came before the server had settings of any queue."""
    queue = stage.name()
    await stage.enqueue(queue, args=["x" * 600])
    settings = {"backpressure": {"max_size_bytes": 1000, "strategy": "reject"}}
    (await stage.call("PUT", f"queues/{queue}/config", settings)).expect(200)
    full(await stage.push(queue=queue, args=["x" * 600]))
    stats = (await stage.get(f"queues/{queue}/stats")).expect(200)["stats"]
    stage.check(600 < stats["bytes"] <= 1000, "bytes", stats)


@case("OJS-BPR-004", capability=BOUNDS)
async def batches_fit_whole(stage: Stage) -> None:
    """A batch that does not fit as a whole is refused, and none of its jobs is stored."""
    stage.need(stage.claims("batch_enqueue"), "the server does not claim batches")
    queue = await bounded(stage, max_depth=3, strategy="reject")
    jobs = [{"type": "test.case", "args": [], "queue": queue}] * 2
    (await stage.post("jobs/batch", {"jobs": jobs})).expect(201)
    (await stage.post("jobs/batch", {"jobs": jobs})).expect(429)
    stage.equal(len(await drained(stage, queue)), 2, "jobs stored")


@case("OJS-BPR-002", "OJS-BPR-004", "OJS-BPR-013", capability=BOUNDS)
async def bounds_are_hard(stage: Stage) -> None:
    """Many producers at once never take a queue past its bound; a batch fits whole or not."""
    queue = await bounded(stage, max_depth=10, strategy="reject")
    replies = await asyncio.gather(*(stage.push(queue=queue) for _ in range(40)))
    statuses = sorted(reply.status for reply in replies)
    stage.equal(statuses, [201] * 10 + [429] * 30, "statuses")
    other, key = await bounded(stage, max_depth=3, strategy="reject"), stage.name("key")
    jobs = [{"type": "test.case", "args": [], "queue": other}] * 2
    (await stage.post("jobs/batch", {"jobs": jobs})).expect(201)
    full(await stage.post("jobs/batch", {"jobs": jobs}, Idempotency_Key=key))
    stage.equal(len(await stage.fetch(other, count=9)), 2, "jobs stored")
    (await stage.post("jobs/batch", {"jobs": jobs}, Idempotency_Key=key)).expect(201)


@case("OJS-BPR-005", capability=BOUNDS)
async def blocking(stage: Stage) -> None:
    """With block an enqueue waits for room, as long as its header says."""
    queue = await bounded(stage, max_depth=1, strategy="block")
    body = {"type": "test.case", "args": [], "queue": queue}
    first = await stage.enqueue(queue)
    late = (await stage.post("jobs", body, OJS_Block_Timeout="1")).expect(429)
    stage.check(late.duration_ms >= 900, "a second of waiting", late.duration_ms)
    async with stage.waiting(stage.post("jobs", body, OJS_Block_Timeout="20")) as (waiter,):
        await asyncio.sleep(0.3)
        (await stage.delete(f"jobs/{first['id']}")).expect(200)
        (await asyncio.wait_for(waiter, 10)).expect(201)


@case("OJS-BPR-005", "OJS-BPR-014", capability=BOUNDS)
async def waiting_for_room(stage: Stage) -> None:
    """With block an enqueue waits for room up to its limit; one that can never fit is refused."""
    queue = await bounded(stage, max_depth=1, strategy="block")
    body = {"type": "test.case", "args": [], "queue": queue}
    await stage.enqueue(queue)
    full(await stage.post("jobs", body, OJS_Block_Timeout="0"))
    usual = full(await stage.post("jobs", body))
    stage.check(4_900 <= usual.duration_ms <= 9_000, "five seconds of waiting", usual.duration_ms)
    late = full(await stage.post("jobs", body, OJS_Block_Timeout="1"))
    stage.check(late.duration_ms >= 900, "a second of waiting", late.duration_ms)
    async with stage.waiting(stage.post("jobs", body, OJS_Block_Timeout="20")) as (waiter,):
        await asyncio.sleep(0.3)
        await stage.take(queue)
        (await asyncio.wait_for(waiter, 10)).expect(201)
    never = full(await stage.post("jobs/batch", {"jobs": [body] * 2}, OJS_Block_Timeout="20"))
    stage.check(never.duration_ms < 10_000, "an answer at once", never.duration_ms)


@case("OJS-BPR-006", capability=BOUNDS)
async def the_oldest_makes_room(stage: Stage) -> None:
    """With drop_oldest the oldest available job is discarded, and the new one is taken."""
    queue = await bounded(stage, max_depth=2, strategy="drop_oldest")
    jobs = [await stage.enqueue(queue) for _ in range(3)]
    states = [(await stage.look(job))["state"] for job in jobs]
    stage.equal(states, ["discarded", "available", "available"], "states of the jobs")


@case("OJS-BPR-006", "OJS-BPR-015", "OJS-BPR-018", "OJS-DLQ-013", capability=BOUNDS)
async def dropping_the_oldest(stage: Stage) -> None:
    """With drop_oldest the longest available jobs make room; where that is not enough none does."""
    queue = await bounded(stage, max_depth=2, strategy="drop_oldest")
    first = await stage.enqueue(queue, priority=50)
    second = await stage.enqueue(queue)
    await stage.enqueue(queue)
    gone = await stage.look(first)
    stage.equal([gone["state"], gone["error"]["type"]], ["discarded", "queue_full"], "the oldest")
    stage.equal((await stage.look(second))["state"], "available", "state of the next")
    types = [event["type"] for event in await stage.events(queue)]
    ends = [kind for kind in types if kind in ENDS]
    stage.equal(ends, list(ENDS), "how the oldest ended")
    later = await bounded(stage, max_depth=1, strategy="drop_oldest")
    await stage.enqueue(later, scheduled_at="2099-01-01T00:00:00Z")
    full(await stage.push(queue=later))


@case("OJS-BPR-007", capability=BOUNDS)
async def warnings(stage: Stage) -> None:
    """Between the threshold and the bound an enqueue is told the depth, the bound and how full."""
    queue = await bounded(stage, max_depth=10, strategy="reject", warning_threshold=0.5)
    for _ in range(6):
        (await stage.push(queue=queue)).expect(201)
    reply = (await stage.push(queue=queue)).expect(201)
    for name in ("x-ojs-queue-depth", "x-ojs-queue-bound", "x-ojs-queue-pressure"):
        stage.check(name in reply.headers, name, reply.headers)
    pressure = float(reply.headers["x-ojs-queue-pressure"])
    stage.check(0 <= pressure <= 1, "a pressure from 0 to 1", pressure)


@case("OJS-BPR-009", capability=BOUNDS)
async def events_of_refusals(stage: Stage) -> None:
    """An event tells that an enqueue was refused."""
    stage.need(stage.claims("events"), "the server does not claim events, which it need not tell")
    queue = await bounded(stage, max_depth=1, strategy="reject")
    await stage.enqueue(queue)
    (await stage.push(queue=queue)).expect(429)

    async def is_reported() -> bool:
        reported = await stage.events(types="backpressure.rejected")
        mine = [event["data"] for event in reported if event["data"].get("queue") == queue]
        return any({"depth", "bound"} <= set(data) for data in mine)

    await stage.until(is_reported, 8, "backpressure.rejected")


@case("OJS-BPR-007", "OJS-BPR-009", "OJS-BPR-016", "OJS-BPR-018", capability=BOUNDS)
async def pressure(stage: Stage) -> None:
    """From the threshold on enqueues are told the pressure; events tell when it comes and goes."""
    queue = await bounded(stage, max_depth=5, strategy="reject")
    for number in range(1, 6):
        reply = (await stage.push(queue=queue)).expect(201)
        pressure = reply.headers.get("x-ojs-queue-pressure")
        if number < 4:
            stage.equal(pressure, None, f"X-OJS-Queue-Pressure at {number} of 5")
        else:
            stage.equal(float(pressure or 0), number / 5, "X-OJS-Queue-Pressure")
            stage.equal(reply.headers.get("x-ojs-queue-depth"), str(number), "X-OJS-Queue-Depth")
            stage.equal(reply.headers.get("x-ojs-queue-bound"), "5", "X-OJS-Queue-Bound")
    full(await stage.push(queue=queue))
    await stage.fetch(queue, count=4)
    types = [event["type"] for event in await stage.events(queue, types="backpressure.*")]
    expected = ["backpressure.warning", "backpressure.rejected", "backpressure.cleared"]
    stage.equal(types, expected, "events")


@case("OJS-BPR-010", level=1, capability=BOUNDS)
async def only_enqueues_are_refused(stage: Stage) -> None:
    """A requeue, a retry and a dead-letter retry take a full queue past its bound."""
    queue = await bounded(stage, max_depth=1, strategy="reject")
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.take(queue)
    await stage.enqueue(queue)
    (await stage.fail(job, requeue=True)).expect(200, {"state": "available"})
    full(await stage.push(queue=queue), depth=2)
    held = await stage.take(queue)
    (await stage.fail(held)).expect(200, {"state": "discarded"})
    (await stage.post(f"dead-letter/{held['id']}/retry", {})).expect(200)
    full(await stage.push(queue=queue), depth=2)
