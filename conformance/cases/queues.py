"""Cases of queues: counts, pausing, and the independence of queues."""

import asyncio
from contextlib import suppress
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import STATES, Record, record


@case("OJS-QUE-002", level=1)
async def joining_the_end(stage: Stage) -> None:
    """A retried job joins the end of its queue; a requeued one returns to its old place."""
    queue = stage.name()
    retry = {"initial_interval_ms": 100, "jitter": False}
    jobs = await stage.enqueue_many(queue, 3, retry=retry)
    ids = [job["id"] for job in jobs]
    (await stage.fail(await stage.take(queue), requeue=True)).expect(200)
    first = await stage.take(queue)
    stage.equal(first["id"], ids[0], "the requeued job first")
    (await stage.fail(first)).expect(200, {"state": "retryable"})
    await stage.until_state(first, "available")
    order = [job["id"] for job in await stage.fetch(queue, count=3)]
    stage.equal(order, [ids[1], ids[2], ids[0]], "order after the retry")


@case("OJS-QUE-003")
async def queues_apart(stage: Stage) -> None:
    """A full or a paused queue delays no FETCH from another."""
    full, paused, other = stage.name(), stage.name(), stage.name()
    await stage.enqueue_many(full, 500)
    (await stage.post(f"queues/{paused}/pause")).expect(200)
    await stage.enqueue(paused)
    job = await stage.enqueue(other)
    stage.equal((await stage.take([paused, other, full]))["id"], job["id"], "the job")
    await stage.empty(other)


async def _known(stage: Stage) -> dict[str, Record]:
    """Return the queues of the list by name, page by page."""
    known: dict[str, Record] = {}
    cursor: dict[str, str] = {}
    while True:
        reply = (await stage.get("queues", **cursor)).expect(200)
        for queue in reply["queues"]:
            each = record(queue, reply)
            known[each["name"]] = each
        if not reply.has("pagination.next_cursor") or not reply["pagination.next_cursor"]:
            return known
        cursor = {"cursor": reply["pagination.next_cursor"]}


@case("OJS-QUE-004")
async def lists_of_queues(stage: Stage) -> None:
    """A queue that has a job is listed as active."""
    queue = stage.name()
    await stage.enqueue(queue)
    known = await _known(stage)
    stage.check(queue in known, f"{queue} in the list", sorted(known))
    stage.equal(known[queue]["status"], "active", "status")


@case("OJS-QUE-005", "OJS-QUE-015")
async def every_known_queue(stage: Stage) -> None:
    """Every queue that was used or paused is listed with its status and counts."""
    used, paused = stage.name(), stage.name()
    await stage.enqueue(used)
    (await stage.post(f"queues/{paused}/pause")).expect(200)
    listed: dict[str, Any] = {}
    cursor: dict[str, str] = {}
    while True:
        reply = (await stage.get("queues", limit=1000, **cursor)).expect(200)
        listed |= {queue["name"]: queue for queue in reply["queues"]}
        if not reply.has("pagination.next_cursor"):
            break
        cursor = {"cursor": reply["pagination.next_cursor"]}
    for name, status, available in ((used, "active", 1), (paused, "paused", 0)):
        stage.check(name in listed, f"{name} in the list", sorted(listed))
        entry = (await stage.get(f"queues/{name}")).expect(200)["queue"]
        for queue in (listed[name], entry):
            stage.equal(queue["status"], status, "status")
            stage.equal(queue["paused"], status == "paused", "paused")
            stage.equal(queue["counts"]["available"], available, "counts.available")
            stage.check(bool(queue["created_at"]), "created_at", queue)


@case("OJS-QUE-006", "OJS-QUE-009", level=4)
async def counts(stage: Stage) -> None:
    """The counts of a queue have every answered change in them."""
    queue = stage.name()
    for _ in range(3):
        await stage.enqueue(queue)

    async def are(available: int, active: int, completed: int) -> None:
        expected = {"available": available, "active": active, "completed": completed}
        members = {f"queue.{name}": number for name, number in expected.items()}
        reply = await stage.get(f"queues/{queue}/stats")
        reply.expect(200, {"queue.name": {"$eq": queue}, **members})

    await are(3, 0, 0)
    taken = await stage.take(queue)
    await are(2, 1, 0)
    (await stage.ack(taken)).expect(200)
    await are(2, 0, 1)


