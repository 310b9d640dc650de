"""Cases of the eight states and the transitions between them."""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import STATES, Record, Reply

FUTURE: Final = "2099-12-31T23:59:59Z"
# The statuses with which the published cases let a wrong request be refused.
REFUSED: Final = "number:range(400,422)"
# Moves that a state does not allow; jobs that have ended allow none.
FORBIDDEN: Final[dict[str, tuple[str, ...]]] = {
    "scheduled": ("ack", "fail", "activate"),
    "available": ("ack", "fail", "activate"),
    "pending": ("ack", "fail"),
    "active": ("activate",),
    "retryable": ("ack", "fail", "activate"),
}
ENDED: Final = ("completed", "cancelled", "discarded")


def moment(text: str) -> datetime:
    """A timestamp of an answer; as texts, 12:00:00Z would come after 12:00:00.5Z."""
    return datetime.fromisoformat(text)


def seconds_between(start: str, end: str) -> float:
    """The time between two moments of the server's clock, which no slow connection changes."""
    return (moment(end) - moment(start)).total_seconds()


async def job_in_state(stage: Stage, queue: str, state: str) -> Record:
    """Bring a job into a state."""
    if state == "scheduled":
        return await stage.enqueue(queue, scheduled_at=FUTURE)
    if state == "pending":
        return await stage.enqueue(queue, pending=True)
    if state == "completed":
        return await stage.done(queue)
    if state == "discarded":
        return await stage.discarded(queue)
    slow = {"max_attempts": 3, "initial_interval": "PT1H", "max_interval": "PT1H"}
    job = await stage.enqueue(queue, retry=slow)
    if state == "cancelled":
        (await stage.delete(f"jobs/{job['id']}")).expect(200)
    if state in ("active", "retryable"):
        await stage.take(queue)
    if state == "retryable":
        (await stage.fail(job)).expect(200, {"state": "retryable"})
    return await stage.look(job)


async def take_when_due(stage: Stage, queue: str, within_s: float = 10.0) -> Record:
    """Fetch one job as soon as there is one, within these seconds."""
    found: list[Record] = []

    async def is_there() -> bool:
        found.extend(await stage.fetch(queue))
        return bool(found)

    await stage.until(is_there, within_s, f"a job in {queue}")
    return found[0]


def _reachable(stage: Stage, states: Iterable[str]) -> list[str]:
    """The states into which jobs come on this server: without delays none is scheduled."""
    return [state for state in states if state != "scheduled" or stage.claims("delayed_jobs")]


async def _move(stage: Stage, job: Record, move: str) -> Reply:
    """Send the call that would move a job."""
    if move == "activate":
        return await stage.post(f"jobs/{job['id']}/activate")
    return await (stage.ack(job) if move == "ack" else stage.fail(job))


async def _stays(stage: Stage, job: Record, *refused: Reply) -> None:
    """See that calls were refused as conflicts, and have left their job as it was."""
    for reply in refused:
        reply.expect(409)
    seen = await stage.look(job)
    for name in ("state", "attempt"):
        stage.equal(seen[name], job[name], f"{name} of the {job['state']} job")


@case("OJS-LIF-001", level=1)
async def every_state(stage: Stage) -> None:
    """A job can be brought into each of the eight states."""
    # The pending one last: a server that knows no ACTIVATE may know all others.
    for state in sorted(_reachable(stage, STATES), key="pending".__eq__):
        job = await job_in_state(stage, stage.name(), state)
        stage.equal(job["state"], state, "state")
        stage.equal((await stage.look(job))["state"], state, "state on reading")


@case("OJS-QUE-006", "OJS-QUE-016", level=4)
async def counts_of_every_state(stage: Stage) -> None:
    """The counts of a queue know a job in each of the eight states."""
    for state in STATES:
        queue = stage.name()
        await job_in_state(stage, queue, state)
        reply = (await stage.get(f"queues/{queue}/stats")).expect(200)
        counts = {name: reply[f"queue.{name}"] for name in STATES}
        stage.equal(counts, {name: int(name == state) for name in STATES}, f"counts, {state}")


