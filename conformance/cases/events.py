"""Cases of the event log: its events, their order, and how they are read."""

import asyncio
import time
from datetime import timedelta

from conformance.case import case
from conformance.cases.lifecycle import moment
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, record

EVENTS = "events"
KEPT_S = 2  # retention of the variant
_NEAR_MS = 50  # allowed difference between two clocks


def _types(events: list[Record]) -> list[str]:
    return [event["type"] for event in events]


async def _reported(stage: Stage, queue: str, *types: str, **query: str) -> list[Record]:
    """Return the events of a queue, each once, as soon as these types are among them."""
    found: dict[str, Record] = {}

    async def are_there() -> bool:
        reply = await stage.get("events", queues=queue, limit=100, **query)
        # Events may be sent only; reading them is what these cases need, not what they are about.
        stage.need(
            reply.status != 404, "events cannot be read here: GET /ojs/v1/events is optional"
        )
        for event in reply.expect(200)["events"]:
            reported = record(event, reply)
            found.setdefault(reported["id"], reported)
        return set(types) <= {event["type"] for event in found.values()}

    await stage.until(are_there, 5, f"the events {', '.join(types)}")
    return list(found.values())


@case("OJS-EVT-002", "OJS-EVT-003", "OJS-EVT-005", "OJS-EVT-006", level=1, capability=EVENTS)
async def the_life_of_a_job(stage: Stage) -> None:
    """Every step of a job has its event, in order, with the data that belongs to it."""
    queue, worker = stage.name(), stage.name("w")
    retry = {"max_attempts": 2, "initial_interval": "PT0.3S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue, worker)
    (await stage.fail(job, worker)).expect(200)

    async def is_back() -> bool:
        return bool(await stage.fetch(queue, worker))

    await stage.until(is_back, 5, "the job handed out again")
    (await stage.fail(job, worker)).expect(200)
    steps = ["job.started", "job.failed", "job.retrying", "job.started", "job.failed"]
    reported = await _reported(stage, queue, "job.enqueued", "job.discarded", *steps)
    for event in reported:
        stage.equal(event["specversion"], "1.0", "specversion")
        stage.check(":" in event["source"], "a URI as source", event["source"])
        stage.check(bool(event["time"]), "its time", event)
        if event["type"].startswith("job."):
            about = [event["data"]["job_type"], event["data"]["queue"]]
            stage.equal(about, ["test.case", queue], f"data of {event['type']}")
    # A retry that joins its queue is enqueued once more, and there may be events of other kinds.
    known = [event for event in reported if event["type"] in (*steps, "job.discarded")]
    stage.equal(_types(known), [*steps, "job.discarded"], "types")
    stage.equal(_types(reported)[0], "job.enqueued", "the first type")
    data = [event["data"] for event in known]
    for number, at in ((1, 0), (2, 3)):
        stage.equal([data[at]["worker_id"], data[at]["attempt"]], [worker, number], "started")
        stage.equal(data[at + 1]["attempt"], number, "attempt of job.failed")
        error = data[at + 1]["error"]
        stage.check(bool(error["code"]) and bool(error["message"]), "code and message", error)
        stage.check(isinstance(error["retryable"], bool), "retryable", error)
    stage.equal([data[2]["attempt"], data[2]["max_attempts"]], [1, 2], "attempts of job.retrying")
    stage.check(bool(data[2]["next_retry_at"]), "next_retry_at", data[2])
    stage.check(bool(data[2]["error"]["message"]), "error.message of job.retrying", data[2])
    stage.equal(data[5]["total_attempts"], 2, "total_attempts")
    stage.check(bool(data[5]["last_error"]["message"]), "last_error.message", data[5])


@case("OJS-EVT-003", level=1, capability=EVENTS)
async def other_events_of_jobs(stage: Stage) -> None:
    """Completion, cancelling and renewed leases are told, and waiting, where jobs can wait."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue(queue)
    taken = await stage.take(queue, worker, visibility_timeout_ms=4_000)
    await asyncio.sleep(0.3)  # a BEAT now extends the lease by enough to be written
    await stage.beat(worker, [taken], active_jobs=[taken["id"]])
    (await stage.ack(taken, worker)).expect(200)
    gone = await stage.enqueue(queue)
    (await stage.delete(f"jobs/{gone['id']}")).expect(200)
    expected = {
        "job.heartbeat": ("worker_id", "attempt", "visible_until"),
        "job.completed": ("attempt", "duration_ms"),
        "job.cancelled": (),
    }
    if stage.claims("delayed_jobs"):
        await stage.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
        expected["job.scheduled"] = ("scheduled_at",)
    data = {event["type"]: event["data"] for event in await _reported(stage, queue, *expected)}
    for name, members in expected.items():
        missing = [each for each in ("job_type", "queue", *members) if data[name].get(each) is None]
        stage.equal(missing, [], f"members that {name} lacks")


@case("OJS-EVT-003", level=1, capability=EVENTS)
async def jobs_of_a_batch(stage: Stage) -> None:
    """Each job of a batch has the events of a job that was enqueued by itself."""
    stage.need(stage.claims("batch_enqueue"), "it claims no batches")
    queue, count = stage.name(), 3
    jobs = await stage.enqueue_many(queue, count)
    for _ in jobs:
        (await stage.ack(await stage.take(queue))).expect(200)
    for kind in ("job.enqueued", "job.started", "job.completed"):

        async def are_there(kind: str = kind) -> bool:
            return _types(await _reported(stage, queue)).count(kind) == count

        await stage.until(are_there, 5, f"{count} times {kind}")


@case("OJS-EVT-014", level=1, capability=EVENTS)
async def events_of_traced_jobs(stage: Stage) -> None:
    """The trace of a job is in the data of each of its events."""
    queue, trace = stage.name(), "0af7651916cd43dd8448eb211c80319c"
    parent = f"00-{trace}-b7ad6b7169203331-01"
    await stage.done(queue, meta={"trace_id": trace, "traceparent": parent})
    reported = await _reported(stage, queue, "job.enqueued", "job.started", "job.completed")
    found = {event["data"]["trace_id"] for event in reported if event["type"].startswith("job.")}
    stage.equal(sorted(found), [trace], "trace_id of its events")


@case("OJS-EVT-032", level=1, capability=EVENTS)
async def names_of_a_trace(stage: Stage) -> None:
    """Of two names of a trace the plain one is in the events."""
    queue = stage.name()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await stage.done(queue, meta={"trace_id": "mine", "traceparent": parent})
    found = {event["data"]["trace_id"] for event in await stage.events(queue)}
    stage.equal(sorted(found), ["mine"], "trace_id of its events")


@case("OJS-EVT-003", level=2, capability=EVENTS)
async def expired_jobs(stage: Stage) -> None:
    """A job that was not started in time is told of as expired, with its times."""
    stage.need(stage.claims("job_ttl"), "jobs do not expire: capability job_ttl not claimed")
    queue = stage.name()
    ends = moment((await stage.enqueue(stage.name()))["created_at"]) + timedelta(seconds=1)
    await stage.enqueue(queue, expires_at=ends.isoformat().replace("+00:00", "Z"))
    await asyncio.sleep(1.3)
    await stage.empty(queue)
    reported = await _reported(stage, queue, "job.expired")
    (data,) = [event["data"] for event in reported if event["type"] == "job.expired"]
    missing = [name for name in ("created_at", "expired_at", "ttl_ms") if data.get(name) is None]
    stage.equal(missing, [], "members that job.expired lacks")


@case(
    *("OJS-EVT-001", "OJS-EVT-002", "OJS-EVT-003", "OJS-EVT-005", "OJS-EVT-022", "OJS-EVT-023"),
    "OJS-EVT-024",
    level=1,
    capability=EVENTS,
)
async def told_at_once(stage: Stage) -> None:
    """Events of a job are in the log as soon as its call is answered, with all their members."""
    queue, worker = stage.name(), stage.name("w")
    retry = {"max_attempts": 2, "initial_interval_ms": 300, "jitter": False}
    job = await stage.enqueue(queue, retry=retry, priority=3)
    await stage.take(queue, worker)
    (await stage.fail(job, worker, error={"code": "c", "message": "m"})).expect(200)
    await stage.until_state(job, "available")
    await stage.take(queue, worker)
    (await stage.fail(job, worker)).expect(200)
    events = await stage.events(queue, types="job.*")
    first = ["job.enqueued", "job.started", "job.failed", "job.retrying"]
    # A retry that joins its queue may have an event of its own.
    again = ["job.enqueued"] * (_types(events).count("job.enqueued") - 1)
    expected = [*first, *again, "job.started", "job.failed", "job.discarded"]
    stage.equal(_types(events), expected, "types")
    for event in events:
        stage.equal(event["specversion"], "1.0", "specversion")
        stage.equal(event["subject"], job["id"], "subject")
        stage.check(":" in event["source"] or "/" in event["source"], "a URI", event["source"])
        stage.check(bool(event["time"]) and bool(event["datacontenttype"]), "its members", event)
        common = {"job_id": job["id"], "job_type": "test.case", "queue": queue}
        stage.equal({name: event["data"].get(name) for name in common}, common, event["type"])
    data = {event["type"]: event["data"] for event in events}
    stage.equal(events[0]["data"]["priority"], 3, "priority")
    stage.equal(data["job.started"]["worker_id"], worker, "worker_id")
    stage.equal(data["job.started"]["attempt"], 2, "attempt")
    failed = next(event["data"] for event in events if event["type"] == "job.failed")
    members = {"code": "c", "type": "c", "message": "m", "retryable": True}
    stage.equal({name: failed["error"].get(name) for name in members}, members, "error")
    stage.check(failed["duration_ms"] >= 0, "duration_ms", failed)
    stage.equal(data["job.retrying"]["max_attempts"], 2, "max_attempts")
    stage.check("next_retry_at" in data["job.retrying"], "next_retry_at", data["job.retrying"])
    stage.equal(data["job.discarded"]["total_attempts"], 2, "total_attempts")
    stage.check("last_error" in data["job.discarded"], "last_error", data["job.discarded"])


@case("OJS-EVT-003", "OJS-EVT-024", level=1, capability=EVENTS)
async def further_events_of_jobs(stage: Stage) -> None:
    """Completion, cancelling, requeueing, beating, waiting, expiry and dead letters are told."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)
    await stage.take(queue, worker)
    (await stage.fail(job, worker, requeue=True)).expect(200)
    await stage.take(queue, worker, visibility_timeout_ms=4_000)
    await asyncio.sleep(0.3)  # a BEAT now extends the lease by enough to be written
    await stage.beat(worker, [job])
    (await stage.ack(job, worker)).expect(200)
    later = await stage.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    (await stage.delete(f"jobs/{later['id']}")).expect(200)
    expired = await stage.enqueue(queue, expires_at="+PT0.3S")
    await stage.until_state(expired, "discarded", 3)
    for verb in ("retry", "delete"):
        dead = await stage.discarded(queue)
        if verb == "retry":
            (await stage.post(f"dead-letter/{dead['id']}/retry", {})).expect(200)
            (await stage.ack(await stage.take(queue))).expect(200)
        else:
            (await stage.delete(f"dead-letter/{dead['id']}")).expect(200)
    data = {event["type"]: event["data"] for event in await stage.events(queue)}
    for name, members in {
        "job.released": ("worker_id", "attempt"),
        "job.heartbeat": ("worker_id", "attempt", "visible_until"),
        "job.completed": ("attempt", "duration_ms"),
        "job.scheduled": ("scheduled_at",),
        "job.cancelled": ("previous_state",),
        "job.expired": ("created_at", "expired_at", "ttl_ms"),
        "dead_letter.retried": ("total_attempts",),
        "dead_letter.deleted": ("total_attempts",),
    }.items():
        stage.check(name in data, name, sorted(data))
        missing = [member for member in members if data[name].get(member) is None]
        stage.equal(missing, [], f"members that {name} lacks")
    stage.equal(data["job.cancelled"]["previous_state"], "scheduled", "previous_state")


@case("OJS-EVT-024", level=1, capability=EVENTS)
async def the_time_in_a_queue(stage: Stage) -> None:
    """The event of a start has the time for which the job was in its queue."""
    queue = stage.name()
    requested_at = time.monotonic()
    await stage.enqueue(queue)
    joined_at = time.monotonic()
    await asyncio.sleep(0.4)
    fetched_at = time.monotonic()
    await stage.take(queue)
    least, most = 1000 * (fetched_at - joined_at), 1000 * (time.monotonic() - requested_at)
    reported = await _reported(stage, queue, "job.started")
    (waited,) = [
        each["data"]["queue_time_ms"] for each in reported if each["type"] == "job.started"
    ]
    near = least - _NEAR_MS <= waited <= most + _NEAR_MS
    stage.check(near, f"a queue_time_ms from {least:.0f} to {most:.0f}", waited)


@case("OJS-EVT-004", level=4, capability=EVENTS)
async def events_of_queues_and_workers(stage: Stage) -> None:
    """Pausing and resuming a queue have events."""
    stage.need(stage.claims("pause_resume"), "capability pause_resume not claimed")
    queue = stage.name()
    await stage.enqueue(queue)
    (await stage.post(f"queues/{queue}/pause")).expect(200)
    (await stage.post(f"queues/{queue}/resume")).expect(200)
    expected = ["queue.paused", "queue.resumed"]
    reported = await _reported(stage, queue, *expected)
    about = [event["data"]["queue"] for event in reported if event["type"] in expected]
    stage.equal(about, [queue, queue], "data.queue")


@case("OJS-EVT-025", "OJS-EVT-026", level=1, capability=EVENTS)
async def events_of_workers(stage: Stage) -> None:
    """Workers that start, fall quiet and stop have events, whose subject they are."""
    queue, worker = stage.name(), stage.name("w")
    (await stage.post(f"queues/{queue}/pause")).expect(200)
    events = await stage.events(queue)
    stage.equal(events[0]["subject"], queue, "subject")
    profile = {"worker_id": worker, "queues": [queue], "concurrency": 4}
    (await stage.post("workers/register", profile)).expect(200)
    await stage.beat(worker, state="quiet")
    (await stage.post("workers/deregister", {"worker_id": worker})).expect(200)
    expected_types = ["worker.started", "worker.quiet", "worker.stopped"]
    types = ",".join(expected_types)
    found = [event for event in await _all(stage, types) if event["subject"] == worker]
    stage.equal(_types(found), expected_types, "types")
    data = found[0]["data"]
    expected = {"worker_id": worker, "queues": [queue], "concurrency": 4}
    stage.equal({name: data.get(name) for name in expected}, expected, "data of worker.started")
    stage.check("incarnation" in data, "incarnation", data)


async def _all(stage: Stage, types: str) -> list[Record]:
    found: list[Record] = []
    after: dict[str, str] = {}
    while True:
        page = (await stage.get("events", types=types, limit=1000, **after)).expect(200)
        found += [Record(event) for event in page["events"]]
        if not page["has_more"]:
            return found
        after = {"after": page["cursor"]}


@case("OJS-EVT-006", "OJS-EVT-007", level=0, capability=EVENTS)
async def after_an_event(stage: Stage) -> None:
    """Events can be read from behind one that is known."""
    queue = stage.name()
    await stage.done(queue)
    await _reported(stage, queue, "job.enqueued", "job.started", "job.completed")
    reply = (await stage.get("events", queues=queue, limit=100)).expect(200)
    known = list(dict.fromkeys(event["id"] for event in reply["events"]))
    rest = (await stage.get("events", queues=queue, limit=100, after=known[0])).expect(200)
    found = list(dict.fromkeys(event["id"] for event in rest["events"]))
    stage.equal(found, known[1:], "events after the first")


@case(
    *("OJS-EVT-007", "OJS-EVT-010", "OJS-EVT-011", "OJS-EVT-027", "OJS-EVT-028"),
    level=0,
    capability=EVENTS,
)
async def reading_page_by_page(stage: Stage) -> None:
    """Pages follow each other by cursor or by the id of an event, oldest first, with none twice."""
    queue = stage.name()
    for _ in range(5):
        await stage.enqueue(queue)
    all_ids = [event["id"] for event in await stage.events(queue)]
    stage.equal(len(set(all_ids)), 5, "different ids")
    for name in all_ids:
        stage.check(name.startswith("evt_") and len(name) == 40, "evt_ and a UUIDv7", name)
    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in range(200):
        page = (await stage.get("events", queues=queue, limit=2, **after)).expect(200)
        stage.check(len(page["events"]) <= 2, "at most two events", page.text)
        seen += [event["id"] for event in page["events"]]
        after = {"after": page["cursor"]}
        if not page["has_more"]:
            break
    stage.equal(seen, all_ids, "all pages by cursor")
    rest = (await stage.get("events", queues=queue, after=all_ids[2], limit=1000)).expect(200)
    stage.equal([event["id"] for event in rest["events"]][:2], all_ids[3:], "after an event's id")
    await stage.enqueue(queue)
    more = (await stage.get("events", queues=queue, limit=1000, **after)).expect(200)
    stage.equal(len(more["events"]), 1, "events behind the last cursor")
    (await stage.get("events", after="nonsense")).error(400, "invalid_request")


@case("OJS-EVT-010", level=0, capability=EVENTS)
async def the_last_page_is_full(stage: Stage) -> None:
    """A page that ends with the last wanted event says that there is no more."""
    queue, count = stage.name(), 4
    for _ in range(count):
        await stage.enqueue(queue)
    for limit in (count, count // 2):
        after: dict[str, str] = {}
        for number in range(count // limit):
            page = (await stage.get("events", queues=queue, limit=limit, **after)).expect(200)
            stage.equal(len(page["events"]), limit, "events on a page")
            stage.equal(page["has_more"], (number + 1) * limit < count, "has_more")
            after = {"after": page["cursor"]}


@case("OJS-EVT-008", level=0, capability=EVENTS)
async def no_event_is_missed(stage: Stage) -> None:
    """A reader that follows the cursor while many write sees every event, once."""
    queue, done = stage.name(), asyncio.Event()
    seen: list[str] = []

    async def read() -> None:
        after: dict[str, str] = {}
        while True:
            last = done.is_set()
            page = (await stage.get("events", queues=queue, limit=7, **after)).expect(200)
            seen.extend(event["subject"] for event in page["events"])
            if page["cursor"] is not None:  # null as long as the log is empty
                after = {"after": page["cursor"]}
            if last and not page["has_more"]:
                return

    async def write() -> list[str]:
        return [(await stage.enqueue(queue))["id"] for _ in range(15)]

    async with stage.waiting(read()) as (reader,):
        made = await asyncio.gather(*(write() for _ in range(8)))
        done.set()
        await asyncio.wait_for(reader, 30)
    expected = sorted(job for ids in made for job in ids)
    stage.equal(sorted(seen), expected, "events, each once")


@case("OJS-EVT-006", "OJS-EVT-009", level=0, capability=EVENTS)
async def choosing_events(stage: Stage) -> None:
    """Events are chosen by types, queues and job types, each a list."""
    first, second = stage.name(), stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    await stage.done(first, type=kind)
    await stage.enqueue(second, type=kind)
    await stage.enqueue(second)
    both = f"{first},{second}"
    await _reported(stage, first, "job.completed")
    await _reported(stage, second, "job.enqueued", job_types=kind)
    await _reported(stage, second, "job.enqueued", job_types="test.case")
    for query, expected in (
        ({"queues": first, "types": "job.started,job.completed"}, ["job.completed", "job.started"]),
        ({"queues": both, "types": "job.enqueued", "job_types": kind}, ["job.enqueued"] * 2),
        ({"queues": both, "types": "job.enqueued"}, ["job.enqueued"] * 3),
        ({"queues": second, "types": "job.completed"}, []),
    ):
        reply = (await stage.get("events", limit=100, **query)).expect(200)
        found = {event["id"]: event["type"] for event in reply["events"]}
        stage.equal(sorted(found.values()), expected, f"types for {query}")


@case("OJS-EVT-029", level=0, capability=EVENTS)
async def types_with_a_star(stage: Stage) -> None:
    """A star at the end of a type stands for any end."""
    queue = stage.name()
    await stage.enqueue(queue)
    await _reported(stage, queue, "job.enqueued", types="job.*")
    other = (await stage.get("events", queues=queue, types="queue.*", limit=100)).expect(200)
    kinds = {event["type"].partition(".")[0] for event in other["events"]}
    stage.check(kinds <= {"queue"}, "events of queues only", sorted(kinds))


@case("OJS-EVT-009", "OJS-EVT-029", "OJS-EVT-030", level=0, capability=EVENTS)
async def many_choices(stage: Stage) -> None:
    """Events are chosen at once by what is asked for, stars included, up to 100 names a list."""
    first, second = stage.name(), stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    await stage.done(first, type=kind)
    await stage.enqueue(second, type=kind)
    await stage.enqueue(second)
    for query, count in (
        ({"queues": f"{first},{second}"}, 5),
        ({"queues": first, "types": "job.started,job.completed"}, 2),
        ({"queues": first, "types": "job.*"}, 3),
        ({"queues": first, "types": "queue.*"}, 0),
        ({"queues": f"{first},{second}", "job_types": kind, "types": "job.enqueued"}, 2),
        ({"queues": second, "job_types": "test.case"}, 1),
    ):
        reply = (await stage.get("events", limit=1000, **query)).expect(200)
        stage.equal(len(reply["events"]), count, f"events for {query}")
    many = ",".join(f"q{number}" for number in range(101))
    (await stage.get("events", queues=many)).error(400, "invalid_request")


@case("OJS-EVT-019", level=1, capability="events")
async def cloud_events(stage: Stage) -> None:
    """Events are answered as CloudEvents if the query or Accept asks for that."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.fail(job, requeue=True)).expect(200)
    plain = await stage.events(queue)
    headers = {"Accept": "application/cloudevents+json"}
    replies = [
        await stage.get("events", queues=queue, format="cloudevents"),
        await stage.call("GET", "events", headers=headers, queues=queue, types="job.*"),
    ]
    for reply in replies:
        found = reply.expect(200)["events"]
        for event, known in zip(found, plain, strict=True):
            own = "x." if known["type"] == "job.released" else ""
            expected = {**known, "type": f"org.openjobspec.{own}{known['type']}"}
            stage.equal(event, expected, f"{known['type']} as a CloudEvent")
    (await stage.get("events", format="cloud")).error(400, "invalid_request", field="format")


@case("OJS-EVT-016", capability=EVENTS, own_server="brief", seconds=180)
async def places_before_what_is_kept(stage: Stage) -> None:
    """A cursor older than the oldest kept event is accepted, and continues with that event."""
    queue = stage.name()
    await stage.enqueue(queue)
    place = (await stage.events(queue))[0]["id"]

    async def none_is_left() -> bool:
        return not await stage.events(queue)

    await asyncio.sleep(KEPT_S + 0.5)
    # A server may remove old events rarely, and most do so at their start.
    await stage.crash()
    await stage.until(none_is_left, 120, "no event left")
    job = await stage.enqueue(queue)
    page = (await stage.get("events", after=place)).expect(200)
    found = [event["id"] for event in page["events"]]
    kept = await stage.events()
    stage.equal(found, [event["id"] for event in kept], "events behind the place")
    stage.equal(kept[0]["subject"], job["id"], "subject of the oldest that is kept")


@case("OJS-EVT-021", level=1, capability="admin_api")
async def newest_first(stage: Stage) -> None:
    """By page the log is read from its end, with the filters that count without pages."""
    queue = stage.name()
    jobs = [(await stage.enqueue(queue))["id"] for _ in range(3)]
    await stage.take(queue)
    enqueued = {"queues": queue, "type": "job.enqueued", "per_page": 2}
    first = (await stage.get("events", page=1, **enqueued)).expect(
        200, {"pagination.page": 1, "pagination.per_page": 2, "pagination.has_more": True}
    )
    last = (await stage.get("events", page=2, **enqueued)).expect(
        200, {"pagination.has_more": False}
    )
    found = [event["subject"] for page in (first, last) for event in page["items"]]
    stage.equal(found, jobs[::-1], "the jobs of the pages")
    stage.check(last["pagination"]["total"] >= 3, "a total", last["pagination"])
    later = await stage.get("events", page=1, queues=queue, after=first["items"][0]["id"])
    stage.equal([event["type"] for event in later["items"]], ["job.started"], "what came later")
    beyond = (await stage.get("events", page=9, **enqueued)).expect(200)
    stage.equal(beyond["items"], [], "items beyond the end")
