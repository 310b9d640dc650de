"""Cases of enqueueing: one job, and batches."""

from collections.abc import Mapping
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import moment
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

FUTURE = "2099-12-31T23:59:59Z"
LATER = "2100-12-31T23:59:59Z"
MERGED = {"kept": 1, "new": [2]}


@case("OJS-ENQ-002")
async def top_level_copy(stage: Stage) -> None:
    """The answer repeats the members of the job beside it."""
    reply = (await stage.push(queue=stage.name(), pending=True, tags=["a"])).expect(201)
    for name in ("id", "type", "queue", "state", "priority", "max_attempts", "tags"):
        stage.equal(reply[name], reply[f"job.{name}"], name)
    seen = await stage.look(reply["id"])
    for name in ("type", "queue", "state"):
        stage.equal(seen[name], reply[name], f"{name} on reading")


@case("OJS-ENQ-003", "OJS-DUR-001", own_server="main", seconds=150)
async def answered_jobs_survive_a_kill(stage: Stage) -> None:
    """Jobs that were answered before a kill -9 are there after a restart, and work."""
    queue = stage.name()
    jobs = [await stage.enqueue(queue, args=[number]) for number in range(30)]
    done = await stage.take(queue, "w1")
    (await stage.ack(done, "w1", result={"kept": True})).expect(200)
    await stage.crash()
    for job in jobs:
        if job["id"] != done["id"]:
            stage.equal((await stage.look(job))["state"], "available", "state after the restart")
    seen = await stage.look(done)
    stage.equal([seen["state"], seen["result"]], ["completed", {"kept": True}], "the done job")
    next_one = await stage.take(queue, "w1")
    (await stage.ack(next_one, "w1")).expect(200)


@case("OJS-ENQ-003", "OJS-DUR-010", own_server="main", seconds=150)
async def held_jobs_survive_a_kill(stage: Stage) -> None:
    """Batches, results and leases that were answered before a kill -9 are there afterwards."""
    queue = stage.name()
    batch = await stage.enqueue_many(queue, 50)
    (done,) = await stage.fetch(queue, "w1", count=1)
    (await stage.ack(done, "w1", result={"kept": True})).expect(200)
    held = await stage.take(queue, "w1")
    await stage.crash()
    for job in batch[2:]:
        stage.equal((await stage.look(job))["state"], "available", "state after the restart")
    reply = (await stage.get(f"jobs/{done['id']}/result")).expect(200, {"state": "completed"})
    stage.equal(reply["result"], {"kept": True}, "result")
    stage.equal((await stage.look(held))["state"], "active", "state of the held job")
    (await stage.ack(held, "w1", attempt=1)).expect(200)


@case("OJS-ENQ-004")
async def options_inside(stage: Stage) -> None:
    """The options of a job count in `options`."""
    queue = stage.name()
    kept = {"queue": queue, "priority": 5, "expires_at": FUTURE}
    options = {**kept, "retry": {"max_attempts": 7}, "timeout_ms": 60_000, "tags": ["a"]}
    body: dict[str, Any] = {"type": "test.case", "args": [], "options": options}
    job = stage.job_in((await stage.call("POST", "jobs", body)).expect(201))
    stage.equal([job["queue"], job["priority"]], [queue, 5], "queue and priority")
    stage.equal(job["max_attempts"], 7, "max_attempts")


@case("OJS-ENQ-036")
async def options_inside_and_outside(stage: Stage) -> None:
    """Options count at the top level and in `options`; there they win."""
    inside, outside = stage.name(), stage.name()
    plain = {"type": "test.case", "args": [], "queue": outside}
    cases = {
        "queue": (inside, outside, "queue"),
        "priority": (5, -5, "priority"),
        "timeout_ms": (1000, 2000, "timeout_ms"),
        "visibility_timeout_ms": (3000, 4000, "visibility_timeout_ms"),
        "scheduled_at": (FUTURE, "2098-12-31T23:59:59Z", "scheduled_at"),
        "expires_at": (FUTURE, "2098-12-31T23:59:59Z", "expires_at"),
        "tags": (["a"], ["b"], "tags"),
    }
    for name, (inner, outer, shown) in cases.items():
        flat = {**plain, name: outer}
        only_outside = (await stage.call("POST", "jobs", flat)).expect(201)
        stage.equal(only_outside[f"job.{shown}"], outer, f"{name} at the top level")
        options = {"queue": inside, name: inner}
        both = (await stage.call("POST", "jobs", {**flat, "options": options})).expect(201)
        stage.equal(both[f"job.{shown}"], inner, f"{name} in both places")
        stage.equal(both["job.queue"], inside, "queue")
    for outer, inner in (
        ({"timeout": 9}, {"timeout_ms": 1000}),
        ({"timeout_ms": 9000}, {"timeout": 1}),
        ({"timeout_ms": 1000}, {"timeout": None}),
    ):
        reply = await stage.call("POST", "jobs", {**plain, **outer, "options": inner})
        reply.expect(201, {"job.timeout_ms": 1000})


