"""Cases of calls about many jobs: enqueue, cancel, retry, delete, and lists by filter."""

import asyncio
from typing import Any, Final

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

BULK = "bulk_operations"


# The capabilities that have calls beside the bulk ones, by the beginnings of their paths.
_CLAIMED_BY: Final = {"dead-letter": "dead_letter", "queues": "queue_config", "admin": "admin_api"}
# Calls that change many things, with a body that suits them; None for a filter.
_CALLS_ABOUT_MANY: Final = (
    ("POST", "jobs/bulk/cancel", None),
    ("POST", "jobs/bulk/retry", None),
    ("POST", "jobs/bulk/delete", None),
    ("POST", "dead-letter/retry", None),
    ("DELETE", "dead-letter", None),
    ("DELETE", "queues/{queue}/jobs", {"confirm": True}),
    ("DELETE", "queues/{queue}", {"strategy": "discard"}),
    ("POST", "admin/workers/directive", {"directive": "quiet"}),
)


def some(queue: str, *args: Any) -> list[dict[str, Any]]:
    """Good jobs, one for each argument."""
    return [{"type": "test.case", "args": [each], "queue": queue} for each in args]


def statuses(reply: Reply) -> list[str]:
    """The statuses of the items, in order."""
    return [item["status"] for item in reply["items"]]


def _is_claimed(stage: Stage, path: str) -> bool:
    capability = _CLAIMED_BY.get(path.partition("/")[0])
    return capability is None or stage.claims(capability)


@case("OJS-BLK-001", "OJS-BLK-002", "OJS-BLK-003", capability=BULK)
async def enqueueing(stage: Stage) -> None:
    """Each job is stored or refused by itself, and the status tells which."""
    queue = stage.name()
    wrong = {"type": "", "args": [], "queue": queue}
    reply = (await stage.post("jobs/bulk", {"jobs": some(queue, 1, 2)})).expect(
        (200, 201), {"total": 2, "succeeded": 2, "failed": 0}
    )
    stage.equal(statuses(reply), ["created", "created"], "statuses")
    stage.equal([item["index"] for item in reply["items"]], [0, 1], "indexes")
    made = [item["job"]["id"] for item in reply["items"]]
    reply = (await stage.post("jobs/bulk", {"jobs": [wrong, *some(queue, 3)]})).expect(
        207, {"total": 2, "succeeded": 1, "failed": 1}
    )
    stage.equal(statuses(reply), ["failed", "created"], "statuses")
    stage.check(bool(reply["items"][0]["error"]), "an error", reply["items"][0])
    made.append(reply["items"][1]["job"]["id"])
    (await stage.post("jobs/bulk", {"jobs": [wrong]})).expect(422)
    found = [(await stage.take(queue))["id"] for _ in made]
    stage.equal(sorted(found), sorted(made), "jobs stored")
    await stage.empty(queue)


@case("OJS-BLK-024", capability=BULK)
async def status_of_enqueueing(stage: Stage) -> None:
    """The status of a bulk enqueue without a failure is 201."""
    queue = stage.name()
    (await stage.post("jobs/bulk", {"jobs": some(queue, 1, 2)})).expect(201)
    await stage.take(queue)


@case("OJS-BLK-022", capability=BULK)
async def all_or_none(stage: Stage) -> None:
    """One wrong job keeps the others away where all are to be stored or none."""
    queue = stage.name()
    jobs = [*some(queue, 1), {"type": "", "args": [], "queue": queue}]
    (await stage.post("jobs/bulk", {"jobs": jobs, "atomicity": "atomic"})).expect(422)
    await stage.empty(queue)


