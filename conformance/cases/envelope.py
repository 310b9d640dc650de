"""Cases of the job envelope: members, values, and the additions and refusals of the server."""

from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.play.stage import Stage

FUTURE = "2099-12-31T23:59:59Z"


@case("OJS-ENV-002", "OJS-ENQ-001", "OJS-ENQ-005")
async def full_envelope(stage: Stage) -> None:
    """A new job is answered with every member that an envelope has."""
    reply = (await stage.post("jobs", {"type": "test.case", "args": [1]})).expect(
        201,
        {
            "job.specversion": "1.0",
            "job.id": "string:uuidv7",
            "job.type": "test.case",
            "job.queue": "default",
            "job.state": "available",
            "job.args": [1],
            "job.meta": {"$type": "object"},
            "job.priority": 0,
            "job.attempt": 0,
            "job.max_attempts": 3,
            "job.created_at": "string:datetime",
        },
    )
    (await stage.delete(f"jobs/{reply['job.id']}")).expect(200)


@case("OJS-ENV-003")
async def specversions(stage: Stage) -> None:
    """The known versions of the envelope are accepted and answered as 1.0; others are refused."""
    queue = stage.name()
    for version in ("1.0", "1.0.0", "1.0.0-rc.1"):
        reply = (await stage.push(queue=queue, specversion=version)).expect(201)
        stage.equal(reply["job.specversion"], "1.0", "specversion")
    wrong: tuple[Any, ...] = ("2.0", "1.1", "", "latest", 1.0)
    for other in wrong:
        (await stage.push(queue=queue, specversion=other)).error(400, "invalid_request")


@case("OJS-ENV-004")
async def job_types(stage: Stage) -> None:
    """Types of lower-case words are accepted; everything else is refused."""
    queue = stage.name()
    for name in ("a", "email.send", "a1_b-c.d2", "x" * 255):
        reply = await stage.push(queue=queue, type=name)
        reply.expect(201, {"job.type": {"$eq": name}})
    bad: tuple[object, ...] = (
        "",
        "Email.send",
        "1email",
        "email send",
        "email..send",
        ".a",
        "a.",
        "a.1b",
        "x" * 256,
    )
    for wrong in (*bad, "é", "a/b", 7, ["a"]):
        (await stage.push(queue=queue, type=wrong)).error(400, "invalid_request", field="type")


@case("OJS-ENV-005", "OJS-ENV-006")
async def payloads_are_untouched(stage: Stage) -> None:
    """Arguments and meta come back with equal values, on the answer, on FETCH and on reading."""
    deep: object = "bottom"
    for _ in range(40):
        deep = [deep]
    args = [None, True, 0, -1.5, 9007199254740993, "", "\u0000", "é\U0001f680", {"": [{}]}, deep]
    meta = {"a.b": {"c": [1, None]}, "type": "x", "nested": {"deep": deep}}
    queue = stage.name()
    job = await stage.enqueue(queue, args=args, meta=meta)
    for seen in (job, await stage.look(job), await stage.take(queue)):
        stage.equal(seen["args"], args, "args")
        stage.equal(seen["meta"], meta, "meta")
    empty = await stage.enqueue(queue, args=[])
    stage.equal(empty["args"], [], "args")
    stage.equal(empty["meta"], {}, "meta without any sent")


@case("OJS-ENV-005", "OJS-ENQ-014", "OJS-ENQ-016")
async def args_are_an_array(stage: Stage) -> None:
    """Arguments that are no array are refused, and nothing is stored."""
    queue = stage.name()
    wrong: tuple[Any, ...] = ({}, "text", 1, True, None)
    for args in wrong:
        (await stage.push(queue=queue, args=args)).error(400, "invalid_request", field="args")
    await stage.empty(queue)


@case("OJS-ENV-007")
async def queue_names(stage: Stage) -> None:
    """Queue names of lower-case letters, digits and inner signs are accepted; others refused."""
    good = stage.name()
    for name in (good, f"{good}.a_b-c", "q" * 200 + good.replace("-", "")[:50]):
        (await stage.push(queue=name)).expect(201, {"job.queue": {"$eq": name}})
    bad: tuple[Any, ...] = ("Default", "-a", "a-", "a b", "my_queue!", "", "q" * 256, ".", "é", 5)
    for wrong in bad:
        (await stage.push(queue=wrong)).error(400, "invalid_request")