@case("OJS-ENQ-032")
async def outranked_members(stage: Stage) -> None:
    """A wrong member is refused although `options` outrank it."""
    plain = {"type": "test.case", "args": [], "queue": stage.name()}
    for outer, inner in (({"priority": 101}, {"priority": 5}), ({"timeout": -1}, {"timeout": 5})):
        reply = await stage.call("POST", "jobs", {**plain, **outer, "options": inner})
        reply.error(400, "invalid_request", field=next(iter(outer)))
    await stage.empty(plain["queue"])


@case("OJS-ENQ-006")
async def queues_come_with_jobs(stage: Stage) -> None:
    """A job may be sent to a queue that nobody has made, and is handed out from there."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job of the new queue")


@case("OJS-ENQ-006", "OJS-QUE-005")
async def queues_are_shown_with_jobs(stage: Stage) -> None:
    """A queue is there with its first job, and not before."""
    queue = stage.name()
    (await stage.get(f"queues/{queue}")).error(404, "not_found", resource_id=queue)
    await stage.enqueue(queue)
    (await stage.get(f"queues/{queue}")).expect(200, {"queue.name": {"$eq": queue}})


@case("OJS-ENQ-007")
async def metadata_joins_meta(stage: Stage) -> None:
    """`options.metadata` is merged into meta."""
    options = {"metadata": {"new": [2]}}
    reply = await stage.push(queue=stage.name(), meta={"kept": 1}, options=options)
    job = stage.job_in(reply.expect(201))
    stage.equal({name: job["meta"].get(name) for name in ("kept", "new")}, MERGED, "meta")


@case("OJS-ENQ-037")
async def metadata_wins_over_meta(stage: Stage) -> None:
    """`options.metadata` wins where meta has the same member, and nothing else is added."""
    meta = {"kept": 1, "both": "meta"}
    options = {"metadata": {"both": "metadata", "new": [2]}}
    job = stage.job_in(await stage.push(queue=stage.name(), meta=meta, options=options))
    stage.equal(job["meta"], {**MERGED, "both": "metadata"}, "meta")


@case("OJS-ENQ-008", level=2, capability="delayed_jobs")
async def delay_until(stage: Stage) -> None:
    """A job with `delay_until` is scheduled."""
    job = await stage.enqueue(stage.name(), delay_until=FUTURE)
    stage.equal(job["state"], "scheduled", "state")


@case("OJS-ENQ-038", level=2, capability="delayed_jobs")
async def scheduled_at_wins_over_delay_until(stage: Stage) -> None:
    """`delay_until` is shown as scheduled_at, which wins over it."""
    queue = stage.name()
    job = await stage.enqueue(queue, delay_until=FUTURE)
    stage.equal(job["scheduled_at"], FUTURE, "scheduled_at")
    other = "2098-01-01T00:00:00Z"
    job = await stage.enqueue(queue, delay_until=FUTURE, scheduled_at=other)
    stage.equal(job["scheduled_at"], other, "scheduled_at where both are given")


@case("OJS-ENQ-039")
async def pending_jobs_with_times(stage: Stage) -> None:
    """A pending job waits for ACTIVATE, whatever time it has."""
    queue = stage.name()
    for when in ("2001-01-01T00:00:00Z", FUTURE):
        job = await stage.enqueue(queue, pending=True, scheduled_at=when)
        stage.equal(job["state"], "pending", f"state with {when}")
        await stage.empty(queue)
        (await stage.post(f"jobs/{job['id']}/activate")).expect(200)
        stage.equal((await stage.take(queue))["id"], job["id"], "the job that was activated")


@case("OJS-ENQ-010", "OJS-VIS-019", level=2, capability="job_ttl")
async def expired_on_arrival(stage: Stage) -> None:
    """A job that has expired already is accepted, never handed out, and discarded."""
    queue = stage.name()
    job = await stage.enqueue(queue, expires_at="2001-01-01T00:00:00Z")
    await stage.empty(queue)
    await stage.until_state(job, "discarded", 3)
    stage.equal((await stage.look(job))["error"]["code"], "expired", "error.code")


@case("OJS-ENQ-012")
async def tags_and_schema(stage: Stage) -> None:
    """Tags and schema are kept as they are, within their bounds."""
    queue, tags = stage.name(), [f"t{number}" for number in range(100)]
    job = await stage.enqueue(queue, tags=tags, schema="urn:x:" + "y" * 2042)
    seen = await stage.look(job)
    stage.equal(seen["tags"], tags, "tags")
    stage.equal(len(seen["schema"]), 2048, "characters of schema")
    short = await stage.enqueue(queue, schema="s")
    stage.equal(short["schema"], "s", "schema of one character")
    for wrong in ([*tags, "one more"], "a", [1], {"a": 1}):
        (await stage.push(queue=queue, tags=wrong)).error(400, "invalid_request")
    bad: tuple[Any, ...] = ("x" * 2049, 7, {})
    for wrong_schema in bad:
        (await stage.push(queue=queue, schema=wrong_schema)).error(400, "invalid_request")


@case("OJS-ENQ-013", level=4, capability="pause_resume")
async def paused_queues_take_jobs(stage: Stage) -> None:
    """A paused queue takes jobs, which are handed out once it is resumed."""
    queue = stage.name()
    (await stage.post(f"queues/{queue}/pause", {})).expect(200)
    job = await stage.enqueue(queue)
    (await stage.post(f"queues/{queue}/resume", {})).expect(200)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job")


@case("OJS-FET-011", "OJS-QUE-010", "OJS-QUE-011", level=4, capability="pause_resume")
async def paused_queues_hand_nothing_out(stage: Stage) -> None:
    """A paused queue hands nothing out until it is resumed, and a job that is held can be ended."""
    queue = stage.name()
    waiting = {(await stage.enqueue(queue))["id"] for _ in range(3)}
    held = await stage.take(queue)
    waiting.remove(held["id"])
    (await stage.post(f"queues/{queue}/pause")).expect(200)
    await stage.empty(queue)
    (await stage.ack(held)).expect(200)
    await stage.empty(queue)
    (await stage.post(f"queues/{queue}/resume")).expect(200)
    handed = {(await stage.take(queue))["id"] for _ in waiting}
    stage.equal(sorted(handed), sorted(waiting), "the jobs handed out after the pause")


@case("OJS-QUE-017", "OJS-ENQ-013", level=4, capability="pause_resume")
async def pauses_keep_the_order(stage: Stage) -> None:
    """Jobs that wait and those that come during a pause are handed out in their order after it."""
    queue = stage.name()
    first = await stage.enqueue(queue)
    for _ in range(2):
        (await stage.post(f"queues/{queue}/pause")).expect(200, {"queue.paused": True})
    second = await stage.enqueue(queue)
    stage.equal(second["state"], "available", "state")
    for _ in range(2):
        (await stage.post(f"queues/{queue}/resume")).expect(200, {"queue.paused": False})
    order = [job["id"] for job in await stage.fetch(queue, count=5)]
    stage.equal(order, [first["id"], second["id"]], "order after the pause")


@case("OJS-ENQ-014", "OJS-ENQ-016", "OJS-ENQ-017")
async def wrong_members(stage: Stage) -> None:
    """A job without type or args, or with args that are no array, is refused and not stored."""
    queue = stage.name()
    options = {"queue": queue}
    bad: tuple[dict[str, Any], ...] = (
        {"args": []},
        {"type": "test.case"},
        {"type": "test.case", "args": "x"},
        {"type": "test.case", "args": {"a": 1}},
    )
    for body in bad:
        (await stage.post("jobs", {**body, "options": options})).expect((400, 422))
    await stage.empty(queue)


@case("OJS-ENQ-040", "OJS-ENQ-016", "OJS-ERR-003", "OJS-ERR-006")
async def wrong_members_are_named(stage: Stage) -> None:
    """A member that is missing, of the wrong kind or out of range is 400 and named."""
    queue = stage.name()
    for path, body in (("type", {"args": []}), ("args", {"type": "test.case"})):
        (await stage.post("jobs", {**body, "queue": queue})).error(
            400, "invalid_request", field=path
        )
    for name, wrong in (
        ("meta", [1]),
        ("timeout_ms", "soon"),
        ("timeout_ms", -1),
        ("visibility_timeout_ms", 0),
        ("pending", "yes"),
        ("expires_at", "never"),
        ("options", []),
        ("retry", 5),
    ):
        reply = await stage.push(**{"queue": queue, name: wrong})
        reply.error({"$in": [400, 422]}, "string:nonempty")
        text = f"{reply['error.message']} {reply.json['error'].get('details')}"
        stage.check(name in text, f"{name} in the message or details", text)
    await stage.empty(queue)
    (await stage.get(f"queues/{queue}")).expect(404)


WRONG_POLICIES: tuple[tuple[str, Any], ...] = (
    ("max_attempts", -1),
    ("max_attempts", 1.5),
    ("backoff_coefficient", 0.5),
    ("initial_interval", "PT0S"),
    ("initial_interval", "soon"),
    ("jitter", "yes"),
    ("on_exhaustion", "explode"),
    ("non_retryable_errors", "Timeout"),
    ("non_retryable_errors", [""]),
)


@case("OJS-ENQ-015", "OJS-RET-002", level=1)
async def wrong_policies(stage: Stage) -> None:
    """A job whose retry policy is wrong is refused."""
    queue = stage.name()
    for name, wrong in WRONG_POLICIES:
        (await stage.push(queue=queue, retry={name: wrong})).expect((400, 422))
    retry = {"initial_interval": "PT10S", "max_interval": "PT5S"}
    (await stage.push(queue=queue, retry=retry)).expect((400, 422))
    await stage.empty(queue)


@case("OJS-ENQ-034", level=1)
async def wrong_policies_are_named(stage: Stage) -> None:
    """A wrong retry policy is 422 validation_error, and the member is named."""
    queue = stage.name()
    for name, wrong in WRONG_POLICIES:
        reply = await stage.push(queue=queue, retry={name: wrong})
        reply.error(422, "validation_error")
        message = reply["error.message"]
        stage.check(name in message, f"{name} in the message", message)


@case("OJS-RET-002", "OJS-RET-025", "OJS-RET-027", level=1)
async def bounds_of_policies(stage: Stage) -> None:
    """A retry policy with a value out of its bounds is 422, and the member is named."""
    queue = stage.name()
    for name, wrong in (
        ("max_attempts", 1_000_001),
        ("backoff_coefficient", 1001),
        ("backoff_strategy", "random"),
        ("non_retryable_errors", ["x"] * 101),
    ):
        reply = await stage.push(queue=queue, retry={name: wrong})
        reply.error(422, "validation_error")
        message = reply["error.message"]
        stage.check(name in message, f"{name} in the message", message)
    retry = {"initial_interval": "PT10S", "max_interval": "PT5S"}
    (await stage.push(queue=queue, retry=retry)).error(422, "validation_error")
    await stage.empty(queue)


@case("OJS-ENQ-018", "OJS-ENQ-020", level=4, capability="batch_enqueue", alone=True)
async def batches(stage: Stage) -> None:
    """A batch of a thousand jobs is accepted; no jobs, or no array of them, is refused."""
    queue = stage.name()
    job = {"type": "test.case", "args": [], "options": {"queue": queue}}
    body = {"jobs": [job] * 1000}
    reply = (await stage.post("jobs/batch", body)).expect(201, {"jobs": {"$size": 1000}})
    stage.equal(len({job["id"] for job in reply["jobs"]}), 1000, "different jobs")
    bad: tuple[Any, ...] = ([], {}, "x", None)
    for wrong in bad:
        (await stage.post("jobs/batch", {"jobs": wrong})).expect((400, 422))


@case("OJS-ENQ-024", "OJS-ENQ-042", level=4, capability="batch_enqueue", alone=True)
async def batches_keep_their_order(stage: Stage) -> None:
    """The jobs of a batch are answered in its order as full envelopes, and handed out in it."""
    queue = stage.name()
    jobs = [{"type": "test.case", "args": [number], "queue": queue} for number in range(1000)]
    reply = (await stage.post("jobs/batch", {"jobs": jobs})).expect(
        201, {"jobs": {"$size": 1000}, "count": 1000}
    )
    stage.equal(reply.headers.get("x-ojs-batch-size"), "1000", "X-OJS-Batch-Size")
    stage.equal([job["args"][0] for job in reply["jobs"]], list(range(1000)), "order answered")
    members = {"specversion", "id", "state", "meta", "priority", "attempt", "created_at"}
    stage.check(members <= set(reply["jobs"][0]), "full envelopes", reply["jobs"][0])
    taken = [job["args"][0] for job in await stage.fetch(queue, count=100)]
    stage.equal(taken, list(range(100)), "order handed out")
    bad: tuple[Any, ...] = ([], {}, "x", None)
    for wrong in bad:
        (await stage.post("jobs/batch", {"jobs": wrong})).error(400, "invalid_request")


@case("OJS-ENQ-018", level=4, capability="batch_enqueue")
async def batches_keep_options(stage: Stage) -> None:
    """A job of a batch has its options as if it had been enqueued alone."""
    queue, first, second = stage.name(), stage.new_id(), stage.new_id()
    job = {"type": "test.case", "args": [], "meta": {"m": 1}}
    options = {"queue": queue, "retry": {"max_attempts": 7}}
    of_claims: dict[str, dict[str, Any]] = {
        "priority_queues": {"priority": 3},
        "delayed_jobs": {"scheduled_at": FUTURE},
        "job_ttl": {"expires_at": LATER},
    }
    kept = dict[str, Any]()
    for name, options_of_it in of_claims.items():
        if stage.claims(name):
            kept |= options_of_it
    body = {
        "jobs": [
            {**job, "id": first, "options": {**options, **kept}},
            {**job, "id": second, "options": options},
        ]
    }
    (await stage.post("jobs/batch", body)).expect(201, {"jobs": {"$size": 2}})
    later, now = await stage.look(first), await stage.look(second)
    states = ["scheduled" if "scheduled_at" in kept else "available", "available"]
    stage.equal([later["state"], now["state"]], states, "states")
    if "priority" in kept:
        stage.equal(later["priority"], 3, "priority")
    if "expires_at" in kept:
        stage.equal(moment(later["expires_at"]), moment(LATER), "expires_at")
    for shown in (later, now):
        stage.equal(shown["max_attempts"], 7, "max_attempts")
        stage.equal(shown["meta"].get("m"), 1, "the member of meta")
    if "scheduled_at" in kept:
        stage.equal((await stage.take(queue))["id"], now["id"], "the job that is due")


@case("OJS-ENQ-018", "OJS-ENQ-042", level=4, capability="batch_enqueue")
async def batches_show_options(stage: Stage) -> None:
    """The answer to a batch shows the options of its jobs, as reading them does."""
    queue = stage.name()
    kept = {
        "priority": 3,
        "timeout_ms": 4000,
        "visibility_timeout_ms": 9000,
        "scheduled_at": FUTURE,
        "expires_at": LATER,
        "tags": ["a"],
    }
    job = {"type": "test.case", "args": [], "meta": {"m": 1}}
    options = {"queue": queue, "retry": {"max_attempts": 7}}
    body = {"jobs": [{**job, "options": {**options, **kept}}, {**job, "options": options}]}
    later, now = (await stage.post("jobs/batch", body)).expect(201, {"jobs": {"$size": 2}})["jobs"]
    for shown in (later, await stage.look(later)):
        stage.equal({name: shown[name] for name in kept}, kept, "options of the first job")
    for shown in (later, now):
        stage.equal([shown["max_attempts"], shown["meta"]], [7, {"m": 1}], "options of both")


@case("OJS-ENQ-019", "OJS-ENQ-016", level=4, capability="batch_enqueue")
async def batches_are_whole(stage: Stage) -> None:
    """A batch with a wrong job is refused whole."""
    queue = stage.name()
    options = {"queue": queue}
    good: dict[str, Any] = {"type": "test.case", "args": [], "options": options}
    bad: tuple[tuple[int, dict[str, Any]], ...] = (
        (0, {"args": [], "options": options}),
        (1, {"type": "test.case", "args": "x", "options": options}),
        (2, {"type": "test.case", "options": options}),
    )
    for place, wrong in bad:
        jobs = [good, good, good]
        jobs[place] = wrong
        (await stage.post("jobs/batch", {"jobs": jobs})).expect((400, 422))
    await stage.empty(queue)


@case("OJS-ENQ-021", "OJS-ENQ-019", level=4, capability="batch_enqueue")
async def wrong_jobs_have_places(stage: Stage) -> None:
    """The error for a wrong job of a batch is its own, with its place."""
    queue = stage.name()
    good: dict[str, Any] = {"type": "test.case", "args": [], "queue": queue}
    bad: tuple[tuple[int, dict[str, Any], int, str], ...] = (
        (0, {"args": []}, 400, "invalid_request"),
        (2, {**good, "priority": 1000}, 400, "invalid_request"),
        (1, {**good, "retry": {"max_attempts": -1}}, 422, "validation_error"),
    )
    for place, wrong, status, code in bad:
        jobs = [good, good, good]
        jobs[place] = wrong
        (await stage.post("jobs/batch", {"jobs": jobs})).error(status, code, index=place)
    kinds: tuple[dict[str, Any], ...] = ({"args": "x"}, {"args": {"a": 1}}, {})
    for args in kinds:
        jobs = [{"type": "test.case", "queue": queue, **args}] * 3
        (await stage.post("jobs/batch", {"jobs": jobs})).error(400, "invalid_request")
    await stage.empty(queue)


@case("OJS-ENQ-022", "OJS-LIM-007", level=4, capability="batch_enqueue")
async def batches_have_a_limit(stage: Stage) -> None:
    """More than a thousand jobs are 413 BATCH_SIZE_EXCEEDED, with the limit."""
    job = {"type": "test.case", "args": [], "queue": stage.name()}
    reply = await stage.post("jobs/batch", {"jobs": [job] * 1001})
    reply.error(413, "BATCH_SIZE_EXCEEDED", max_batch_size=1000)
    stage.equal(reply.headers.get("x-ojs-max-batch-size"), "1000", "X-OJS-Max-Batch-Size")
    await stage.empty(job["queue"])


@case("OJS-ENQ-023", level=4, capability="batch_enqueue")
async def batches_with_one_id_twice(stage: Stage) -> None:
    """Two jobs with one id in a batch are refused."""
    queue = stage.name()
    job = {"type": "test.case", "args": [], "queue": queue, "id": stage.new_id()}
    (await stage.post("jobs/batch", {"jobs": [job, job]})).error(400, "invalid_request")
    await stage.empty(queue)


@case("OJS-ENQ-029", "OJS-ENQ-041")
async def arguments_that_must_be_there(stage: Stage) -> None:
    """Empty arguments are refused only where `meta.ojs_validate` is true."""
    (await stage.push(meta={"ojs_validate": True})).error(422, "validation_error")
    for members in (
        {"meta": {"ojs_validate": True}, "args": [None]},
        {"meta": {"ojs_validate": "true"}},
        {"meta": {"ojs_validate": False}},
        {},
    ):
        (await stage.push(queue=stage.name(), **members)).expect(201)


@case("OJS-ENQ-031")
async def requests_that_have_ids(stage: Stage) -> None:
    """A job says which request brought it, if the request has an id that its client chose."""
    queue, request_id = stage.name(), stage.name("request")
    job = {"type": "test.case", "args": [], "queue": queue}
    own = {**job, "meta": {"request_id": "mine"}}
    for path, body, own_body, found in (
        ("jobs", job, own, "job.meta"),
        ("jobs/batch", {"jobs": [job]}, {"jobs": [own]}, "jobs[0].meta"),
    ):
        reply = (await stage.post(path, body, X_Request_Id=request_id)).expect(201)
        stage.equal(reply[found].get("request_id"), request_id, f"request_id after {path}")
        reply = (await stage.post(path, own_body, X_Request_Id=request_id)).expect(201)
        stage.equal(reply[found].get("request_id"), "mine", "the producer's own")
        reply = (await stage.post(path, body)).expect(201)
        stage.check("request_id" not in reply[found], "no request_id", reply.text)
    taken = await stage.take(queue)
    stage.equal(taken["meta"].get("request_id"), request_id, "request_id at the FETCH")
    same = {**job, "id": stage.new_id()}
    (await stage.post("jobs", same, X_Request_Id=request_id)).expect(201)
    again = (await stage.post("jobs", same, X_Request_Id=stage.name("request"))).expect(200)
    stage.equal(again["job.meta"].get("request_id"), request_id, "the first request's id")


@case("OJS-ENQ-030")
async def what_extensions_send(stage: Stage) -> None:
    """Members of an extension in meta and arguments come back as sent."""
    queue = stage.name()
    meta = {
        "ojs_encoded": True,
        "ojs.codec.encodings": ["zstd/plain", "binary/encrypted"],
        "ojs.codec.key_id": "key-1",
        "ojs.federation.region_load": 0.65,
        "ojs.federation.weights": {"us-east-1": 70},
        "serverless": {"memory_mb": 256},
    }
    args = ["ZW5jcnlwdGVk"]
    first = await stage.enqueue(queue, args=args, meta=meta)
    for place, job in await _places(stage, queue, first):
        stage.equal(job["args"], args, f"args in {place}")
        for name, value in meta.items():
            stage.equal(job["meta"].get(name), value, f"{name} in {place}")


@case("OJS-ENQ-035")
async def members_of_extensions(stage: Stage) -> None:
    """Members that an extension puts beside those of the protocol come back as sent."""
    queue = stage.name()
    sent = {
        "ext_agent_model": "gpt-4",
        "ext_agent_delegation_depth": 0,
        "ext_ml_gpu_count": 1,
        "ext_ml_node_affinity": {"required": [{"key": "zone", "values": ["a"]}]},
    }
    first = await stage.enqueue(queue, **sent)
    for place, job in await _places(stage, queue, first):
        for name, value in sent.items():
            stage.equal(job[name], value, f"{name} in {place}")


@case("OJS-ENQ-030", "OJS-ENQ-043", level=4, capability="batch_enqueue")
async def extensions_in_batches(stage: Stage) -> None:
    """Jobs of a batch keep what extensions send; other jobs do not gain it."""
    queue = stage.name()
    sent = {"args": ["ZW5jcnlwdGVk"], "meta": {"ojs_encoded": True, "ojs.codec.key_id": "key-1"}}
    jobs = {"jobs": [{"type": "test.case", "queue": queue, **sent}]}
    (first,) = (await stage.post("jobs/batch", jobs)).expect(201)["jobs"]
    for place, job in await _places(stage, queue, first):
        for name, value in sent.items():
            stage.equal(job[name], value, f"{name} in {place}")
    plain = await stage.enqueue(queue)
    stage.equal(plain["meta"], {}, "meta of a plain job")


async def _places(
    stage: Stage, queue: str, answered: Mapping[str, Any]
) -> list[tuple[str, Mapping[str, Any]]]:
    """A job as the answer to its enqueue, GET and FETCH show it."""
    read, taken = await stage.look(answered), await stage.take(queue)
    return [("the answer", answered), ("GET", read), ("FETCH", taken)]


@case("OJS-ENQ-033", level=1)
async def short_answers(stage: Stage) -> None:
    """With `Prefer: return=minimal` jobs are answered by id, queue and state."""
    queue = stage.name()
    job = {"type": "test.case", "args": [1], "id": stage.new_id(), "options": {"queue": queue}}
    short = {"id": job["id"], "queue": queue, "state": "available"}

    async def enqueue(path: str, body: object, status: int) -> Reply:
        reply = await stage.post(path, body, Prefer="return=minimal")
        reply.expect(status)
        applied = reply.headers.get("preference-applied")
        stage.equal(applied, "return=minimal", "Preference-Applied")
        return reply

    stage.equal((await enqueue("jobs", job, 201)).json, {"job": short}, "the answer")
    again = await enqueue("jobs", job, 200)
    stage.equal(again.json, {"job": short, "deduplicated": True}, "the answer to a repetition")
    fresh = {name: value for name, value in job.items() if name != "id"}
    batch = await enqueue("jobs/batch", {"jobs": [fresh, fresh]}, 201)
    bulk = await enqueue("jobs/bulk", {"jobs": [fresh]}, 201)
    for shown in (*batch["jobs"], bulk["items"][0]["job"]):
        stage.equal(shown, {**short, "id": shown["id"]}, "a job among many")
        stage.equal((await stage.look(shown))["args"], [1], "args of the stored job")
    whole = (await stage.post("jobs", job)).expect(200)
    stage.equal(whole["job.args"], [1], "args without the preference")
    refused = await stage.post("jobs", {"type": 1}, Prefer="return=minimal")
    refused.error(400, "invalid_request")
    stage.equal(refused.headers.get("preference-applied"), None, "Preference-Applied of an error")