@case("OJS-BLK-001", "OJS-BLK-003", "OJS-BLK-004", "OJS-BLK-023", "OJS-BLK-024", capability=BULK)
async def enqueueing_in_detail(stage: Stage) -> None:
    """The errors of the items say why, and the first of two equal jobs counts as the one there."""
    queue, chosen = stage.name(), stage.new_id()
    wrong = {"type": "test.case", "args": "x", "queue": queue}
    reply = (await stage.post("jobs/bulk", {"jobs": some(queue, 1, 2)})).expect(
        201, {"total": 2, "succeeded": 2, "failed": 0}
    )
    stage.equal(statuses(reply), ["created", "created"], "statuses")
    stage.equal([item["index"] for item in reply["items"]], [0, 1], "indexes")
    stage.equal(reply["items"][1]["job"]["args"], [2], "job")
    mixed = [*some(queue, 3), wrong]
    reply = (await stage.post("jobs/bulk", {"jobs": mixed})).expect(
        207, {"total": 2, "succeeded": 1, "failed": 1}
    )
    stage.equal(statuses(reply), ["created", "failed"], "statuses")
    stage.equal(reply["items"][1]["error"]["code"], "invalid_request", "error.code")
    (await stage.post("jobs/bulk", {"jobs": [wrong]})).expect(422, {"failed": 1})
    reply = await stage.post("jobs/bulk", {"jobs": mixed, "atomicity": "atomic"})
    reply.expect(422, {"succeeded": 0, "failed": 2})
    stage.equal(reply["items"][0]["error"]["code"], "rolled_back", "code of the good one")
    twice = [{**some(queue, 4)[0], "id": chosen}] * 2
    reply = (await stage.post("jobs/bulk", {"jobs": twice})).expect(201)
    stage.equal(statuses(reply), ["created", "duplicate"], "statuses of one id twice")
    stage.equal(len(await stage.fetch(queue, count=9)), 4, "jobs stored")


@case(
    *("OJS-BLK-005", "OJS-BLK-006", "OJS-BLK-008", "OJS-BLK-009"),
    capability=BULK,
)
async def changing_by_ids(stage: Stage) -> None:
    """Jobs are cancelled, retried and deleted by their ids, where their state allows it."""
    queue = stage.name()
    done = await stage.done(queue)
    dead = await stage.discarded(queue, retry={"on_exhaustion": "dead_letter"})
    first, second, later = [await stage.enqueue(queue) for _ in range(3)]
    both = {"job_ids": [first["id"], second["id"]]}
    reply = (await stage.post("jobs/bulk/cancel", both)).expect(200, {"items": {"$size": 2}})
    stage.equal([item["index"] for item in reply["items"]], [0, 1], "indexes")
    stage.check(all(statuses(reply)), "a status for each", reply.text)
    for job in (first, second):
        stage.equal((await stage.look(job))["state"], "cancelled", "state")
    (await stage.post("jobs/bulk/retry", {"job_ids": [dead["id"]]})).expect(200)
    stage.equal((await stage.look(dead))["state"], "available", "state of the retried one")
    (await stage.post("jobs/bulk/delete", {"job_ids": [done["id"]]})).expect(200)
    (await stage.get(f"jobs/{done['id']}")).expect(404)
    for call in ("retry", "delete"):
        await stage.post(f"jobs/bulk/{call}", {"job_ids": [later["id"]]})
        stage.equal((await stage.look(later))["state"], "available", f"state after {call}")


@case("OJS-BLK-005", "OJS-BLK-006", capability=BULK, alone=True)
async def cancelling_by_filter(stage: Stage) -> None:
    """The jobs of a queue that wait are cancelled by a filter, and no others."""
    queue, other = stage.name(), stage.name()
    selected, left = await stage.enqueue(queue), await stage.enqueue(other)
    by = {"filter": {"queue": queue, "state": ["available"]}}
    (await stage.post("jobs/bulk/cancel", by)).expect(200)
    stage.equal(
        (await stage.look(selected))["state"], "cancelled", "state of the one that is meant"
    )
    stage.equal((await stage.look(left))["state"], "available", "state of another one")