@case("OJS-QUE-008", "OJS-QUE-009", "OJS-QUE-016", level=1)
async def counts_of_every_state(stage: Stage) -> None:
    """The counts have every answered change in them, and depth those that still come."""
    queue = stage.name()
    await stage.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    await stage.enqueue(queue, pending=True)
    retry = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    jobs = await stage.enqueue_many(queue, 6, retry=retry)
    for job, settle in zip(
        await stage.fetch(queue, count=5), ("ack", "ack", "fail", "last", "hold"), strict=True
    ):
        if settle == "ack":
            (await stage.ack(job)).expect(200)
        elif settle != "hold":
            error = {"message": "m", "retryable": settle == "fail"}
            (await stage.fail(job, error=error)).expect(200)
    reply = (await stage.get(f"queues/{queue}/stats")).expect(
        200, {"queue.name": {"$eq": queue}, "queue.paused": False, "queue.depth": 3}
    )
    expected = {
        "scheduled": 1,
        "available": 1,
        "pending": 1,
        "active": 1,
        "completed": 2,
        "retryable": 1,
        "cancelled": 0,
        "discarded": 1,
    }
    stage.equal({name: reply[f"queue.{name}"] for name in STATES}, expected, "counts")
    (await stage.delete(f"jobs/{jobs[5]['id']}")).expect(200)
    reply = (await stage.get(f"queues/{queue}/stats")).expect(200)
    reply.expect(200, {"queue.available": 0, "queue.cancelled": 1, "queue.depth": 2})


@case("OJS-QUE-007")
async def counts_for_clients(stage: Stage) -> None:
    """With an OJS-Version header `queue` is the name, and the counts stand flat and in stats."""
    queue = stage.name()
    await stage.enqueue_many(queue, 2)
    reply = await stage.call("GET", f"queues/{queue}/stats", headers={"OJS-Version": "1.0"})
    reply.expect(200, {"queue": {"$eq": queue}, "stats.available": 2, "available": 2})


@case("OJS-QUE-014", level=1)
async def the_last_hour(stage: Stage) -> None:
    """The statistics of a queue include those of the last hour."""
    queue = stage.name()
    numbers = ("avg_duration_ms", "avg_wait_ms", "throughput_per_second")
    await stage.discarded(queue)
    await stage.done(queue)

    async def counted() -> bool:
        reply = await stage.get(f"queues/{queue}/stats")
        reply.expect(200, {f"stats.{name}": {"$type": "number"} for name in numbers})
        return bool(reply.json["stats"].get("completed_last_hour"))

    await stage.until(counted, 60, "the jobs of the last hour")
    expected = {"stats.completed_last_hour": 1, "stats.failed_last_hour": 1}
    (await stage.get(f"queues/{queue}/stats")).expect(200, expected)


@case("OJS-QUE-014", level=1)
async def throughput(stage: Stage) -> None:
    """Sixty jobs completed within a minute are one a second."""
    many = 60
    shown = 0.0
    for _ in range(3):
        queue = stage.name()
        await stage.enqueue_many(queue, many)
        for job in await stage.fetch(queue, count=many):
            (await stage.ack(job)).expect(200)

        async def counted(queue: str = queue) -> bool:
            reply = (await stage.get(f"queues/{queue}/stats")).expect(200)
            return bool(reply["stats.completed_last_hour"] == many)

        await stage.until(counted, 60, "the jobs of the last hour")
        reply = await stage.get(f"queues/{queue}/stats")
        shown = reply["stats.throughput_per_second"]
        # An estimate may be off at the end of a minute of the clock, so try again in the next.
        if abs(shown - 1) < 0.01:
            return
    stage.check(False, "a throughput of 1 per second", shown)


@case("OJS-QUE-010", "OJS-QUE-011", level=4, capability="pause_resume")
async def pausing(stage: Stage) -> None:
    """A paused queue hands nothing out until it is resumed; a job that is held goes on."""
    queue = stage.name()
    made = {(await stage.enqueue(queue))["id"] for _ in range(2)}
    held = await stage.take(queue)
    (await stage.post(f"queues/{queue}/pause")).expect(200)
    await stage.empty(queue)
    (await stage.ack(held)).expect(200)
    await stage.empty(queue)
    (await stage.post(f"queues/{queue}/resume")).expect(200)
    stage.equal([(await stage.take(queue))["id"]], list(made - {held["id"]}), "the other job")


@case("OJS-QUE-012", level=4, capability="pause_resume")
async def answers_to_a_pause(stage: Stage) -> None:
    """The answers to a pause and a resume say how the queue is now."""
    queue = stage.name()
    await stage.enqueue(queue)
    for call, paused in (("pause", True), ("resume", False)):
        reply = await stage.post(f"queues/{queue}/{call}")
        reply.expect(200, {"queue.name": {"$eq": queue}, "queue.paused": paused})