@case("OJS-ENV-008")
async def priorities(stage: Stage) -> None:
    """Priorities from -100 to 100 are kept; anything else is refused."""
    queue = stage.name()
    for priority in (-100, -1, 0, 7, 100):
        job = await stage.enqueue(queue, priority=priority)
        stage.equal(job["priority"], priority, "priority")
    for wrong in (-101, 101, 999999, 1.5, "5", True, [1]):
        (await stage.push(queue=queue, priority=wrong)).error(
            400, "invalid_request", field="priority"
        )


@case("OJS-ENV-009")
async def client_chosen_ids(stage: Stage) -> None:
    """A UUIDv7 in lower case is kept as the id; any other form is refused; ids differ."""
    queue, chosen = stage.name(), stage.new_id()
    job = await stage.enqueue(queue, id=chosen)
    stage.equal(job["id"], chosen, "id")
    for wrong in (stage.new_id().upper(), "6f1c2b7e-8f0a-4f4e-9d6f-0c1d2e3f4a5b", "job-1", "", 7):
        (await stage.push(queue=queue, id=wrong)).error(400, "invalid_request", field="id")
    jobs = await stage.enqueue_many(queue, 50)
    stage.equal(len({job["id"] for job in jobs}), 50, "number of different ids")


@case("OJS-ENV-010", "OJS-ENV-013")
async def null_is_absent(stage: Stage) -> None:
    """Known members that are null count as absent, and no answer has a member that is null."""
    queue = stage.name()
    absent = dict.fromkeys(("meta", "priority", "retry", "scheduled_at", "tags", "id"))
    job = await stage.enqueue(queue, **absent)
    stage.equal(job["state"], "available", "state")
    stage.equal(job["priority"], 0, "priority")
    for seen in (job, await stage.look(job), await stage.take(queue)):
        nothing = [name for name, value in seen.items() if value is None]
        stage.equal(nothing, [], "members that are null")
    (await stage.ack(job, result=None)).expect(200)
    bare: dict[str, Any] = {"type": "test.case", "args": [], "options": None}
    reply = (await stage.call("POST", "jobs", bare)).expect(201, {"job.queue": "default"})
    await stage.delete(f"jobs/{reply['job.id']}")
    reply = (await stage.get(f"jobs/{job['id']}/result")).expect(200)
    stage.check("result" in reply.json, "a result that is null", reply.text)


@case("OJS-ENV-011")
async def unknown_members(stage: Stage) -> None:
    """Members that the protocol does not know come back at their place, everywhere."""
    queue = stage.name()
    extra = {"x_trace": {"id": [1, "a"]}, "vendor": "acme", "x_null_free": 0}
    job = await stage.enqueue(queue, **extra)
    taken = await stage.take(queue)
    page = (await stage.get(f"jobs/{job['id']}")).expect(200)
    for seen in (job, taken, stage.job_in(page)):
        stage.equal({name: seen.get(name) for name in extra}, extra, "unknown members")


@case("OJS-ENV-012")
async def an_envelope_can_be_sent_again(stage: Stage) -> None:
    """Members of the server are ignored when sent, so a job that was read can be sent again."""
    queue = stage.name()
    done = dict(await stage.done(queue, args=["again"]))
    del done["id"]
    again = await stage.enqueue(queue, **{k: v for k, v in done.items() if k != "queue"})
    stage.equal(again["state"], "available", "state")
    stage.equal(again["attempt"], 0, "attempt")
    for name in ("completed_at", "started_at", "result", "errors", "worker_id"):
        stage.check(name not in again, f"no {name}", again)
    stage.equal(again["args"], ["again"], "args")


@case("OJS-ENV-014", "OJS-ENV-015", "OJS-LIF-013")
async def enqueued_at(stage: Stage) -> None:
    """The moment of joining the queue is there once the job is available, and not before."""
    queue = stage.name()
    now = await stage.enqueue(queue)
    stage.check("enqueued_at" in now, "enqueued_at on an available job", now)
    waits = await stage.enqueue(queue, scheduled_at=FUTURE)
    stage.check("enqueued_at" not in waits, "no enqueued_at on a scheduled job", waits)
    held = await stage.enqueue(queue, pending=True)
    stage.check("enqueued_at" not in held, "no enqueued_at on a pending job", held)
    (await stage.post(f"jobs/{held['id']}/activate")).expect(200)
    seen = await stage.look(held)
    after_s = seconds_between(held["created_at"], seen["enqueued_at"])
    stage.check(after_s >= 0, "enqueued_at after created_at", seen)