@case(
    *("OJS-BLK-006", "OJS-BLK-025", "OJS-BLK-026", "OJS-BLK-028", "OJS-BLK-029"),
    capability=BULK,
)
async def changing_in_detail(stage: Stage) -> None:
    """The answer to a change tells what was done with each job; all or none can be asked for."""
    queue = stage.name()
    done, dead = await stage.done(queue), await stage.discarded(queue)
    jobs = await stage.enqueue_many(queue, 3)
    reply = (await stage.post("jobs/bulk/cancel", {"job_ids": [jobs[0]["id"], done["id"]]})).expect(
        207, {"succeeded": 1, "cancelled": 1, "matched": "number:positive"}
    )
    stage.check("action" in reply.json and "total_matched" in reply.json, "members", reply.text)
    items = reply["items"]
    stage.equal([item["job_id"] for item in items], [jobs[0]["id"], done["id"]], "job_id")
    stage.check({"reason", "error"} <= set(items[1]), "reason and error", items[1])
    whole = {"job_ids": [jobs[1]["id"], done["id"]], "atomicity": "atomic"}
    (await stage.post("jobs/bulk/cancel", whole)).expect((409, 422), {"succeeded": 0})
    stage.equal((await stage.look(jobs[1]))["state"], "available", "state")
    (await stage.post("jobs/bulk/cancel", {"job_ids": [done["id"]]})).expect(422)
    (await stage.post("jobs/bulk/retry", {"job_ids": [dead["id"]]})).expect(200, {"retried": 1})
    stage.equal((await stage.look(dead))["state"], "available", "state of the retried one")
    (await stage.post("jobs/bulk/delete", {"job_ids": [done["id"]]})).expect(200, {"deleted": 1})
    (await stage.get(f"jobs/{done['id']}")).error(404, "not_found")
    both = {"job_ids": [jobs[1]["id"]], "filter": {"queue": queue}, "confirm": True}
    (await stage.post("jobs/bulk/cancel", both)).error(400, "invalid_request")


@case("OJS-BLK-020", capability=BULK)
async def what_a_workflow_needs(stage: Stage) -> None:
    """A job whose result a running workflow still needs is not deleted, and the answer says so."""
    queue = stage.name()
    step = {"type": "test.step", "args": [], "options": {"queue": queue}}
    (await stage.post("workflows", {"type": "chain", "steps": [step, step]})).expect(201)
    first = await stage.take(queue)
    (await stage.ack(first)).expect(200)
    ids = {"job_ids": [first["id"]]}
    reply = (await stage.post("jobs/bulk/delete", ids)).expect(422)
    stage.equal(reply["items"][0]["error"]["code"], "conflict", "the outcome")
    await stage.look(first)
    (await stage.ack(await stage.take(queue, wait_ms=5_000))).expect(200)
    (await stage.post("jobs/bulk/delete", ids)).expect(200)
    (await stage.get(f"jobs/{first['id']}")).error(404, "not_found")


@case("OJS-BLK-006", "OJS-BLK-026", capability=BULK)
async def retrying_what_waits(stage: Stage) -> None:
    """A job that waits for its retry is put into its queue at once, its attempts as they are."""
    queue = stage.name()
    slow = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    job = await stage.enqueue(queue, retry=slow)
    await stage.take(queue)
    (await stage.fail(job)).expect(200, {"state": "retryable"})
    (await stage.post("jobs/bulk/retry", {"job_ids": [job["id"]]})).expect(200)
    stage.equal((await stage.take(queue))["attempt"], 2, "attempt")