@case("OJS-QUE-014", level=1, seconds=150)
async def the_last_minute(stage: Stage) -> None:
    """The throughput of the last minute is never more than what was completed at all."""
    queue, count = stage.name(), 6
    for _ in range(count):
        await stage.done(queue)
    found: list[float] = []

    async def is_counted() -> bool:
        stats = (await stage.get(f"queues/{queue}/stats")).expect(200)["stats"]
        found.append(60 * stats["throughput_per_second"])
        return found[-1] > 0

    await stage.until(is_counted, 60, "a throughput")
    # A minute of the clock ends meanwhile, and what was counted in it counts in part.
    for _ in range(13):
        await asyncio.sleep(5)
        await is_counted()
    stage.check(max(found) < count + 0.5, f"{count} completed a minute at most", found)


@case("OJS-QUE-017", "OJS-QUE-018", level=4, capability="pause_resume")
async def pausing_again(stage: Stage) -> None:
    """Pausing and resuming works on a queue that was never used, and repeated."""
    queue = stage.name()
    for call, paused, moment in (
        ("pause", True, "paused_at"),
        ("pause", True, "paused_at"),
        ("resume", False, "resumed_at"),
        ("resume", False, "resumed_at"),
    ):
        (await stage.post(f"queues/{queue}/{call}")).expect(
            200,
            {
                "queue.name": {"$eq": queue},
                "queue.paused": paused,
                "status": "paused" if paused else "active",
                moment: "string:datetime",
            },
        )
    await stage.enqueue(queue)
    await stage.take(queue)


@case("OJS-QUE-010", "OJS-FET-011", level=4, capability="pause_resume")
async def pausing_while_fetching(stage: Stage) -> None:
    """Once a pause is answered nothing more comes out of the queue, however many ask."""
    queue = stage.name()
    made = {(await stage.enqueue(queue))["id"] for _ in range(200)}
    handed, paused = asyncio.Event(), asyncio.Event()
    early: list[str] = []
    late: list[str] = []

    async def worker(number: int) -> None:
        while True:
            began_after = paused.is_set()
            taken = await stage.fetch(queue, f"w-{number}", count=2)
            (late if began_after else early).extend(job["id"] for job in taken)
            if taken:
                handed.set()
            if began_after:
                return
            await asyncio.sleep(0.005)

    async with stage.waiting(*(worker(number) for number in range(8))) as workers:
        with suppress(TimeoutError):
            await asyncio.wait_for(handed.wait(), 10)
        stage.check(bool(early), "jobs handed out before the pause", early)
        (await stage.post(f"queues/{queue}/pause")).expect(200)
        paused.set()
        ended, unanswered = await asyncio.wait(workers, timeout=20)
        stage.equal(len(unanswered), 0, "FETCHes without an answer")
        for each in ended:
            each.result()
    stage.equal(late, [], "jobs handed out after the pause")
    (await stage.post(f"queues/{queue}/resume")).expect(200)
    while taken := await stage.fetch(queue, count=100):
        early.extend(job["id"] for job in taken)
    stage.equal([len(early), set(early) == made], [200, True], "each job once, before or later")


@case("OJS-QUE-013", level=4, capability="priority_queues")
async def priorities(stage: Stage) -> None:
    """The jobs of a queue are counted by priority, as far as that is cheap."""
    queue = stage.name()
    path = f"queues/{queue}/priority-stats"
    (await stage.get(path)).error(404, "not_found")
    for priority, count in ((0, 2), (-5, 1), (100, 3)):
        await stage.enqueue_many(queue, count, priority=priority)
    (await stage.push(queue=queue, delay_until="+PT1H")).expect(201)
    await stage.take(queue)
    found = (await stage.get(path)).expect(200, {"queue": {"$eq": queue}, "total": 5})
    stage.equal(found["counts_by_priority"], {"100": 2, "0": 2, "-5": 1}, "counts_by_priority")
    listed = [(count["priority"], count["count"]) for count in found["distribution"]]
    stage.equal(listed, [(100, 2), (0, 2), (-5, 1)], "distribution")
    stage.equal(found["counts_are_exact"], True, "counts_are_exact")
    await stage.enqueue_many(queue, 999)
    more = (await stage.get(path)).expect(200, {"total": 1004})
    exact = more["counts_are_exact"] and more["counts_by_priority"]["0"] == 1001
    bounded = not more["counts_are_exact"] and more["counts_by_priority"]["0"] >= 1000
    stage.check(exact or bounded, "1001 jobs, or 1000 and that there are more", more.text)
