"""Cases of the job envelope: members, values, and the additions and refusals of the server."""

import asyncio
import re
import time
from collections.abc import Iterable
from typing import Any, Final

from conformance.case import case
from conformance.cases.lifecycle import REFUSED, seconds_between, take_when_due
from conformance.play.stage import Stage

FUTURE: Final = "2099-12-31T23:59:59Z"
# Numbers of 17 digits, the largest and smallest, and texts that a change of their form would alter.
NUMBERS: Final = (
    *(0.30000000000000004, 2 / 3, 1e-7, 123456789.12345679, -1.7976931348623157e308, 5e-324),
    *(2**53 - 1, 1 - 2**53),
)
TEXTS: Final = (
    *("\u00e9", "e\u0301", "\ufb01", "\u212b", "\u00bd"),
    *(" a  b ", "\ta\r\n", "\u00a0", "Aa"),
)
_ROUNDED_S: Final = 0.05  # for clocks that are read in whole milliseconds


@case("OJS-ENV-002", "OJS-ENQ-001", "OJS-ENQ-005")
async def full_envelope(stage: Stage) -> None:
    """A new job is answered with the members that an envelope has."""
    reply = (await stage.post("jobs", {"type": "test.case", "args": [1]})).expect(
        201,
        {
            "job.id": "string:uuidv7",
            "job.type": "test.case",
            "job.queue": "default",
            "job.state": "available",
            "job.args": [1],
            "job.attempt": 0,
            "job.created_at": "string:datetime",
        },
    )
    await stage.delete(f"jobs/{reply['job.id']}")