@case(
    "OJS-BLK-007",
    "OJS-BLK-010",
    "OJS-BLK-011",
    "OJS-BLK-013",
    "OJS-BLK-025",
    "OJS-BLK-027",
    "OJS-BLK-029",
    capability=BULK,
)
async def changing_by_filter(stage: Stage) -> None:
    """A filter that deletes needs a clear word, and means the jobs for which all of it holds."""
    queue = stage.name()
    plain = await stage.enqueue(queue)
    marked = await stage.enqueue(queue, type="kind.one", meta={"tenant": "a"}, priority=5)
    later = await stage.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    held = await stage.enqueue(queue, pending=True)
    alone = {"filter": {"queue": queue}}
    for path, body in (
        ("jobs/bulk/cancel", {**alone, "confirm": False}),
        ("jobs/bulk/cancel", {}),
        ("jobs/bulk/retry", {"filter": {}}),
        ("jobs/bulk/delete", alone),
        ("admin/jobs/bulk/cancel", alone),
        ("admin/jobs/bulk/retry", alone),
    ):
        (await stage.post(path, body)).error(400, "invalid_request")
    (await stage.post("jobs/bulk/retry", alone)).expect(200, {"retried": 0})
    nothing = {"filter": {"queue": stage.name()}, "confirm": False}
    (await stage.post("jobs/bulk/cancel", nothing)).error(400, "invalid_request")
    done_state = {"filter": {"queue": queue, "state": "completed"}, "confirm": True}
    (await stage.post("jobs/bulk/cancel", done_state)).error(400, "invalid_request")
    narrow = {"queue": queue, "type": "kind.*", "priority": 5, "meta": {"tenant": "a"}}
    reply = await stage.post("jobs/bulk/cancel", {"filter": narrow})
    reply.expect(200, {"cancelled": 1})
    stage.equal((await stage.look(marked))["state"], "cancelled", "state of the one that is meant")
    stage.equal((await stage.look(plain))["state"], "available", "state of another one")
    reply = await stage.post("jobs/bulk/cancel", {"queue": queue, "confirm": True})
    reply.expect(200, {"cancelled": 2})
    states = [(await stage.look(job))["state"] for job in (plain, later, held)]
    stage.equal(states, ["cancelled", "cancelled", "pending"], "states")
    reply = await stage.post("jobs/bulk/delete", {"queue": queue, "confirm": True})
    reply.expect(200, {"deleted": 3})


@case("OJS-BLK-033", capability=BULK, alone=True)
async def unknown_members(stage: Stage) -> None:
    """A call that changes many things refuses members that it does not know, and does nothing."""
    queue = stage.name()
    dead = await stage.discarded(queue)
    waits = await stage.enqueue(queue)
    by = {"filter": {"queue": queue}, "confirm": True}
    for method, path, body in _CALLS_ABOUT_MANY:
        if not _is_claimed(stage, path):
            continue
        odd = {**(by if body is None else body), "nonsense": 1}
        reply = await stage.call(method, path.format(queue=queue), odd)
        error = reply.error(400, "invalid_request")
        stage.check("nonsense" in str(error), "the name of the member", reply.text)
    odd = {"filter": {"queue": queue, "colour": "red"}, "confirm": True}
    for path in ("jobs/bulk/cancel", "jobs/bulk/retry", "jobs/bulk/delete", "dead-letter/retry"):
        (await stage.post(path, odd)).error(400, "invalid_request")
    states = [(await stage.look(job))["state"] for job in (waits, dead)]
    stage.equal(states, ["available", "discarded"], "states")


@case("OJS-BLK-034", capability=BULK, alone=True)
async def dry_runs(stage: Stage) -> None:
    """A dry run answers as the call would, and changes nothing."""
    queue = stage.name()
    dead = await stage.discarded(queue)
    waits = await stage.enqueue(queue)
    by = {"filter": {"queue": queue}}
    ids = {"job_ids": [waits["id"], dead["id"]]}
    for method, path, body, status, members in (
        ("POST", "jobs/bulk/cancel", by, 200, {"cancelled": 1, "has_more": False}),
        ("POST", "jobs/bulk/cancel", ids, 207, {"cancelled": 1, "failed": 1}),
        ("POST", "jobs/bulk/retry", by, 200, {"retried": 1}),
        ("POST", "jobs/bulk/delete", by, 200, {"deleted": 1}),
        ("POST", "dead-letter/retry", by, 200, {"retried": 1}),
        ("DELETE", "dead-letter", by, 200, {"deleted": 1}),
        ("DELETE", "queues/{queue}/jobs", {}, 200, {"purged_count": 2}),
        ("DELETE", "queues/{queue}", {"strategy": "discard"}, 202, {"jobs_affected": 2}),
        ("DELETE", "queues/{queue}", {}, 409, {}),
    ):
        if not _is_claimed(stage, path):
            continue
        reply = await stage.call(method, path.format(queue=queue), {**body, "dry_run": True})
        reply.expect(status, {**members, **({"dry_run": True} if members else {})})
    states = [(await stage.look(job))["state"] for job in (waits, dead)]
    stage.equal(states, ["available", "discarded"], "states")
    (await stage.post("jobs/bulk/cancel", {"job_ids": [waits["id"]]})).expect(200, {"cancelled": 1})


