"""Cases of dead letters: lists, retries and deletion."""

import asyncio

from conformance.case import case
from conformance.play.stage import Stage

KEPT = 3  # limit of the variant


@case("OJS-DLQ-001", "OJS-DLQ-002", "OJS-DLQ-004", "OJS-DLQ-005", level=1)
async def every_discarded_job(stage: Stage) -> None:
    """Every discarded job is a dead letter, whole, whatever its policy says."""
    queue = stage.name()
    jobs = [
        await stage.discarded(queue, args=[policy], meta={"kept": policy}, x_own=1, retry=retry)
        for policy, retry in (
            ("discard", {"on_exhaustion": "discard"}),
            ("dead_letter", {"on_exhaustion": "dead_letter"}),
            ("none", {}),
        )
    ]
    expired = await stage.enqueue(queue, expires_at="2001-01-01T00:00:00Z")
    await stage.until_state(expired, "discarded", 3)
    reply = (await stage.get("dead-letter", queue=queue)).expect(200)
    listed = [job["id"] for job in reply["jobs"]]
    expected = [expired["id"], *(job["id"] for job in reversed(jobs))]
    stage.equal(listed, expected, "the latest discarded first")
    for job in jobs:
        single = (await stage.get(f"dead-letter/{job['id']}")).expect(200)
        stage.equal(single["job"], dict(await stage.look(job)), "the whole envelope")
        stage.equal(len(single["job.errors"]), 1, "entries of the history")
        stage.equal(single["job.x_own"], 1, "a member of its own")


@case("OJS-DLQ-004", level=1)
async def filters(stage: Stage) -> None:
    """Dead letters can be chosen by queue and by type."""
    first, second = stage.name(), stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    dead = await stage.discarded(first, type=kind)
    two = await stage.discarded(second, type=kind)
    await stage.discarded(first)
    for query, expected in (
        ({"type": kind}, [two["id"], dead["id"]]),
        ({"type": kind, "queue": first}, [dead["id"]]),
        ({"queue": second}, [two["id"]]),
        ({"queue": stage.name()}, []),
    ):
        reply = (await stage.get("dead-letter", **query)).expect(200)
        stage.equal([job["id"] for job in reply["jobs"]], expected, f"dead letters for {query}")


@case("OJS-DLQ-006", "OJS-DLQ-007", "OJS-LIF-014", "OJS-QUE-002", level=1)
async def trying_again(stage: Stage) -> None:
    """A retried dead letter is available at the end of its queue with fresh attempts."""
    queue = stage.name()
    job = await stage.discarded(queue, expires_at="2099-01-01T00:00:00Z")
    before = await stage.enqueue(queue)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(
        200,
        {
            "job.id": {"$eq": job["id"]},
            "job.type": "test.case",
            "job.queue": {"$eq": queue},
            "job.state": "available",
            "job.attempt": 0,
            "job.max_attempts": 1,
            "job.re_enqueued_at": "string:datetime",
        },
    )
    seen = await stage.look(job)
    stage.equal(len(seen["errors"]), 1, "entries of the history")
    for name in ("error", "retry_delay_ms", "expires_at", "discarded_at", "completed_at"):
        stage.check(name not in seen, f"no {name}", seen)
    order = [taken["id"] for taken in await stage.fetch(queue, count=2)]
    stage.equal(order, [before["id"], job["id"]], "order")
    (await stage.get(f"dead-letter/{job['id']}")).error(404, "not_found")
    (await stage.fail(job)).expect(200, {"state": "discarded", "attempt": 1})
    stage.equal(len((await stage.look(job))["errors"]), 2, "entries of the history")