@case("OJS-ENV-003")
async def specversions_of_jobs(stage: Stage) -> None:
    """A job says the version of its envelope where it is enqueued, read and handed out."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    for place, seen in (
        ("the answer to the enqueue", job),
        ("the answer to a read", await stage.look(job)),
        ("the answer to FETCH", await stage.take(queue)),
    ):
        stage.equal(seen.get("specversion"), "1.0", f"specversion in {place}")


@case("OJS-ENV-042")
async def defaults_are_shown(stage: Stage) -> None:
    """A new job shows its meta, its priority and its attempts, whatever its client sent."""
    reply = (await stage.push(queue=stage.name())).expect(
        201, {"job.meta": {"$eq": {}}, "job.priority": 0, "job.max_attempts": {"$type": "number"}}
    )
    for seen in (reply["job"], await stage.look(reply["job"])):
        stage.equal(seen["meta"], {}, "meta without any sent")


@case("OJS-ENV-003", "OJS-ENV-037")
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
    """Types of lower-case words are accepted; what is no such word is refused."""
    queue = stage.name()
    for name in ("a", "email.send", "a1_b.c2", "data.etl.transform"):
        reply = await stage.push(queue=queue, type=name)
        reply.expect(201, {"job.type": {"$eq": name}})
    wrong: tuple[object, ...] = ("", "1email", "email send", "email..send", ".a", "a.", "a.1b")
    blanks = (" ", " email.send", "email.send ", "email. send", "email.send\n", "\temail.send")
    for bad in (*wrong, *blanks, "email@send!", "a/b", 7, ["a"]):
        (await stage.push(queue=queue, type=bad)).expect(REFUSED)


@case("OJS-ENV-038")
async def capitals_in_job_types(stage: Stage) -> None:
    """A type with capital letters is refused."""
    queue = stage.name()
    await stage.enqueue(queue, type="email.send")
    for wrong in ("Email.Send", "Email.send", "email.sendAll"):
        (await stage.push(queue=queue, type=wrong)).expect(REFUSED)


@case("OJS-ENV-039")
async def hyphens_in_job_types(stage: Stage) -> None:
    """Words of a type may have hyphens, and a type has up to 255 characters."""
    queue = stage.name()
    for name in ("a1_b-c.d2", "send-email", "x" * 255):
        (await stage.push(queue=queue, type=name)).expect(201, {"job.type": {"$eq": name}})
    (await stage.push(queue=queue, type="x" * 256)).expect(REFUSED)


@case("OJS-ENV-055", "OJS-ENQ-014", "OJS-ENQ-016", "OJS-ERR-002")
async def refusals_name_the_member(stage: Stage) -> None:
    """The refusal of a member is `invalid_request` and names it, and nothing is stored."""
    queue = stage.name()
    wrong: tuple[tuple[str, object], ...] = (
        ("type", ""),
        ("type", "Email.send"),
        ("type", "é"),
        ("type", 7),
        ("args", {}),
        ("args", "text"),
        ("priority", 101),
        ("priority", 1.5),
        ("id", "job-1"),
        ("id", 7),
        ("id", stage.new_id().upper()),
    )
    for name, value in wrong:
        reply = await stage.push(**{"queue": queue, name: value})
        reply.error(400, "invalid_request", field=name)
    for at in ("2099-01-02T03:04:05", "tomorrow", 5):
        (await stage.push(queue=queue, scheduled_at=at)).error(400, "invalid_request")
    await stage.empty(queue)


@case("OJS-ENV-005", "OJS-ENV-006")
async def payloads_are_untouched(stage: Stage) -> None:
    """Arguments and meta come back with equal values, on the answer, on FETCH and on reading."""
    nested = {"nested": {"numbers": [1, 2.5, -3], "mixed": [None, True, "text"]}}
    args = ["text", 42, 3.25, True, False, None, "", "é\U0001f680", [1, ["two", [3]]], nested]
    meta = {"trace_id": "4bf9", "tags": ["a", "b"], "type": "x", "deep": {"numbers": [1, 2.5]}}
    queue = stage.name()
    job = await stage.enqueue(queue, args=args, meta=meta)
    for seen in (job, await stage.look(job), await stage.take(queue)):
        stage.equal(seen["args"], args, "args")
        stage.equal(seen["meta"], meta, "meta")
    empty = await stage.enqueue(queue, args=[])
    stage.equal(empty["args"], [], "args")


@case("OJS-ENV-041")
async def payloads_of_every_kind(stage: Stage) -> None:
    """Deep values, large integers and odd characters come back as they were sent."""
    deep: object = "bottom"
    for _ in range(40):
        deep = [deep]
    args = [0, -1.5, 9007199254740993, "\u0000", {"": [{}]}, deep]
    meta = {"a.b": {"c": [1, None]}, "nested": {"deep": deep}}
    queue = stage.name()
    job = await stage.enqueue(queue, args=args, meta=meta)
    for seen in (job, await stage.look(job), await stage.take(queue)):
        stage.equal(seen["args"], args, "args")
        stage.equal(seen["meta"], meta, "meta")


@case("OJS-ENV-057")
async def numbers_of_full_length(stage: Stage) -> None:
    """Fractions of 17 digits and integers up to 2^53 - 1 come back as the same numbers."""
    await _unchanged(stage, NUMBERS)


@case("OJS-ENV-058")
async def texts_sign_by_sign(stage: Stage) -> None:
    """Composed and decomposed letters, compatible signs and blanks come back as they were sent."""
    await _unchanged(stage, TEXTS)


async def _unchanged(stage: Stage, sent: Iterable[Any]) -> None:
    """Require that values in args and meta are the same in all answers about their job."""
    queue, values = stage.name(), list(sent)
    meta = {"values": values}
    job = await stage.enqueue(queue, args=values, meta=meta)
    for seen in (job, await stage.look(job), await stage.take(queue)):
        stage.equal(seen["args"], values, "args")
        stage.equal({name: seen["meta"].get(name) for name in meta}, meta, "meta")


@case("OJS-ENV-005")
async def args_are_an_array(stage: Stage) -> None:
    """Arguments that are no array are refused."""
    queue = stage.name()
    await stage.enqueue(queue, args=[])
    wrong: tuple[Any, ...] = ({}, "text", 1, True, None)
    for args in wrong:
        (await stage.push(queue=queue, args=args)).expect(REFUSED)


@case("OJS-ENV-007")
async def queue_names(stage: Stage) -> None:
    """Queue names of lower-case letters, digits, hyphens and dots are accepted, up to 128 long."""
    name = stage.name()
    for good in (name, f"{name}.a-b.c2", f"{name}.{'q' * 128}"[:128]):
        (await stage.push(queue=good)).expect(201, {"job.queue": {"$eq": good}})
    for wrong in ("Default", "-a", "a b"):
        (await stage.push(queue=wrong)).expect(REFUSED)


@case("OJS-ENV-043")
async def longer_queue_names(stage: Stage) -> None:
    """Queue names may have underscores and 255 characters, and end with a letter or digit."""
    name = stage.name()
    for good in (f"{name}.a_b-c", "q" * 200 + name.replace("-", "")[:50]):
        (await stage.push(queue=good)).expect(201, {"job.queue": {"$eq": good}})
    bad: tuple[Any, ...] = ("a-", "a_", "my_queue!", "", "q" * 256, ".", "é", 5)
    for wrong in bad:
        (await stage.push(queue=wrong)).error(400, "invalid_request")


@case("OJS-ENV-008")
async def priorities(stage: Stage) -> None:
    """Priorities from -100 to 100 are kept; what is no integer is refused."""
    queue = stage.name()
    for priority in (-100, -1, 0, 7, 100):
        job = await stage.enqueue(queue, priority=priority)
        stage.equal(job["priority"], priority, "priority")
    wrong: tuple[Any, ...] = (1.5, "5", True, [1])
    for bad in wrong:
        (await stage.push(queue=queue, priority=bad)).expect(REFUSED)


@case("OJS-ENV-044")
async def priorities_out_of_range(stage: Stage) -> None:
    """A priority below -100 or above 100 is refused."""
    queue = stage.name()
    await stage.enqueue(queue, priority=100)
    for wrong in (-101, 101, 999999):
        (await stage.push(queue=queue, priority=wrong)).expect(REFUSED)


@case("OJS-ENV-009")
async def client_chosen_ids(stage: Stage) -> None:
    """A UUIDv7 is kept as the id; what is none is refused; without one the server makes one."""
    queue, chosen = stage.name(), stage.new_id()
    job = await stage.enqueue(queue, id=chosen)
    stage.equal(job["id"], chosen, "id")
    for wrong in ("6f1c2b7e-8f0a-4f4e-9d6f-0c1d2e3f4a5b", "job-1", "", 7):
        (await stage.push(queue=queue, id=wrong)).expect(REFUSED)
    made = set()
    for _ in range(20):
        reply = (await stage.push(queue=queue)).expect(201, {"job.id": "string:uuidv7"})
        made.add(reply["job.id"])
    stage.equal(len(made), 20, "number of different ids")


@case("OJS-ENV-045")
async def ids_in_capitals(stage: Stage) -> None:
    """A UUIDv7 in capital letters is refused."""
    await stage.enqueue(stage.name(), id=stage.new_id())
    for wrong in ("019461A8-1A2B-7C3D-8E4F-5A6B7C8D9E0F", "019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0F"):
        (await stage.push(queue=stage.name(), id=wrong)).expect(REFUSED)


@case("OJS-ENV-010")
async def null_is_absent(stage: Stage) -> None:
    """Known members that are null count as absent."""
    queue = stage.name()
    names = ("meta", "priority", "retry", "scheduled_at", "expires_at", "unique", "tags")
    job = await stage.enqueue(queue, **dict.fromkeys(names))
    stage.equal(job["state"], "available", "state")
    stage.equal(job.get("priority") or 0, 0, "priority")
    stage.equal((await stage.take(queue))["id"], job["id"], "the job")


@case("OJS-ENV-013")
async def no_member_is_null(stage: Stage) -> None:
    """No answer has a member that is null, whatever was sent as null."""
    queue = stage.name()
    names = ("meta", "priority", "retry", "scheduled_at", "tags", "id")
    job = await stage.enqueue(queue, **dict.fromkeys(names))
    for seen in (job, await stage.look(job), await stage.take(queue)):
        nothing = [name for name, value in seen.items() if value is None]
        stage.equal(nothing, [], "members that are null")


@case("OJS-ENV-046", "OJS-JOB-008", capability="job_result")
async def null_as_a_result(stage: Stage) -> None:
    """A result that is null counts; options that are null do not."""
    bare: dict[str, Any] = {"type": "test.case", "args": [], "options": None}
    reply = (await stage.call("POST", "jobs", bare)).expect(201, {"job.queue": "default"})
    await stage.delete(f"jobs/{reply['job.id']}")
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(job, result=None)).expect(200)
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
async def members_of_the_server_are_ignored(stage: Stage) -> None:
    """Members that the server sets are ignored when a client sends them."""
    past = "2001-01-01T00:00:00Z"
    sent = {
        "state": "completed",
        "attempt": 7,
        "created_at": past,
        "enqueued_at": past,
        "started_at": past,
        "completed_at": past,
        "error": {"type": "Broken", "message": "forged"},
        "result": {"forged": True},
    }
    job = await stage.enqueue(stage.name(), **sent)
    for seen in (job, await stage.look(job)):
        stage.equal(seen["state"], "available", "state")
        stage.equal(seen["attempt"], 0, "attempt")
        for name in ("created_at", "enqueued_at"):
            since_s = seconds_between(past, seen[name])
            stage.check(since_s > 0, f"a {name} of the server", seen[name])
        for name in ("started_at", "completed_at", "error", "result"):
            stage.equal(seen.get(name), None, name)


@case("OJS-ENV-012", "OJS-ENV-047")
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


@case("OJS-ENV-014")
async def enqueued_at(stage: Stage) -> None:
    """A job that is available says when it joined its queue."""
    queue = stage.name()
    for seen in (job := await stage.enqueue(queue), await stage.look(job)):
        waited_s = seconds_between(seen["created_at"], seen["enqueued_at"])
        stage.check(-1 <= waited_s <= 5, "enqueued_at at the time of created_at", seen)


@case("OJS-ENV-014", "OJS-LIF-013", level=1)
async def enqueued_at_of_activated_jobs(stage: Stage) -> None:
    """A job that was activated says when it joined its queue, not before it was made."""
    held = await stage.enqueue(stage.name(), pending=True)
    (await stage.post(f"jobs/{held['id']}/activate")).expect(200)
    seen = await stage.look(held)
    after_s = seconds_between(held["created_at"], seen["enqueued_at"])
    stage.check(after_s >= -1, "enqueued_at after created_at", seen)


@case("OJS-ENV-015", level=1)
async def enqueued_at_of_waiting_jobs(stage: Stage) -> None:
    """A job that is scheduled or pending has not joined its queue yet."""
    queue = stage.name()
    await stage.enqueue(queue)
    await stage.take(queue)
    if stage.claims("delayed_jobs"):
        waits = await stage.enqueue(queue, scheduled_at=FUTURE)
        stage.equal(waits.get("enqueued_at"), None, "enqueued_at of a scheduled job")
    held = await stage.enqueue(queue, pending=True)
    stage.equal(held.get("enqueued_at"), None, "enqueued_at of a pending job")


@case("OJS-ENV-014", "OJS-LIF-014", level=1)
async def enqueued_at_moves_on(stage: Stage) -> None:
    """Joining the queue again by a dead-letter retry sets enqueued_at anew."""
    queue = stage.name()
    job = await stage.discarded(queue, retry={"on_exhaustion": "dead_letter"})
    await asyncio.sleep(1.1)  # a server may answer whole seconds
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    again = await stage.look(job)
    later_s = seconds_between(job["enqueued_at"], again["enqueued_at"])
    stage.check(later_s > 0, "a later enqueued_at", again)


@case("OJS-ENV-016")
async def started_at(stage: Stage) -> None:
    """The moment of FETCH is there while the job is held, and not before."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    stage.equal(job.get("started_at"), None, "started_at before FETCH")
    taken = await stage.take(queue)
    for seen in (taken, await stage.look(job)):
        after_s = seconds_between(job["created_at"], seen["started_at"])
        stage.check(after_s >= -1, "started_at after created_at", seen)