@case("OJS-LIF-002", "OJS-LIF-016", level=1)
async def final_states_stay(stage: Stage) -> None:
    """ACK and FAIL of a job that has ended are 409, and it stays in its state."""
    for state in ENDED:
        job = await job_in_state(stage, stage.name(), state)
        await _stays(stage, job, await stage.ack(job), await stage.fail(job))


@case("OJS-JOB-006", level=1)
async def ended_jobs_cannot_be_cancelled(stage: Stage) -> None:
    """CANCEL of a job that has ended is 409, and it stays in its state."""
    for state in ENDED:
        job = await job_in_state(stage, stage.name(), state)
        (await stage.delete(f"jobs/{job['id']}")).expect(409)
        stage.equal((await stage.look(job))["state"], state, "state")


@case("OJS-LIF-021", level=1)
async def refused_moves_are_conflicts(stage: Stage) -> None:
    """Moves that a state does not allow have the code `conflict`."""
    for state in ("available", "completed", "cancelled"):
        job = await job_in_state(stage, stage.name(), state)
        for reply in (await stage.ack(job), await stage.fail(job)):
            reply.expect(409, {"error.code": "conflict"})


@case("OJS-LIF-022", "OJS-SET-002", "OJS-JOB-006", "OJS-IDM-012", "OJS-ERR-006", level=1)
async def refused_moves_say_why(stage: Stage) -> None:
    """Moves of jobs that have ended say its state and the one they need, and change nothing."""
    for state in ("completed", "cancelled", "discarded"):
        job = await job_in_state(stage, stage.name(), state)
        for reply in (
            await stage.ack(job),
            await stage.fail(job),
            await stage.delete(f"jobs/{job['id']}"),
            await stage.post(f"jobs/{job['id']}/activate"),
        ):
            reply.error(409, "conflict", current_state=state, expected_state="exists")
        stage.equal(dict(await stage.look(job)), dict(job), f"the {state} job")


@case("OJS-LIF-016", level=1)
async def illegal_moves(stage: Stage) -> None:
    """ACK and FAIL of a job that no worker holds are 409, and leave it in its state."""
    for state in _reachable(stage, ("scheduled", "available", "retryable")):
        job = await job_in_state(stage, stage.name(), state)
        await _stays(stage, job, await stage.ack(job), await stage.fail(job))


@case("OJS-LIF-016", level=1)
async def pending_jobs_cannot_be_settled(stage: Stage) -> None:
    """ACK and FAIL of a pending job are 409, and leave it pending."""
    job = await job_in_state(stage, stage.name(), "pending")
    stage.equal(job["state"], "pending", "state of the new job")
    await _stays(stage, job, await stage.ack(job), await stage.fail(job))


@case("OJS-LIF-002", "OJS-LIF-016", level=1)
async def only_pending_jobs_are_activated(stage: Stage) -> None:
    """ACTIVATE of a job in any other state is 409, and leaves it in its state."""
    for state in _reachable(stage, ("available", "scheduled", "active", "retryable", *ENDED)):
        job = await job_in_state(stage, stage.name(), state)
        await _stays(stage, job, await stage.post(f"jobs/{job['id']}/activate"))


@case("OJS-LIF-022", "OJS-SET-002", "OJS-ERR-006", level=1)
async def illegal_moves_change_nothing(stage: Stage) -> None:
    """Moves that a state does not allow say the state, and leave the job as it is."""
    for state, moves in FORBIDDEN.items():
        job = await job_in_state(stage, stage.name(), state)
        for move in moves:
            (await _move(stage, job, move)).error(409, "conflict", current_state=state)
        stage.equal(dict(await stage.look(job)), dict(job), f"the {state} job")


@case("OJS-LIF-003", level=1)
async def first_states(stage: Stage) -> None:
    """A new job is available, or scheduled where its client asked for that."""
    queue = stage.name()
    stage.equal((await stage.enqueue(queue))["state"], "available", "state")
    if stage.claims("delayed_jobs"):
        stage.equal(
            (await stage.enqueue(queue, scheduled_at=FUTURE))["state"], "scheduled", "state"
        )