@case("OJS-DLQ-008", "OJS-DLQ-009", level=1)
async def deleting(stage: Stage) -> None:
    """A deleted dead letter is gone for good; what is no dead letter is 404 in every call."""
    queue = stage.name()
    job = await stage.discarded(queue)
    (await stage.delete(f"dead-letter/{job['id']}")).expect(
        200, {"deleted": True, "job_id": {"$eq": job["id"]}}
    )
    (await stage.get(f"jobs/{job['id']}")).error(404, "not_found")
    waiting = await stage.enqueue(queue)
    for known in (job["id"], waiting["id"], stage.new_id(), "nothing"):
        for reply in (
            await stage.get(f"dead-letter/{known}"),
            await stage.post(f"dead-letter/{known}/retry", {}),
            await stage.delete(f"dead-letter/{known}"),
        ):
            reply.error(404, "not_found", resource_type="dead_letter_job")
    stage.equal((await stage.look(waiting))["state"], "available", "state")


@case("OJS-DLQ-010", level=1)
async def one_of_two_wins(stage: Stage) -> None:
    """Of calls that retry or delete the same dead letter at once one succeeds."""
    queue = stage.name()
    for _ in range(5):
        job = await stage.discarded(queue)
        calls = [stage.post(f"dead-letter/{job['id']}/retry", {}) for _ in range(5)]
        calls += [stage.delete(f"dead-letter/{job['id']}") for _ in range(5)]
        replies = await asyncio.gather(*calls)
        stage.equal(sum(reply.status == 200 for reply in replies), 1, "calls that succeeded")
        for reply in replies:
            reply.expect((200, 404))
        for left in await stage.fetch(queue, count=5):
            (await stage.ack(left)).expect(200)


@case("OJS-DLQ-013", "OJS-EVT-005", level=1)
async def events_of_dead_letters(stage: Stage) -> None:
    """A dead letter that comes into being is told after the job was discarded."""
    queue = stage.name()
    await stage.discarded(queue)
    types = [event["type"] for event in await stage.events(queue)]
    stage.equal(types[-2:], ["job.discarded", "dead_letter.added"], "the last events")


@case("OJS-DLQ-011", "OJS-DLQ-012", "OJS-DLQ-013", level=1, own_server="small", seconds=400)
async def only_so_many(stage: Stage) -> None:
    """Of dead letters that are to stay a queue keeps the latest, and tells of those that go."""
    queue, other = stage.name(), stage.name()
    stays = {"on_exhaustion": "dead_letter"}
    uncounted = [await stage.discarded(queue) for _ in range(KEPT + 1)]
    many = [await stage.discarded(queue, retry=stays) for _ in range(KEPT + 2)]
    few = [await stage.discarded(other, retry=stays) for _ in range(KEPT)]

    async def listed(name: str) -> list[str]:
        reply = (await stage.get("dead-letter", queue=name, limit=100)).expect(200)
        return [job["id"] for job in reply["jobs"]]

    async def are_removed() -> bool:
        return len(await listed(queue)) <= len(uncounted) + KEPT

    # A server may prune rarely, and most do so at their start.
    await stage.crash()
    await stage.until(are_removed, 300, "what is too much is removed")
    left = [job["id"] for job in (*uncounted, *many[-KEPT:])]
    stage.equal(await listed(queue), left[::-1], "what is left, the latest first")
    stage.equal(await listed(other), [job["id"] for job in few][::-1], "another queue")
    events = await stage.events(queue, types="dead_letter.pruned")
    found = {event["subject"]: event["data"]["reason"] for event in events}
    stage.equal(found, {job["id"]: "count" for job in many[:-KEPT]}, "what was told")