@case("OJS-ENV-048", "OJS-ENV-056", level=1)
async def started_at_of_requeued_jobs(stage: Stage) -> None:
    """The moment of FETCH is gone once the job was given back, and that of its queue is kept."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.fail(job, requeue=True)).expect(200, {"state": "available"})
    back = await stage.look(job)
    stage.check("started_at" not in back, "no started_at in the queue", back)
    stage.equal(back["enqueued_at"], job["enqueued_at"], "enqueued_at")


@case("OJS-ENV-016")
async def started_at_of_ended_jobs(stage: Stage) -> None:
    """A job that has ended still says when it was delivered last."""
    queue = stage.name()
    for end in ("completed", "discarded"):
        job = await stage.enqueue(queue, retry={"max_attempts": 1})
        taken = await stage.take(queue)
        (await (stage.ack(job) if end == "completed" else stage.fail(job))).expect(200)
        seen = await stage.look(job)
        distance_s = seconds_between(taken["started_at"], seen["started_at"])
        # A server may store fewer digits than it answers.
        stage.check(abs(distance_s) < 1, f"started_at of the delivery when {end}", seen)


@case("OJS-ENV-017", "OJS-ENV-018")
async def ends_have_their_moments(stage: Stage) -> None:
    """Each final state shows its own moment, and no other state's."""
    queue = stage.name()
    done = await stage.done(queue)
    dead = await stage.discarded(queue)
    job = await stage.enqueue(queue)
    (await stage.delete(f"jobs/{job['id']}")).expect(200)
    gone = await stage.look(job)
    for seen, name in ((done, "completed_at"), (dead, "completed_at"), (gone, "cancelled_at")):
        after_s = seconds_between(seen["created_at"], seen[name])
        stage.check(after_s >= -1, f"{name} after created_at", seen)
    for seen, never in ((done, "discarded_at"), (done, "cancelled_at"), (dead, "cancelled_at")):
        stage.equal(seen.get(never), None, f"{never} of a {seen['state']} job")
    stage.equal(gone.get("discarded_at"), None, "discarded_at of a cancelled job")