@case("OJS-ENV-014", "OJS-DLQ-006", level=1)
async def enqueued_at_moves_on(stage: Stage) -> None:
    """Joining the queue again by a dead-letter retry sets enqueued_at anew."""
    queue = stage.name()
    job = await stage.discarded(queue)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    again = await stage.look(job)
    later_s = seconds_between(job["enqueued_at"], again["enqueued_at"])
    stage.check(later_s > 0, "a later enqueued_at", again)


@case("OJS-ENV-016", level=1)
async def started_at(stage: Stage) -> None:
    """The moment of FETCH is there while the job is held, and gone once it was requeued."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    stage.check("started_at" not in job, "no started_at before FETCH", job)
    taken = await stage.take(queue)
    stage.check("started_at" in taken, "started_at after FETCH", taken)
    (await stage.fail(job, requeue=True)).expect(200, {"state": "available"})
    back = await stage.look(job)
    stage.check("started_at" not in back, "no started_at in the queue", back)


@case("OJS-ENV-016")
async def started_at_of_ended_jobs(stage: Stage) -> None:
    """A job that has ended still says when it was delivered last."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    taken = await stage.take(queue)
    (await stage.ack(job)).expect(200)
    stage.equal((await stage.look(job))["started_at"], taken["started_at"], "started_at when done")
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    taken = await stage.take(queue)
    (await stage.fail(job)).expect(200)
    stage.equal((await stage.look(job))["started_at"], taken["started_at"], "started_at when dead")


@case("OJS-ENV-017", "OJS-ENV-018", "OJS-LIF-002")
async def ends_have_their_moments(stage: Stage) -> None:
    """Each final state shows its own moment, and no other state's."""
    queue = stage.name()
    done = await stage.done(queue)
    stage.check("completed_at" in done, "completed_at", done)
    dead = await stage.discarded(queue)
    stage.check({"completed_at", "discarded_at"} <= dead.keys(), "both moments", dead)
    job = await stage.enqueue(queue)
    (await stage.delete(f"jobs/{job['id']}")).expect(200)
    gone = await stage.look(job)
    stage.check("cancelled_at" in gone, "cancelled_at", gone)
    stage.check("completed_at" not in gone, "no completed_at on a cancelled job", gone)
    for seen, never in ((done, "discarded_at"), (done, "cancelled_at"), (dead, "cancelled_at")):
        stage.check(never not in seen, f"no {never} on a {seen['state']} job", seen)
    stage.check("discarded_at" not in gone, "no discarded_at on a cancelled job", gone)


@case("OJS-ENV-019", "OJS-FET-003")
async def holders_are_shown(stage: Stage) -> None:
    """A held job shows the worker that named itself, and when its lease ends."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue_many(queue, 2)
    named = await stage.take(queue, worker)
    stage.equal(named["worker_id"], worker, "worker_id")
    anonymous = await stage.take(queue)
    stage.check("worker_id" not in anonymous, "no worker_id", anonymous)
    for taken in (named, anonymous):
        lease_s = seconds_between(taken["started_at"], taken["lease_expires_at"])
        stage.check(lease_s > 0, "the end of a lease", taken)
        stage.check("lease_expires_at" in await stage.look(taken), "it on reading", taken)


@case("OJS-ENV-020", "OJS-ENV-021", "OJS-ENV-022", "OJS-RET-019", "OJS-RET-020", level=1)
async def errors_and_delays(stage: Stage) -> None:
    """After a failure the job shows the error, its history and when it will be tried again."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT1.5S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    error = {"code": "broken", "message": "first", "type": "Broken", "details": {"a": [1]}}
    (await stage.fail(job, error=error)).expect(200, {"state": "retryable"})
    seen = await stage.look(job)
    stage.equal(seen["error"]["message"], "first", "error.message")
    stage.equal(seen["retry_delay_ms"], 1500, "retry_delay_ms")
    stage.check("next_attempt_at" in seen, "next_attempt_at", seen)
    (entry,) = seen["errors"]
    expected = {"code": "broken", "type": "Broken", "message": "first", "attempt": 1}
    stage.equal({name: entry.get(name) for name in expected}, expected, "history entry")
    stage.equal(entry["details"], {"a": [1]}, "details")
    stage.check("occurred_at" in entry and "retryable" in entry, "when, and retryable", entry)
    await stage.until_state(job, "available")
    again = await stage.take(queue)
    stage.equal(again["retry_delay_ms"], 1500, "retry_delay_ms while it is tried again")
    (await stage.fail(job, error={"message": "second"})).expect(200)
    messages = [entry["message"] for entry in (await stage.look(job))["errors"]]
    stage.equal(messages, ["first", "second"], "history, oldest first")


