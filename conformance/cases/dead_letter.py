"""Cases of dead letters: lists, retries and deletion."""

import asyncio

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, record

KEPT = 3  # limit of the variant
STAYS = {"on_exhaustion": "dead_letter"}
_PAGE = 100  # the most that one published text allows


async def _listed(stage: Stage, queue: str) -> list[Record]:
    """Return the dead letters of a queue, also where the list is of all queues."""
    found: dict[str, Record] = {}
    while True:
        query = {"queue": queue, "limit": _PAGE, "offset": len(found)}
        reply = (await stage.get("dead-letter", **query)).expect(200)
        page = {job["id"]: record(job, reply) for job in reply["jobs"] or []}
        if page.keys() <= found.keys():
            return [job for job in found.values() if job["queue"] == queue]
        found |= page


@case("OJS-DLQ-001", "OJS-DLQ-002", "OJS-DLQ-004", level=1)
async def exhausted_jobs(stage: Stage) -> None:
    """A job that is to be kept when its attempts are used up is listed, whole."""
    queue = stage.name()
    job = await stage.discarded(queue, args=[{"n": 1}], meta={"kept": "yes"}, retry=STAYS)
    last = await stage.discarded(queue, retry=STAYS)
    listed = {letter["id"]: letter for letter in await _listed(stage, queue)}
    stage.equal(sorted(listed), sorted([job["id"], last["id"]]), "dead letters of the queue")
    found = listed[job["id"]]
    for name, value in (("type", "test.case"), ("queue", queue), ("state", "discarded")):
        stage.equal(found[name], value, name)
    stage.equal(found["args"], [{"n": 1}], "args")
    stage.equal((await stage.look(job))["meta"], {"kept": "yes"}, "meta")
    stage.equal(len(found["errors"]), 1, "entries of the history")


@case("OJS-DLQ-028", level=1)
async def letters_of_one_queue(stage: Stage) -> None:
    """Dead letters can be listed for one queue alone."""
    queue = stage.name()
    chosen = await stage.discarded(queue, retry=STAYS)
    await stage.discarded(stage.name(), retry=STAYS)
    reply = (await stage.get("dead-letter", queue=queue)).expect(200)
    stage.equal([job["id"] for job in reply["jobs"]], [chosen["id"]], "dead letters of the queue")


@case("OJS-DLQ-021", "OJS-DLQ-004", level=1)
async def every_discarded_job(stage: Stage) -> None:
    """Every discarded job is a dead letter, whatever its policy says."""
    queue = stage.name()
    jobs = [
        await stage.discarded(queue, retry=retry) for retry in ({}, {"on_exhaustion": "discard"})
    ]
    listed = [letter["id"] for letter in await _listed(stage, queue)]
    stage.equal(sorted(listed), sorted(job["id"] for job in jobs), "dead letters of the queue")


@case("OJS-DLQ-002", "OJS-DLQ-005", "OJS-DLQ-021", "OJS-DLQ-022", level=1)
async def whole_and_in_order(stage: Stage) -> None:
    """Dead letters are listed and read whole, the latest discarded first."""
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


@case("OJS-DLQ-004", "OJS-DLQ-022", level=1)
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


@case("OJS-DLQ-006", "OJS-DLQ-007", level=1)
async def trying_again(stage: Stage) -> None:
    """A retried dead letter is available with fresh attempts."""
    queue = stage.name()
    job = await stage.discarded(queue, retry=STAYS)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(
        200,
        {
            "job.id": {"$eq": job["id"]},
            "job.type": "test.case",
            "job.queue": {"$eq": queue},
            "job.state": "available",
            "job.attempt": 0,
        },
    )
    seen = await stage.look(job)
    stage.equal([seen["state"], seen["attempt"]], ["available", 0], "state and attempt")
    stage.equal(await _listed(stage, queue), [], "dead letters of the queue")
    taken = await stage.take(queue)
    stage.equal(taken["id"], job["id"], "the job")
    (await stage.fail(taken)).expect(200, {"state": "discarded"})


@case("OJS-DLQ-023", level=1)
async def errors_outlive_a_retry(stage: Stage) -> None:
    """The history of a dead letter goes on where it was when the job is tried again."""
    queue = stage.name()
    job = await stage.discarded(queue, retry=STAYS)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    stage.equal(len((await stage.look(job))["errors"]), 1, "entries of the history")
    (await stage.fail(await stage.take(queue))).expect(200)
    stage.equal(len((await stage.look(job))["errors"]), 2, "entries of the history")