@case("OJS-ENV-018", "OJS-ENV-054")
async def discarded_jobs_say_when(stage: Stage) -> None:
    """A discarded job shows the moment at which it was discarded."""
    dead = await stage.discarded(stage.name())
    stage.check("discarded_at" in dead, "discarded_at", dead)


@case("OJS-ENV-049")
async def cancelled_jobs_were_not_completed(stage: Stage) -> None:
    """A cancelled job has no completed_at."""
    job = await stage.enqueue(stage.name())
    (await stage.delete(f"jobs/{job['id']}")).expect(200)
    seen = await stage.look(job)
    stage.equal([seen["state"], seen.get("completed_at")], ["cancelled", None], "the job")


@case("OJS-ENV-019", "OJS-FET-003")
async def holders_are_shown(stage: Stage) -> None:
    """A held job shows the worker that named itself, and when its lease ends."""
    queue, worker = stage.name(), stage.name("w")
    for _ in range(2):
        await stage.enqueue(queue)
    named = await stage.take(queue, worker)
    stage.equal(named["worker_id"], worker, "worker_id")
    anonymous = await stage.take(queue)
    stage.check("worker_id" not in anonymous, "no worker_id", anonymous)
    for taken in (named, anonymous):
        lease_s = seconds_between(taken["started_at"], taken["lease_expires_at"])
        stage.check(lease_s > 0, "the end of a lease", taken)
        stage.check("lease_expires_at" in await stage.look(taken), "it on reading", taken)