@case("OJS-BLK-014", capability=BULK)
async def sizes_and_other_paths(stage: Stage) -> None:
    """A hundred jobs are taken at once; more than the server takes are 413, and none is stored."""
    queue, many = stage.name(), stage.name()
    (await stage.post("jobs/bulk", {"jobs": some(queue, *range(100))})).expect((200, 201))
    await stage.take(queue)
    reply = await stage.post("jobs/bulk", {"jobs": some(many, *range(1001))})
    if reply.expect((200, 201, 413)).status == 413:
        await stage.empty(many)


# Alone: a server that sees no filter, or no need for a word, would change the jobs of other cases.
@case("OJS-BLK-007", capability="admin_api", alone=True)
async def a_word_is_needed(stage: Stage) -> None:
    """A retry by a filter below /admin is refused without a clear word."""
    by = {"filter": {"queue": stage.name(), "state": "discarded"}}
    for body in ({**by, "confirm": False}, by):
        (await stage.post("admin/jobs/bulk/retry", body)).expect(400)


@case("OJS-BLK-016", level=1, capability="admin_api", alone=True)
async def retrying_as_an_operator(stage: Stage) -> None:
    """Discarded jobs are retried by a filter below /admin."""
    queue, other = stage.name(), stage.name()
    selected, left = [
        await stage.discarded(name, retry={"on_exhaustion": "dead_letter"})
        for name in (queue, other)
    ]
    by = {"filter": {"queue": queue, "state": "discarded"}, "confirm": True}
    (await stage.post("admin/jobs/bulk/retry", by)).expect(200)
    await stage.until_state(selected, "available")
    stage.equal((await stage.look(left))["state"], "discarded", "state of another one")


@case("OJS-BLK-021", "OJS-BLK-030", "OJS-BLK-032", capability=BULK)
async def a_thousand_and_other_paths(stage: Stage) -> None:
    """More than a thousand are 413; the calls about stored jobs stand below /admin as well."""
    queue = stage.name()
    many = {"jobs": some(queue, *range(1001))}
    (await stage.post("jobs/bulk", many)).error(413, "BATCH_SIZE_EXCEEDED")
    ids = {"job_ids": [stage.new_id()] * 1001}
    (await stage.post("jobs/bulk/cancel", ids)).error(413, "BATCH_SIZE_EXCEEDED")
    await stage.empty(queue)
    job = await stage.enqueue(queue)
    named = {"job_ids": [job["id"]]}
    (await stage.post("admin/jobs/bulk/cancel", named)).expect(200, {"cancelled": 1})
    (await stage.post("admin/jobs/bulk/delete", named)).expect(200, {"deleted": 1})
    dead = await stage.discarded(queue)
    (await stage.post("admin/jobs/bulk/retry", {"job_ids": [dead["id"]]})).expect(200)


@case("OJS-BLK-015", capability=BULK)
async def asking_again(stage: Stage) -> None:
    """With a key the same request answers again what the first one did; another one is 409."""
    queue, key = stage.name(), stage.name("key")
    body = {"jobs": some(queue, 1, 2)}
    first = (await stage.post("jobs/bulk", body, Idempotency_Key=key)).expect((200, 201))
    again = (await stage.post("jobs/bulk", body, Idempotency_Key=key)).expect((200, 201))
    ids = [item["job"]["id"] for item in first["items"]]
    stage.equal([item["job"]["id"] for item in again["items"]], ids, "the same jobs")
    less = {"jobs": body["jobs"][:1]}
    (await stage.post("jobs/bulk", less, Idempotency_Key=key)).expect(409)
    for _ in ids:
        await stage.take(queue)
    await stage.empty(queue)


