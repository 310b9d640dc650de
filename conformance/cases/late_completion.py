"""Cases of ACKs that come after the lease was lost, where FETCH allowed it."""

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record

LATE = "late_completion"
ACCEPT = {"late_ack": "accept_unfinished"}


async def lost(stage: Stage, queue: str, worker: str, **options: object) -> Record:
    """Return a job that a worker fetched with late completion allowed, and whose lease it lost."""
    await stage.enqueue(queue, **options)
    job = await stage.take(queue, worker, visibility_timeout_ms=100, **ACCEPT)
    await stage.until_state(job, "available")
    return job


@case("OJS-LAT-001", level=1, capability=LATE)
async def the_mode_is_named(stage: Stage) -> None:
    """FETCH takes both modes and no other."""
    queue = stage.name()
    for mode in ("reject", "accept_unfinished", None):
        (await stage.send_fetch(queue, "w", late_ack=mode)).expect(200, {"jobs": []})
    for wrong in ("accept", "", 7):
        reply = await stage.send_fetch(queue, "w", late_ack=wrong)
        reply.error(400, "invalid_request", field="late_ack")


@case("OJS-LAT-002", "OJS-LAT-003", "OJS-LAT-004", "OJS-LAT-006", level=1, capability=LATE)
async def a_job_that_waits_is_completed_late(stage: Stage) -> None:
    """The worker that lost a job completes it while it waits; no FAIL and no other worker does."""
    queue, late, other = stage.name(), stage.name("w"), stage.name("w")
    job = await lost(stage, queue, late)
    (await stage.fail(job, late, attempt=1)).error(409, "conflict", current_state="available")
    (await stage.ack(job, other, attempt=1)).error(409, "conflict")
    (await stage.ack(job, late, attempt=2)).error(409, "conflict")
    (await stage.ack(job, attempt=1)).error(409, "conflict")
    reply = await stage.ack(job, late, attempt=1, result={"late": True})
    reply.expect(200, {"acknowledged": True, "state": "completed", "attempt": 1})
    seen = await stage.look(job)
    stage.equal(seen["result"], {"late": True}, "result")
    stage.equal(seen["started_at"], job["started_at"], "started_at")
    (await stage.ack(job, late, attempt=1)).expect(200, {"repeated": True})
    (await stage.ack(job, late)).error(409, "conflict", current_state="completed")


@case("OJS-LAT-002", "OJS-LAT-004", "OJS-LAT-005", level=1, capability=LATE)
async def the_next_holder_loses_it(stage: Stage) -> None:
    """A late ACK ends the lease of the next holder, which learns of it and cannot settle."""
    queue, late, other = stage.name(), stage.name("w"), stage.name("w")
    job = await lost(stage, queue, late)
    again = await stage.take(queue, other, **ACCEPT)
    stage.equal(again["id"], job["id"], "id")
    (await stage.ack(job, late)).expect(200, {"state": "completed", "attempt": 1})
    beat = await stage.beat(other, [again])
    beat.expect(200, {"jobs_lost": [job["id"]], "jobs_extended": []})
    (await stage.ack(again, other, attempt=2)).error(409, "conflict", current_state="completed")
    (await stage.fail(again, other, attempt=2)).error(409, "conflict", current_state="completed")


@case("OJS-LAT-006", level=1, capability=LATE)
async def whoever_is_first_wins(stage: Stage) -> None:
    """Once another worker has completed the job the late ACK is refused."""
    queue, late, other = stage.name(), stage.name("w"), stage.name("w")
    job = await lost(stage, queue, late)
    await stage.take(queue, other, **ACCEPT)
    (await stage.ack(job, other, attempt=2)).expect(200)
    (await stage.ack(job, late, attempt=1)).error(409, "conflict", current_state="completed")


@case("OJS-LAT-007", level=1, capability=LATE)
async def slow_work_costs_no_attempt(stage: Stage) -> None:
    """A job that outlasts its lease again and again is offered again, whatever its limit."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 2})
    for _ in range(3):
        await stage.take(queue, worker, visibility_timeout_ms=50, **ACCEPT)
        await stage.until_state(job, "available")
    seen = await stage.look(job)
    stage.equal([error["type"] for error in seen["errors"]], ["visibility_timeout"] * 3, "errors")
    (await stage.ack(job, worker, attempt=1)).expect(200, {"state": "completed", "attempt": 1})


@case("OJS-LAT-008", level=1, capability=LATE)
async def beats_that_extend_nothing(stage: Stage) -> None:
    """A BEAT with `extend: false` renews no lease, and says what was lost and cancelled."""
    queue, worker = stage.name(), stage.name("w")
    await stage.enqueue_many(queue, 3)
    kept, short, gone = await stage.fetch(queue, worker, count=3, visibility_timeout_ms=60_000)
    (await stage.ack(short, worker)).expect(200)
    (await stage.delete(f"jobs/{gone['id']}")).expect(200)
    reply = await stage.beat(worker, [kept, short, gone], extend=False)
    expected = {"jobs_lost": [short["id"]], "cancelled_jobs": [gone["id"]], "jobs_extended": []}
    reply.expect(200, expected)
    await stage.enqueue(queue)
    brief = await stage.take(queue, worker, visibility_timeout_ms=1_000)
    for _ in range(4):
        await stage.beat(worker, [brief], extend=False)
    await stage.until_state(brief, "available", 5)


@case("OJS-LAT-010", level=1, capability=LATE)
async def a_new_start_forgets(stage: Stage) -> None:
    """After a dead-letter retry no earlier delivery can complete the job."""
    queue, late = stage.name(), stage.name("w")
    job = await lost(stage, queue, late)
    again = await stage.take(queue, stage.name("w"), **ACCEPT)
    (await stage.fail(again, error={"message": "no", "retryable": False})).expect(200)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    (await stage.ack(job, late, attempt=1)).error(409, "conflict", current_state="available")