@case("OJS-LIF-003", "OJS-ENQ-011", level=1)
async def pending_jobs_wait(stage: Stage) -> None:
    """A new job is pending where its client asked for that, and is not handed out."""
    queue = stage.name()
    held = await stage.enqueue(queue, pending=True)
    for seen in (held, await stage.look(held)):
        stage.equal(seen["state"], "pending", "state")
    await stage.empty(queue)


@case("OJS-ENQ-009", level=2, capability="delayed_jobs")
async def first_states_by_time(stage: Stage) -> None:
    """A job whose time is past is available at once."""
    queue = stage.name()
    past = await stage.enqueue(queue, scheduled_at="2001-01-01T00:00:00Z")
    stage.equal(past["state"], "available", "state of one whose time is past")
    stage.equal((await stage.take(queue))["id"], past["id"], "the job")


@case("OJS-LIF-004", level=2, capability="delayed_jobs")
async def scheduled_jobs_come_by_themselves(stage: Stage) -> None:
    """A scheduled job is not handed out before its time, and becomes available without a call."""
    queue = stage.name()
    now = moment((await stage.enqueue(stage.name()))["created_at"])  # by the server's clock
    at = (now + timedelta(seconds=5)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    early = await stage.enqueue(queue, scheduled_at=at)
    await stage.empty(queue)
    await stage.until_state(early, "available", 15)
    taken = await stage.take(queue)
    stage.equal(taken["id"], early["id"], "the job handed out")
    early_s = seconds_between(taken["started_at"], at)
    stage.check(early_s <= 0, "not before its time", dict(taken))


@case("OJS-LIF-004", "OJS-VIS-021", "OJS-QUE-002", level=2, capability="delayed_jobs")
async def promoted_jobs_join_the_end(stage: Stage) -> None:
    """A scheduled job is available soon after its time, behind the jobs that came before it."""
    queue = stage.name()
    early = await stage.enqueue(queue, scheduled_at="+PT3S")
    first = await stage.enqueue(queue)
    stage.equal((await stage.take(queue))["id"], first["id"], "the job handed out")
    await stage.empty(queue)
    later = await stage.enqueue(queue)
    await asyncio.sleep(3.2)
    promoted = await stage.look(early)
    stage.equal(promoted["state"], "available", "state after its time")
    early_s = seconds_between(promoted["enqueued_at"], promoted["scheduled_at"])
    stage.check(early_s <= 0, "not before", dict(promoted))
    both = sorted((promoted, later), key=lambda job: moment(job["enqueued_at"]))
    order = [job["id"] for job in await stage.fetch(queue, count=5)]
    stage.equal(order, [job["id"] for job in both], "order: promoted jobs join the end")


@case("OJS-LIF-005", level=1)
async def only_fetch_counts_attempts(stage: Stage) -> None:
    """Each FETCH adds one attempt, and neither ACK nor FAIL adds any."""
    queue = stage.name()
    retry = {"max_attempts": 5, "initial_interval": "PT1S", "backoff_coefficient": 1.0}
    job = await stage.enqueue(queue, retry={**retry, "jitter": False})
    for number in (1, 2, 3):
        taken = await take_when_due(stage, queue)
        stage.equal(taken["attempt"], number, "attempt")
        stage.equal(taken["state"], "active", "state")
        stage.check(bool(taken["started_at"]), "started_at", taken)
        (await (stage.fail(job) if number < 3 else stage.ack(job))).expect(200)
        stage.equal((await stage.look(job))["attempt"], number, "attempt when it is settled")


@case("OJS-LIF-019", level=1)
async def lost_leases_count_no_attempt(stage: Stage) -> None:
    """A lost lease adds no attempt: the next delivery is the second one."""
    queue = stage.name()
    await stage.enqueue(queue, retry={"max_attempts": 5})
    await stage.take(queue, visibility_timeout_ms=1000)
    again = await take_when_due(stage, queue, 15)
    stage.equal(again["attempt"], 2, "attempt")


@case("OJS-SET-015", "OJS-RET-005", "OJS-FET-007", level=1)
async def answers_count_attempts(stage: Stage) -> None:
    """The answer of FAIL has the attempt that failed."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT1S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    for number in (1, 2):
        taken = await take_when_due(stage, queue)
        stage.equal(taken["attempt"], number, "attempt")
        (await stage.fail(job)).expect(200, {"attempt": number})


@case("OJS-LIF-006")
async def ack_completes(stage: Stage) -> None:
    """ACK makes an active job completed."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(job)).expect(200)
    stage.equal((await stage.look(job))["state"], "completed", "state")


@case("OJS-SET-011")
async def answers_of_ack(stage: Stage) -> None:
    """The answer of an ACK says that the job was completed, and when."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(job)).expect(
        200,
        {"acknowledged": True, "state": "completed", "completed_at": "string:datetime"},
    )


@case("OJS-SET-038", level=1)
async def answers_name_the_job(stage: Stage) -> None:
    """The answers of an ACK and of a FAIL have the id of the job as `id`."""
    queue = stage.name()
    for settle in (stage.ack, stage.fail):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await settle(job)).expect(200, {"id": {"$eq": job["id"]}})


@case("OJS-SET-039", level=1)
async def answers_have_an_id(stage: Stage) -> None:
    """The answers of an ACK and of a FAIL have the id of the job, by one of its two names."""
    queue = stage.name()
    for settle in (stage.ack, stage.fail):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        reply = (await settle(job)).expect(200)
        name = "id" if reply.has("id") else "job_id"
        reply.expect(members={name: {"$eq": job["id"]}})


@case("OJS-LIF-007", level=1)
async def fail_retries_or_discards(stage: Stage) -> None:
    """FAIL makes a job retryable while attempts are left, and then discards it."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval": "PT3S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    for state in ("retryable", "discarded"):
        await take_when_due(stage, queue)
        (await stage.fail(job)).expect(200)
        stage.equal((await stage.look(job))["state"], state, "state")
    job = await stage.enqueue(queue, retry={**retry, "non_retryable_errors": ["Hopeless"]})
    await stage.take(queue)
    error = {"code": "Hopeless", "type": "Hopeless", "message": "made to fail"}
    (await stage.fail(job, error=error)).expect(200)
    stage.equal((await stage.look(job))["state"], "discarded", "state")


@case("OJS-SET-015", "OJS-SET-016", level=1)
async def answers_of_fail(stage: Stage) -> None:
    """The answer of a FAIL says what becomes of the job, and when."""
    queue = stage.name()
    job = await stage.enqueue(
        queue, retry={"max_attempts": 2, "initial_interval": "PT1S", "jitter": False}
    )
    await stage.take(queue)
    (await stage.fail(job)).expect(
        200,
        {
            "state": "retryable",
            "attempt": 1,
            "max_attempts": 2,
            "next_attempt_at": "string:datetime",
        },
    )
    await take_when_due(stage, queue)
    (await stage.fail(job)).expect(
        200, {"state": "discarded", "attempt": 2, "discarded_at": "string:datetime"}
    )


@case("OJS-SET-016", level=1)
async def answers_of_fail_say_the_delay(stage: Stage) -> None:
    """The answer of a FAIL also has the delay before the retry, or the end of a discarded job."""
    queue = stage.name()
    slow = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    for attempts, more in (
        (2, {"retry_delay_ms": {"$type": "number"}}),
        (1, {"completed_at": "string:datetime"}),
    ):
        job = await stage.enqueue(queue, retry={**slow, "max_attempts": attempts})
        await stage.take(queue)
        (await stage.fail(job)).expect(200, more)


@case("OJS-LIF-008", level=1)
async def requeue_gives_back(stage: Stage) -> None:
    """FAIL with requeue makes the job available at once."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 2, "initial_interval": "PT1H"})
    await stage.take(queue)
    error = {"code": "cancelled", "message": "the worker stops"}
    (await stage.fail(job, requeue=True, error=error)).expect(200)
    stage.equal((await stage.look(job))["state"], "available", "state")
    stage.equal((await stage.take(queue))["id"], job["id"], "the job again")


@case("OJS-LIF-008", "OJS-SET-021", "OJS-SET-035", "OJS-RET-006", level=1)
async def requeued_jobs_keep_their_place(stage: Stage) -> None:
    """FAIL with requeue puts the job back at once, at its place, free of charge."""
    queue = stage.name()
    jobs = [await stage.enqueue(queue, retry={"max_attempts": 2}) for _ in range(2)]
    for attempt in (1, 2, 3):
        taken = await stage.take(queue)
        stage.equal(taken["id"], jobs[0]["id"], "the first job again")
        stage.equal(taken["attempt"], attempt, "attempt")
        reply = await stage.fail(taken, requeue=True, error={"code": "x", "retryable": False})
        reply.expect(200, {"state": "available"})
    back = await stage.look(jobs[0])
    stage.check("error" not in back and not back.get("errors"), "no error recorded", back)
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable"})


@case("OJS-LIF-009", level=1)
async def lost_leases_go_back(stage: Stage) -> None:
    """A job whose lease ends is available again by itself, without a delay of its policy."""
    queue = stage.name()
    job = await stage.enqueue(
        queue, retry={"max_attempts": 3, "initial_interval": "PT1H", "max_interval": "PT1H"}
    )
    await stage.take(queue, visibility_timeout_ms=1000)
    await stage.until_state(job, "available", 15)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job again")


@case(
    "OJS-LIF-009",
    "OJS-RET-005",
    "OJS-RET-017",
    "OJS-RET-036",
    "OJS-VIS-005",
    "OJS-VIS-006",
    "OJS-VIS-007",
    "OJS-VIS-036",
    level=1,
)
async def lost_leases_keep_their_place(stage: Stage) -> None:
    """A job whose lease ends is available soon, at its old place, with the error that says why."""
    queue = stage.name()
    jobs = [await stage.enqueue(queue) for _ in range(2)]
    taken = await stage.take(queue, visibility_timeout_ms=400)
    await stage.until_state(taken, "available", 4)
    back = await stage.look(taken)
    held_s = seconds_between(taken["started_at"], back["errors"][0]["occurred_at"])
    stage.check(0.4 <= held_s <= 4, "taken back after the lease, and soon", held_s)
    stage.equal(back["error"]["code"], "visibility_timeout", "error.code")
    stage.equal(back["error"]["type"], "visibility_timeout", "error.type")
    again = await stage.take(queue)
    stage.equal(again["id"], jobs[0]["id"], "id of the job that comes first")
    stage.equal(again["attempt"], 2, "attempt")


@case("OJS-LIF-010", "OJS-VIS-016", level=1, seconds=90)
async def timeouts_fail(stage: Stage) -> None:
    """A job over its timeout fails by itself: it waits for its retry, or is discarded."""
    queue = stage.name()
    slow = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    # A lease that ends before the timeout would make the job available, with its grace period.
    leased: dict[str, Any] = {"visibility_timeout_ms": 120_000}
    jobs = {
        state: await stage.enqueue(
            queue, timeout_ms=2000, retry={**slow, "max_attempts": attempts}, **leased
        )
        for state, attempts in (("retryable", 2), ("discarded", 1))
    }
    for _ in jobs:
        await stage.take(queue, **leased)
    # A server may add a grace period, of half a minute where the job sets none.
    by = time.monotonic() + 40
    while True:
        seen = {state: await stage.look(job) for state, job in jobs.items()}
        if all(job["state"] != "active" for job in seen.values()) or time.monotonic() > by:
            break
        await asyncio.sleep(0.2)
    for state, job in seen.items():
        tries = "with a try left" if state == "retryable" else "at its last try"
        stage.equal(job["state"], state, f"state 40 s after its start, {tries}, over 2 s of time")
        stage.equal(job["error"]["type"], "timeout", "error.type")


@case(
    *("OJS-LIF-010", "OJS-RET-005", "OJS-VIS-015", "OJS-VIS-016", "OJS-VIS-017", "OJS-VIS-037"),
    level=1,
)
async def timeouts_say_so(stage: Stage) -> None:
    """A job over its timeout fails at once with `timeout`, whatever its worker says."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(
        queue, timeout_ms=500, retry={"initial_interval": "PT1H", "max_interval": "PT1H"}
    )
    await stage.take(queue, worker)
    await stage.beat(worker, [job])
    await stage.until_state(job, "retryable", 4)
    seen = await stage.look(job)
    for name in ("code", "type"):
        stage.equal(seen["error"][name], "timeout", f"error.{name}")
    (entry,) = seen["errors"]
    stage.equal(entry["timeout_kind"], "execution", "timeout_kind")
    stage.equal(entry["limit_seconds"], 0.5, "limit_seconds")
    stage.check(entry["elapsed_seconds"] >= 0.5, "elapsed_seconds", entry)
    stage.check("next_attempt_at" in seen, "a delay by the policy", seen)
    stage.equal(seen["attempt"], 1, "attempt")