@case("OJS-DLQ-006", "OJS-DLQ-024", "OJS-LIF-014", "OJS-QUE-002", level=1)
async def starting_over(stage: Stage) -> None:
    """A retried dead letter is at the end of its queue, without what its failure left behind."""
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
    """A deleted dead letter is gone for good, and neither it nor an unknown one can be used."""
    queue = stage.name()
    job = await stage.discarded(queue, retry=STAYS)
    (await stage.delete(f"dead-letter/{job['id']}")).expect(
        200, {"deleted": True, "job_id": {"$eq": job["id"]}}
    )
    (await stage.get(f"jobs/{job['id']}")).expect(404)
    stage.equal(await _listed(stage, queue), [], "dead letters of the queue")
    for gone in (job["id"], stage.new_id()):
        (await stage.post(f"dead-letter/{gone}/retry", {})).expect(404)
        (await stage.delete(f"dead-letter/{gone}")).expect(404)


@case("OJS-DLQ-009", "OJS-DLQ-025", level=1)
async def no_dead_letters(stage: Stage) -> None:
    """An id of no dead letter is 404 in every call, with its kind."""
    queue = stage.name()
    job = await stage.discarded(queue)
    (await stage.delete(f"dead-letter/{job['id']}")).expect(200)
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
        job = await stage.discarded(queue, retry=STAYS)
        calls = [stage.post(f"dead-letter/{job['id']}/retry", {}) for _ in range(5)]
        calls += [stage.delete(f"dead-letter/{job['id']}") for _ in range(5)]
        replies = await asyncio.gather(*calls)
        stage.equal(sum(reply.status == 200 for reply in replies), 1, "calls that succeeded")
        for reply in replies:
            reply.expect((200, 404, 409))
        for left in await stage.fetch(queue):
            (await stage.ack(left)).expect(200)


@case("OJS-DLQ-013", "OJS-EVT-005", level=1, capability="dead_letter")
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
    uncounted = [await stage.discarded(queue) for _ in range(KEPT + 1)]
    many = [await stage.discarded(queue, retry=STAYS) for _ in range(KEPT + 2)]
    few = [await stage.discarded(other, retry=STAYS) for _ in range(KEPT)]

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


@case("OJS-DLQ-014", "OJS-DLQ-020", level=1, capability="dead_letter")
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


@case("OJS-DLQ-016", level=1, capability="dead_letter")
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


@case("OJS-DLQ-017", "OJS-DLQ-018", level=1, capability="dead_letter")
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


async def _items(stage: Stage, queue: str) -> list[str]:
    """Return the ids of the dead letters of a queue as /admin lists them, page by page."""
    queues: dict[str, str] = {}
    page = 1
    while True:
        reply = (await stage.get("admin/dead-letter", queue=queue, page=page)).expect(200)
        items = {job["id"]: job["queue"] for job in reply["items"] or []}
        if items.keys() <= queues.keys():
            return [job for job, its_queue in queues.items() if its_queue == queue]
        queues |= items
        page += 1


@case("OJS-DLQ-019", capability="admin_api")
async def admin_paths(stage: Stage) -> None:
    """Dead letters are listed as `items`, tried again and deleted below /admin as well."""
    queue = stage.name()
    first = await stage.discarded(queue, retry=STAYS)
    second = await stage.discarded(queue, retry=STAYS)
    listed = await _items(stage, queue)
    stage.equal(sorted(listed), sorted([first["id"], second["id"]]), "items")
    (await stage.post(f"admin/dead-letter/{first['id']}/retry")).expect(200)
    stage.equal((await stage.look(first))["state"], "available", "state of the one tried again")
    (await stage.delete(f"admin/dead-letter/{second['id']}")).expect(204)
    stage.equal(await _items(stage, queue), [], "items that are left")


@case("OJS-DLQ-029", capability="admin_api")
async def items_of_one_queue(stage: Stage) -> None:
    """The list below /admin can be of one queue alone."""
    queue = stage.name()
    chosen = await stage.discarded(queue, retry=STAYS)
    await stage.discarded(stage.name(), retry=STAYS)
    reply = (await stage.get("admin/dead-letter", queue=queue)).expect(200)
    stage.equal([job["id"] for job in reply["items"]], [chosen["id"]], "items of the queue")


@case("OJS-DLQ-026", capability="admin_api")
async def number_of_dead_letters(stage: Stage) -> None:
    """The statistics below /admin tell how many dead letters there are."""
    await stage.discarded(stage.name(), retry=STAYS)
    (await stage.get("admin/dead-letter/stats")).expect(200, {"total": "number:positive"})


@case("OJS-DLQ-022", "OJS-DLQ-027", capability="admin_api")
async def other_admin_paths(stage: Stage) -> None:
    """One dead letter can be read below /admin; the list is in order, and a delete has no body."""
    queue = stage.name()
    first, second = await stage.discarded(queue), await stage.discarded(queue)
    reply = (await stage.get("admin/dead-letter", queue=queue)).expect(200)
    stage.equal([job["id"] for job in reply["items"]], [second["id"], first["id"]], "items")
    (await stage.get(f"admin/dead-letter/{first['id']}")).expect(200)
    (await stage.post(f"admin/dead-letter/{first['id']}/retry", {})).expect(200)
    gone = (await stage.delete(f"admin/dead-letter/{second['id']}")).expect(204)
    stage.equal(len(gone.content), 0, "bytes of the body")