@case("OJS-BLK-031", capability=BULK)
async def keys_of_changes(stage: Stage) -> None:
    """A key in the body counts, too, and also for changes; another request with it is 409."""
    queue, key = stage.name(), stage.name("key")
    jobs = some(queue, 1, 2)
    made = (await stage.post("jobs/bulk", {"jobs": jobs}, Idempotency_Key=key)).expect(201)
    less = {"jobs": jobs[:1], "idempotency_key": key}
    (await stage.post("jobs/bulk", less)).error(409, "duplicate")
    ids = [item["job"]["id"] for item in made["items"]]
    named = {"job_ids": ids, "idempotency_key": stage.name("key")}
    (await stage.post("jobs/bulk/cancel", named)).expect(200, {"cancelled": 2})
    (await stage.post("jobs/bulk/cancel", named)).expect(200, {"cancelled": 2})
    await stage.empty(queue)


@case("OJS-EVT-017", capability=BULK)
async def events_of_bulk_calls(stage: Stage) -> None:
    """A bulk enqueue that has ended has an event with the number of its jobs."""
    stage.need(stage.claims("events"), "capability events not claimed")
    (await stage.post("jobs/bulk", {"jobs": some(stage.name(), *range(7))})).expect((200, 201))

    async def is_reported() -> bool:
        reply = await stage.get("events", types="bulk.enqueue.completed", limit=1000)
        stage.need(
            reply.status != 404, "events cannot be read here: GET /ojs/v1/events is optional"
        )
        return any(event["data"]["total"] == 7 for event in reply.expect(200)["events"])

    await stage.until(is_reported, 5, "bulk.enqueue.completed of 7")


@case("OJS-EVT-031", capability=BULK)
async def outcomes_in_events(stage: Stage) -> None:
    """A bulk call that has ended has an event with its numbers."""
    queue = stage.name()
    jobs = await stage.enqueue_many(queue, 3)
    mark = (await stage.get("events", limit=1000)).expect(200)
    while mark["has_more"]:
        mark = (await stage.get("events", limit=1000, after=mark["cursor"])).expect(200)
    ids = {"job_ids": [job["id"] for job in jobs]}
    (await stage.post("jobs/bulk/cancel", ids)).expect(200)

    async def is_logged() -> bool:
        page = await stage.get("events", types="bulk.cancel.completed", after=mark["cursor"])
        expected = {"total": 3, "succeeded": 3, "failed": 0}
        return any(expected.items() <= event["data"].items() for event in page["events"])

    await stage.until(is_logged, 5, "bulk.cancel.completed with 3 of 3")


@case("OJS-BLK-017", "OJS-BLK-018", "OJS-BLK-019", capability=BULK)
async def lists_of_jobs(stage: Stage) -> None:
    """Jobs are listed by filter, the greatest id first, in pages that come to an end."""
    queue = stage.name()
    made = [(await stage.enqueue(queue, args=[n]))["id"] for n in range(5)]
    odd = await stage.enqueue(queue, type="kind.odd")
    (await stage.delete(f"jobs/{made[0]}")).expect(200)
    newest = sorted([*made, odd["id"]], reverse=True)
    reply = (await stage.get("jobs", queue=queue, limit=100)).expect(200, {"pagination.total": 6})
    stage.equal([job["id"] for job in reply["jobs"]], newest, "the greatest id first")
    exact = reply.json.get("total_is_exact", reply.json["pagination"].get("total_is_exact"))
    stage.equal(exact, True, "total_is_exact")
    for query, expected in (
        ({"state": "cancelled"}, [made[0]]),
        ({"type": "kind.*"}, [odd["id"]]),
        ({"states": "available", "type": "test.case"}, sorted(made[1:], reverse=True)),
    ):
        seen: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(100):
            page = (await stage.get("jobs", queue=queue, limit=2, **query, **cursor)).expect(200)
            seen += [job["id"] for job in page["jobs"]]
            if not page["pagination.has_more"]:
                break
            cursor = {"cursor": page["pagination.next_cursor"]}
        stage.equal(seen, expected, f"jobs for {query}")