@case("OJS-LIF-011", level=1)
async def retries_come_after_their_delay(stage: Stage) -> None:
    """A job waiting for its retry comes back after its delay, and not before."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT3S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    (await stage.fail(job)).expect(200)
    await stage.empty(queue)
    await asyncio.sleep(1.5)
    await stage.empty(queue)
    await stage.until_state(job, "available", 15)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job after its delay")


@case("OJS-RET-010", level=1)
async def retries_come_soon(stage: Stage) -> None:
    """A job waiting for its retry comes back not much later than its delay."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT3S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    (await stage.fail(job)).expect(200)
    await asyncio.sleep(3.3)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job after its delay")


@case("OJS-LIF-012", "OJS-JOB-004", level=1)
async def cancel_from_everywhere(stage: Stage) -> None:
    """CANCEL ends a job from every state in which it waits."""
    for state in _reachable(stage, ("scheduled", "available", "pending", "retryable")):
        queue = stage.name()
        job = await job_in_state(stage, queue, state)
        (await stage.delete(f"jobs/{job['id']}")).expect(
            200, {"job.state": "cancelled", "job.cancelled_at": "string:datetime"}
        )
        stage.equal((await stage.look(job))["state"], "cancelled", "state")
        await stage.empty(queue)


@case("OJS-LIF-020", level=1)
async def held_jobs_are_cancelled(stage: Stage) -> None:
    """CANCEL ends a job at once also while a worker holds it."""
    queue = stage.name()
    job = await job_in_state(stage, queue, "active")
    (await stage.delete(f"jobs/{job['id']}")).expect(200, {"job.state": "cancelled"})
    stage.equal((await stage.look(job))["state"], "cancelled", "state")
    await stage.empty(queue)