@case("OJS-ENV-020", level=1)
async def errors_are_kept(stage: Stage) -> None:
    """A job that failed shows its last error, and all of them, oldest first."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT1S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    messages = []
    for message in ("first", "second"):
        messages.append(message)
        (await stage.fail(job, error={"code": "broken", "message": message})).expect(200)
        seen = await stage.look(job)
        stage.equal(seen["error"]["message"], message, "error.message")
        shown = [entry["message"] for entry in seen["errors"]]
        stage.equal(shown, messages, "history, oldest first")
        if message == "first":
            await take_when_due(stage, queue)


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


@case("OJS-ENV-022", "OJS-SET-016", level=1)
async def the_next_attempt(stage: Stage) -> None:
    """The next attempt is told for the end of the backoff, which begins with the FAIL."""
    queue, delay_s = stage.name(), 90
    every = f"PT{delay_s}S"
    retry = {"max_attempts": 3, "initial_interval": every, "max_interval": every, "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    before = time.monotonic()
    taken = await stage.take(queue)
    reply = (await stage.fail(job)).expect(200)
    passed_s = time.monotonic() - before
    for seen in (reply.json, await stage.look(job)):
        waits_s = seconds_between(taken["started_at"], seen["next_attempt_at"])
        right = delay_s - _ROUNDED_S <= waits_s <= delay_s + passed_s + _ROUNDED_S
        stage.check(right, f"{delay_s} s after a FAIL within {passed_s:.2f} s", waits_s)


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
    """Times of the server are RFC 3339 in UTC."""
    queue = stage.name()
    new = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(new)).expect(200)
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"
    for seen in (new, await stage.look(new)):
        names = {"created_at", "enqueued_at", "started_at", "completed_at"} & seen.keys()
        for name in names:
            right = bool(re.fullmatch(pattern, str(seen[name])))
            stage.check(right, f"{name} in RFC 3339 and UTC", seen[name])


@case("OJS-ENV-051", level=2, capability="delayed_jobs")
async def fractions_of_seconds(stage: Stage) -> None:
    """Times end with `Z`, with three digits of a second or none."""
    queue = stage.name()
    pattern = {"$match": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$"}
    for at, shown in (
        ("2099-01-02T03:04:05.5Z", "2099-01-02T03:04:05.500Z"),
        ("2099-01-02T03:04:05.000Z", "2099-01-02T03:04:05Z"),
    ):
        reply = await stage.push(queue=queue, scheduled_at=at)
        reply.expect(201, {"job.scheduled_at": {"$eq": shown}, "job.created_at": pattern})


@case("OJS-ENV-052", level=2, capability="delayed_jobs")
async def offsets_become_utc(stage: Stage) -> None:
    """A time that was sent with an offset is answered in UTC."""
    reply = await stage.push(queue=stage.name(), scheduled_at="2099-01-02T03:04:05+02:00")
    pattern = {"$match": r"^2099-01-02T01:04:05(\.0+)?(Z|\+00:00)$"}
    reply.expect(201, {"job.scheduled_at": pattern})


@case("OJS-ENV-026", level=2, capability="delayed_jobs")
async def timestamps_in_requests(stage: Stage) -> None:
    """A moment needs a zone; what is no timestamp is refused."""
    queue = stage.name()
    for good in ("2099-01-02T03:04:05Z", "2099-01-02T03:04:05.123Z", "2099-01-02T03:04:05-07:00"):
        job = await stage.enqueue(queue, scheduled_at=good)
        distance_s = abs(seconds_between(good, job["scheduled_at"]))
        stage.check(distance_s < 1, f"scheduled_at {good}", job["scheduled_at"])
    for wrong in ("2099-01-02T03:04:05", "2099-01-02", "tomorrow", "2099-02-30T00:00:00Z", 5):
        (await stage.push(queue=queue, scheduled_at=wrong)).expect(REFUSED)


@case("OJS-ENV-053", level=2, capability="delayed_jobs")
async def digits_are_cut_off(stage: Stage) -> None:
    """Digits of a moment beyond the millisecond are cut off."""
    reply = await stage.push(queue=stage.name(), scheduled_at="2099-01-02T03:04:05.123999Z")
    reply.expect(201, {"job.scheduled_at": {"$eq": "2099-01-02T03:04:05.123Z"}})


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


@case("OJS-ENV-029", "OJS-LIF-003", level=2, capability="delayed_jobs")
async def relative_moments(stage: Stage) -> None:
    """`+` and a duration is a moment counted from when the job is stored."""
    job = await stage.enqueue(stage.name(), scheduled_at="+PT1H")
    stage.equal(job["state"], "scheduled", "state")
    later_s = seconds_between(job["created_at"], job["scheduled_at"])
    stage.check(abs(later_s - 3600) <= 2, "an hour later", job)