@case("OJS-BLK-036", capability=BULK)
async def several_states(stage: Stage) -> None:
    """A list of jobs in several states has those in each of them, and no others."""
    queue = stage.name()
    first, second, third = [await stage.enqueue(queue) for _ in range(3)]
    (await stage.delete(f"jobs/{first['id']}")).expect(200)
    await stage.take(queue)
    by_state = {"cancelled": first["id"], "active": second["id"], "available": third["id"]}
    for name in ("state", "states"):
        for chosen in (["active", "available"], ["available", "cancelled"], list(by_state)):
            reply = await stage.get("jobs", queue=queue, **{name: ",".join(chosen)})
            seen = sorted(job["id"] for job in reply.expect(200)["jobs"])
            stage.equal(seen, sorted(by_state[each] for each in chosen), f"{name} {chosen}")


@case("OJS-HTP-023", "OJS-BLK-018", capability=BULK)
async def last_pages_of_jobs(stage: Stage) -> None:
    """A page that ends with the last job says that there is no more, however it was asked for."""
    queue = stage.name()
    await stage.enqueue_many(queue, 3)
    last = {"pagination.has_more": False, "pagination.next_cursor": "absent"}
    for query in ({"limit": 3}, {"limit": 2, "offset": 1}, {"per_page": 1, "page": 3}):
        (await stage.get("jobs", queue=queue, **query)).expect(200, last)
    first = (await stage.get("jobs", queue=queue, limit=1)).expect(200)
    cursor = first["pagination.next_cursor"]
    (await stage.get("jobs", queue=queue, limit=2, cursor=cursor)).expect(200, last)


@case("OJS-BLK-012", "OJS-BLK-013", capability=BULK, alone=True, seconds=150)
async def many_by_filter(stage: Stage) -> None:
    """A call by filter changes ten thousand jobs at most, and others get their turn meanwhile."""
    queue, other = stage.name(), stage.name()
    for _ in range(11):
        await stage.enqueue_many(queue, 1000)
    body = {"filter": {"queue": queue}, "confirm": True}
    async with stage.waiting(stage.post("jobs/bulk/cancel", body)) as (cancel,):
        await asyncio.sleep(0.05)
        turns = 0
        while not cancel.done():
            await stage.enqueue(other)
            turns += 1
        (await cancel).expect(200, {"cancelled": 10_000, "has_more": True})
    stage.check(turns >= 1, "calls that were answered meanwhile", turns)
    counts = (await stage.get(f"queues/{queue}/stats")).expect(200)["queue"]
    stage.equal([counts["cancelled"], counts["available"]], [10_000, 1_000], "counts")


@case("OJS-BLK-035")
async def lists_of_held_jobs(stage: Stage) -> None:
    """A listed job shows the worker that holds it, and is found by it."""
    queue = stage.name()
    first, second = await stage.enqueue_many(queue, 2)
    one, two = stage.name("w"), stage.name("w")
    for worker, job in ((one, first), (two, second)):
        stage.equal((await stage.take(queue, worker=worker))["id"], job["id"], "id")
    reply = (await stage.get("jobs", queue=queue, state="active")).expect(200)
    shown = {job["id"]: job for job in reply["jobs"]}
    for worker, job in ((one, first), (two, second)):
        stage.equal(shown[job["id"]]["worker_id"], worker, "worker_id")
        stage.check("lease_expires_at" in shown[job["id"]], "lease_expires_at", shown[job["id"]])
        reply = (await stage.get("jobs", worker_id=worker)).expect(200)
        stage.equal([found["id"] for found in reply["jobs"]], [job["id"]], f"jobs of {worker}")
    (await stage.ack(first, worker=one)).expect(200)
    reply = (await stage.get("jobs", worker_id=one)).expect(200)
    stage.equal(reply["jobs"], [], "jobs of a worker that holds none")