@case("OJS-LIF-020", "OJS-LIF-022", "OJS-JOB-005", "OJS-JOB-016", level=1)
async def cancelled_jobs_say_their_state_before(stage: Stage) -> None:
    """CANCEL answers the state before it, and what a worker sends afterwards is refused."""
    for state in ("scheduled", "available", "pending", "active", "retryable"):
        job = await job_in_state(stage, stage.name(), state)
        reply = await stage.delete(f"jobs/{job['id']}")
        reply.expect(200, {"job.previous_state": state})
        if state == "active":
            (await stage.ack(job)).error(409, "conflict", current_state="cancelled")
            (await stage.fail(job)).error(409, "conflict", current_state="cancelled")


@case("OJS-LIF-013", "OJS-JOB-007", "OJS-ENQ-011", level=1)
async def activate(stage: Stage) -> None:
    """ACTIVATE puts a pending job into its queue."""
    queue = stage.name()
    held = await stage.enqueue(queue, pending=True)
    stage.equal(held["state"], "pending", "state of the new job")
    await stage.empty(queue)
    (await stage.post(f"jobs/{held['id']}/activate")).expect(200)
    stage.equal((await stage.look(held))["state"], "available", "state")
    stage.equal((await stage.take(queue))["id"], held["id"], "the job handed out")