@case("OJS-DLQ-014", "OJS-DLQ-020", level=1)
async def statistics(stage: Stage) -> None:
    """The dead letters are counted by queue and by error, with their ages and retention."""
    queue, kind = stage.name(), stage.name("error")
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.take(queue)
    (await stage.fail(job, error={"type": kind, "message": "m"})).expect(200)
    reply = (await stage.get("dead-letter/stats")).expect(
        200,
        {
            "total": "number:positive",
            "oldest_at": "string:datetime",
            "newest_at": "string:datetime",
            "retention.max_age": "exists",
            "retention.max_count": "exists",
        },
    )
    stage.check(queue in str(reply["by_queue"]), "the queue", reply["by_queue"])
    stage.check("by_error_type" in reply.json, "by_error_type", reply.text[:300])
    stage.check("next_prune_at" in reply["retention"], "next_prune_at", reply["retention"])
    sizes = [group["count"] for group in reply["groups"]]
    stage.equal(sizes, sorted(sizes, reverse=True), "sizes of groups")
    mine = [group for group in reply["groups"] if group["error_type"] == kind]
    # A group this small may be missing in the list, which ends after a hundred.
    if mine or len(sizes) < 100:
        found = [(group["type"], group["count"], group["newest_id"]) for group in mine]
        stage.equal(found, [(job["type"], 1, job["id"])], "the group of the error")


@case("OJS-DLQ-016", level=1)
async def changing_what_is_tried_again(stage: Stage) -> None:
    """A retry may change queue, arguments, meta and policy; a wrong change changes nothing."""
    queue, other = stage.name(), stage.name()
    job = await stage.discarded(queue, args=[1], meta={"a": 1, "b": 1})
    path = f"dead-letter/{job['id']}/retry"
    for wrong, status in (
        ({"priority": 5}, 422),
        ({"args": "x"}, 400),
        ({"queue": "Not A Queue"}, 400),
        ({"retry": {"max_attempts": -1}}, 422),
    ):
        (await stage.post(path, {"override": wrong})).expect(status)
    stage.equal(dict(await stage.look(job)), dict(job), "the dead letter")
    change = {"queue": other, "args": [2], "meta": {"b": 2}, "retry": {"max_attempts": 7}}
    (await stage.post(path, {"override": change})).expect(200)
    taken = await stage.take(other)
    found = [taken["id"], taken["args"], taken["meta"], taken["max_attempts"]]
    stage.equal(found, [job["id"], [2], {"a": 1, "b": 2}, 7], "the job that is tried again")


@case("OJS-DLQ-017", "OJS-DLQ-018", level=1)
async def many_at_once(stage: Stage) -> None:
    """Dead letters are retried and deleted by ids or filter, the longest discarded first."""
    queue = stage.name()
    dead = [(await stage.discarded(queue))["id"] for _ in range(4)]
    waiting = await stage.enqueue(stage.name())
    body = {"job_ids": [dead[3], waiting["id"]]}
    reply = await stage.call("DELETE", "dead-letter", body)
    reply.expect((200, 207), {"succeeded": 1})
    stage.equal((await stage.look(waiting))["state"], "available", "a job that is no dead letter")
    (await stage.post("dead-letter/retry", {"filter": {"queue": queue}})).expect(400)
    again = {"filter": {"queue": queue}, "confirm": True}
    (await stage.post("dead-letter/retry", again)).expect(200, {"succeeded": 3})
    order = [job["id"] for job in await stage.fetch(queue, count=9)]
    stage.equal(order, dead[:3], "order")


@case("OJS-DLQ-019", level=1)
async def admin_paths(stage: Stage) -> None:
    """The calls stand below /admin as well, where the list is `items` and a delete is 204."""
    queue = stage.name()
    first, second = await stage.discarded(queue), await stage.discarded(queue)
    reply = (await stage.get("admin/dead-letter", queue=queue)).expect(200)
    stage.equal([job["id"] for job in reply["items"]], [second["id"], first["id"]], "items")
    (await stage.get(f"admin/dead-letter/{first['id']}")).expect(200)
    (await stage.post(f"admin/dead-letter/{first['id']}/retry", {})).expect(200)
    gone = (await stage.delete(f"admin/dead-letter/{second['id']}")).expect(204)
    stage.equal(len(gone.content), 0, "bytes of the body")
    (await stage.get("admin/dead-letter/stats")).expect(200, {"total": "number:non_negative"})