@case("OJS-ENV-023", "OJS-ENV-024", "OJS-VIS-002")
async def options_have_one_form(stage: Stage) -> None:
    """Options are shown in one form, however they were written."""
    queue = stage.name()
    job = await stage.enqueue(
        queue,
        timeout=90,
        visibility_timeout="PT2M",
        retry={"initial_interval": "1500ms", "max_interval_ms": 45000, "strategy": "linear"},
    )
    stage.equal(job["timeout_ms"], 90000, "timeout_ms")
    stage.check("timeout" not in job, "no member timeout", job)
    stage.equal(job["visibility_timeout_ms"], 120000, "visibility_timeout_ms")
    retry = job["retry"]
    expected = {
        "initial_interval": "PT1.5S",
        "max_interval": "PT45S",
        "backoff_strategy": "linear",
        "max_attempts": 3,
        "jitter": True,
        "backoff_coefficient": 2.0,
        "on_exhaustion": "discard",
    }
    stage.equal({name: retry.get(name) for name in expected}, expected, "retry")


@case("OJS-ENV-025")
async def timestamps_in_answers(stage: Stage) -> None:
    """Times are RFC 3339 in UTC with `Z`, with three digits of a second or none."""
    queue = stage.name()
    pattern = {"$match": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$"}
    for at, shown in (
        ("2099-01-02T03:04:05+02:00", "2099-01-02T01:04:05Z"),
        ("2099-01-02T03:04:05.5Z", "2099-01-02T03:04:05.500Z"),
        ("2099-01-02T03:04:05.000Z", "2099-01-02T03:04:05Z"),
    ):
        reply = await stage.push(queue=queue, scheduled_at=at)
        reply.expect(201, {"job.scheduled_at": {"$eq": shown}, "job.created_at": pattern})


@case("OJS-ENV-026")
async def timestamps_in_requests(stage: Stage) -> None:
    """A moment needs a zone; digits beyond the millisecond are cut off."""
    queue = stage.name()
    reply = await stage.push(queue=queue, scheduled_at="2099-01-02T03:04:05.123999Z")
    reply.expect(201, {"job.scheduled_at": {"$eq": "2099-01-02T03:04:05.123Z"}})
    for wrong in ("2099-01-02T03:04:05", "2099-01-02", "tomorrow", "2099-02-30T00:00:00Z", 5):
        (await stage.push(queue=queue, scheduled_at=wrong)).error(400, "invalid_request")


@case("OJS-ENV-027", "OJS-ENV-028")
async def durations(stage: Stage) -> None:
    """Durations are ISO 8601 or numbers with a unit; bare numbers have the unit of their member."""
    queue = stage.name()
    for given, milliseconds in (
        ("PT1M30S", 90_000),
        ("P1D", 86_400_000),
        ("90s", 90_000),
        ("500ms", 500),
        ("12m", 720_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("P1M", 30 * 86_400_000),
        ("P1Y", 365 * 86_400_000),
        (7, 7_000),
    ):
        job = await stage.enqueue(queue, visibility_timeout=given)
        stage.equal(job["visibility_timeout_ms"], milliseconds, f"visibility_timeout {given!r}")
    job = await stage.enqueue(queue, visibility_timeout_ms=7)
    stage.equal(job["visibility_timeout_ms"], 7, "visibility_timeout_ms")
    bad: tuple[Any, ...] = ("", "PT", "5 apples", "-PT5S", "PT5", "s", [], True)
    for wrong in bad:
        (await stage.push(queue=queue, visibility_timeout=wrong)).expect("number:range(400,422)")
    reply = await stage.push(queue=queue, retry={"initial_interval": 5})
    reply.expect("number:range(400,422)")
    reply = await stage.push(queue=queue, retry={"initial_interval_ms": 5})
    reply.expect(201, {"job.retry.initial_interval": "PT0.005S"})


@case("OJS-ENV-029", "OJS-LIF-003")
async def relative_moments(stage: Stage) -> None:
    """`+` and a duration is a moment counted from when the job is stored."""
    queue = stage.name()
    job = await stage.enqueue(queue, scheduled_at="+PT1H")
    stage.equal(job["state"], "scheduled", "state")
    hour = f"{(int(job['created_at'][11:13]) + 1) % 24:02d}"
    stage.equal(job["scheduled_at"][11:19], hour + job["created_at"][13:19], "an hour later")