@case("OJS-LIF-013", "OJS-JOB-018", "OJS-QUE-002", level=1)
async def activated_jobs_join_the_end(stage: Stage) -> None:
    """ACTIVATE puts a pending job at the end of its queue, and answers it."""
    queue = stage.name()
    held = await stage.enqueue(queue, pending=True)
    await stage.empty(queue)
    first = await stage.enqueue(queue)
    (await stage.post(f"jobs/{held['id']}/activate")).expect(
        200,
        {
            "job.state": "available",
            "job.previous_state": "pending",
            "job.activated_at": "string:datetime",
        },
    )
    order = [job["id"] for job in await stage.fetch(queue, count=2)]
    stage.equal(order, [first["id"], held["id"]], "order")


@case(
    "OJS-LIF-015",
    "OJS-ENV-050",
    "OJS-VIS-018",
    "OJS-VIS-019",
    "OJS-VIS-020",
    "OJS-FET-010",
    level=2,
    capability="job_ttl",
)
async def jobs_expire_while_they_wait(stage: Stage) -> None:
    """A waiting job is discarded when its time to live is over; a held one is not touched."""
    waiting = {}
    members: dict[str, dict[str, Any]] = {
        "scheduled": {"scheduled_at": FUTURE},
        "pending": {"pending": True},
    }
    for state in ("scheduled", "available", "pending"):
        more = members.get(state, {})
        waiting[state] = await stage.enqueue(stage.name(), expires_at="+PT4S", **more)
    queue = stage.name()
    retried = await stage.enqueue(
        queue, expires_at="+PT4S", retry={"initial_interval": "PT1H", "max_interval": "PT1H"}
    )
    await stage.take(queue)
    (await stage.fail(retried)).expect(200, {"state": "retryable"})
    queue = stage.name()
    held = await stage.enqueue(queue, expires_at="+PT4S")
    await stage.take(queue)
    await asyncio.sleep(4)
    for job in (*waiting.values(), retried):
        await stage.until_state(job, "discarded", 5)
        seen = await stage.look(job)
        for name in ("code", "type"):
            stage.equal(seen["error"][name], "expired", f"error.{name}")
        stage.check("discarded_at" in seen, "discarded_at", seen)
        stage.check("completed_at" not in seen, "no completed_at", seen)
    stage.equal((await stage.look(held))["state"], "active", "state of the held job")
    (await stage.ack(held)).expect(200)


@case("OJS-LIF-017", "OJS-LIF-023", level=1, capability="events")
async def nothing_is_seen_half_done(stage: Stage) -> None:
    """State, counts, history and events of one change are there together."""
    queue = stage.name()
    job = await stage.discarded(queue)
    stats, events, seen = await asyncio.gather(
        stage.get(f"queues/{queue}/stats"),
        stage.events(queue, types="job.*"),
        stage.look(job),
    )
    stats.expect(200, {"queue.discarded": 1, "queue.active": 0})
    stage.equal(len(seen["errors"]), 1, "history entries")
    types = [event["type"] for event in events]
    expected = ["job.enqueued", "job.started", "job.failed", "job.discarded"]
    stage.equal(types, expected, "events")


@case("OJS-LIF-018", "OJS-LIF-017", level=1)
async def one_of_many_wins(stage: Stage) -> None:
    """Of many ACKs and FAILs of one job at once exactly one succeeds."""
    queue = stage.name()
    for _ in range(5):
        job = await stage.enqueue(queue, retry={"max_attempts": 1})
        await stage.take(queue)
        acks, fails = [stage.ack(job) for _ in range(8)], [stage.fail(job) for _ in range(2)]
        replies = await asyncio.gather(*acks, *fails)
        won = [number for number, reply in enumerate(replies) if reply.status == 200]
        stage.equal(len(won), 1, "calls that won")
        for number, reply in enumerate(replies):
            if number not in won:
                reply.expect(409)
        state = "completed" if won[0] < len(acks) else "discarded"
        stage.equal((await stage.look(job))["state"], state, "state")


@case("OJS-LIF-018", "OJS-LIF-021", "OJS-JOB-006", level=1)
async def one_of_many_wins_or_cancels(stage: Stage) -> None:
    """Of an ACK, a FAIL and a cancel of one job at once exactly one succeeds."""
    queue = stage.name()
    for _ in range(5):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        calls = [stage.ack(job), stage.fail(job, error={"message": "x", "retryable": False})]
        calls += [stage.delete(f"jobs/{job['id']}")]
        replies = await asyncio.gather(*calls, *(stage.ack(job) for _ in range(8)))
        won = [reply for reply in replies if reply.status == 200]
        stage.equal(len(won), 1, "calls that won")
        for reply in replies:
            if reply.status != 200:
                reply.error(409, "conflict")
        state = (await stage.look(job))["state"]
        winning = won[0].json.get("state") or won[0]["job.state"]
        stage.equal(state, winning, "state")
