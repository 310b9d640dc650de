"""Cases of ACK and FAIL: rights to settle a job, and outcomes."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply


@case("OJS-SET-001", "OJS-ERR-005")
async def jobs_are_named(stage: Stage) -> None:
    """ACK and FAIL without a job are 400, and of an unknown one 404."""
    unknown = stage.new_id()
    for path in ("workers/ack", "workers/nack"):
        (await stage.post(path, {})).error(400, "invalid_request", field="job_id")
        (await stage.post(path, {"job_id": unknown})).error(
            404, "not_found", resource_type="job", resource_id=unknown
        )
        (await stage.post(path, {"job_id": 7})).error(400, "invalid_request")
    (await stage.post(f"jobs/{unknown}/ack")).error(404, "not_found")


@case("OJS-SET-003", "OJS-SET-004", level=1)
async def only_the_holder_settles(stage: Stage) -> None:
    """A worker that does not hold the job is refused; without a worker the state decides."""
    queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
    await stage.enqueue_many(queue, 3)
    mine = await stage.take(queue, holder)
    (await stage.ack(mine, other)).error(409, "conflict", holder=holder)
    (await stage.fail(mine, other)).error(409, "conflict", holder=holder)
    stage.equal((await stage.look(mine))["state"], "active", "state")
    (await stage.ack(mine, holder)).expect(200)
    (await stage.ack(await stage.take(queue, holder))).expect(200)
    (await stage.ack(await stage.take(queue), other)).expect(200)


@case("OJS-SET-006", level=1)
async def the_delivery_must_be_the_present_one(stage: Stage) -> None:
    """An attempt that is not the present one is 409 with the present one."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue, "w")
    (await stage.fail(job, "w", requeue=True)).expect(200)
    await stage.take(queue, "w")
    for wrong in (1, 3):
        (await stage.ack(job, "w", attempt=wrong)).error(409, "conflict", current_attempt=2)
        (await stage.fail(job, "w", attempt=wrong)).error(409, "conflict", current_attempt=2)
    (await stage.ack(job, "w", attempt=2)).expect(200)


@case("OJS-SET-006", level=1)
async def earlier_deliveries_are_told_apart(stage: Stage) -> None:
    """A worker that was given a job again cannot settle the delivery whose lease it lost."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 10})
    await stage.take(queue, worker, visibility_timeout_ms=200)
    await stage.until_state(job, "available", 5)
    await stage.take(queue, worker)
    (await stage.ack(job, worker, attempt=1)).error(409, "conflict", current_attempt=2)
    (await stage.fail(job, worker, attempt=1)).error(409, "conflict", current_attempt=2)
    (await stage.ack(job, worker, attempt=2)).expect(200)


@case("OJS-SET-026", level=1)
async def an_ack_whose_answer_was_lost(stage: Stage) -> None:
    """The ACK that completed a job is answered again when it is repeated; every other is 409."""
    queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
    job = await stage.enqueue(queue)
    await stage.take(queue, holder)
    first = (await stage.ack(job, holder, attempt=1, result=1)).expect(200)
    stage.check(not first.has("repeated"), "an ACK that is not repeated", first["state"])
    before = dict(await stage.look(job))
    for result in (1, 2):
        again = (await stage.ack(job, holder, attempt=1, result=result)).expect(
            200, {"acknowledged": True, "repeated": True, "state": "completed", "attempt": 1}
        )
        stage.equal(again["completed_at"], first["completed_at"], "completed_at")
    for worker, more in (
        (other, {"attempt": 1}),
        ("", {"attempt": 1}),
        (holder, {"attempt": 2}),
        (holder, {}),
        ("", {}),
    ):
        reply = await stage.ack(job, worker, **more)
        reply.error(409, "conflict", current_state="completed")
    stage.equal(dict(await stage.look(job)), before, "the completed job")


@case("OJS-SET-027", level=1)
async def a_fail_whose_answer_was_lost(stage: Stage) -> None:
    """The FAIL that ended a delivery is answered again when it is repeated; every other is 409."""
    snooze = {"message": "later", "details": {"action": "snooze", "retry_after_ms": 3_600_000}}
    slow = {"max_attempts": 3, "initial_interval": "PT1H", "max_interval": "PT1H"}
    for more, retry, state in (
        ({}, slow, "retryable"),
        ({}, {"max_attempts": 1}, "discarded"),
        ({"requeue": True}, slow, "available"),
        ({"error": snooze}, slow, "scheduled"),
    ):
        queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
        job = await stage.enqueue(queue, retry=retry)
        await stage.take(queue, holder)
        first = (await stage.fail(job, holder, attempt=1, **more)).expect(200, {"state": state})
        stage.check(not first.has("repeated"), "a FAIL that is not repeated", first["state"])
        before = dict(await stage.look(job))
        again = await stage.fail(job, holder, attempt=1, **more)
        again.expect(200, {"repeated": True, "state": state, "attempt": 1})
        for worker, changed in (
            (other, {"attempt": 1}),
            ("", {"attempt": 1}),
            (holder, {"attempt": 2}),
            (holder, {}),
            ("", {}),
            (holder, {"attempt": 1, "error": {"code": "case_failed", "message": "another"}}),
        ):
            if "error" in changed and more:
                continue
            (await stage.fail(job, worker, **{**more, **changed})).error(409, "conflict")
        stage.equal(dict(await stage.look(job)), before, f"the {state} job")


@case("OJS-SET-027", level=1)
async def a_fail_whose_job_went_on(stage: Stage) -> None:
    """A repeated FAIL is known while another worker has the job, which stays with that worker."""
    queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 3, "initial_interval": "PT0.1S"})
    await stage.take(queue, holder)
    (await stage.fail(job, holder, attempt=1)).expect(200, {"state": "retryable"})
    await stage.until_state(job, "available", 5)
    await stage.take(queue, other)
    again = await stage.fail(job, holder, attempt=1)
    again.expect(200, {"repeated": True, "state": "active", "attempt": 1})
    (await stage.ack(job, other, attempt=2)).expect(200)


@case("OJS-SET-008", level=1)
async def late_answers_are_refused(stage: Stage) -> None:
    """After a lost lease ACK and FAIL are 409, while the job waits and once another has it."""
    queue, late, next_one = stage.name(), stage.name("w"), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 10})
    await stage.take(queue, late, visibility_timeout_ms=200)
    await stage.until_state(job, "available", 5)
    (await stage.ack(job, late)).error(409, "conflict", current_state="available")
    (await stage.fail(job, late)).error(409, "conflict", current_state="available")
    await stage.take(queue, next_one)
    for late_answer in (stage.ack, stage.fail):
        (await late_answer(job, late)).error(409, "conflict", holder=next_one)
    (await stage.ack(job, next_one)).expect(200)


@case("OJS-SET-009", "OJS-VIS-005", level=1)
async def taking_back_decides(stage: Stage) -> None:
    """Either an ACK at the very end of the lease wins, or the server took the job back."""
    for wait in (0.15, 0.2, 0.25, 0.3):
        queue = stage.name()
        job = await stage.enqueue(queue)
        await stage.take(queue, "w", visibility_timeout_ms=200)
        await asyncio.sleep(wait)
        reply = await stage.ack(job, "w")
        state = (await stage.look(job))["state"]
        if reply.status == 200:
            stage.equal(state, "completed", "state after an accepted ACK")
        else:
            reply.error(409, "conflict")
            stage.equal(state, "available", "state after a refused ACK")


@case("OJS-SET-012", "OJS-JOB-008")
async def results(stage: Stage) -> None:
    """Any JSON value is kept as the result, and given back equal."""
    queue = stage.name()
    values: tuple[Any, ...] = ({"a": [1, None, {"b": "\u0000"}]}, [], "text", 0, False, 1.5, None)
    for value in values:
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.ack(job, result=value)).expect(200)
        reply = (await stage.get(f"jobs/{job['id']}/result")).expect(
            200, {"job_id": {"$eq": job["id"]}, "state": "completed"}
        )
        stage.check("result" in reply.json, "a result", reply.text)
        stage.equal(reply.json["result"], value, "result")
        if value is not None:
            stage.equal((await stage.look(job))["result"], value, "result in the envelope")


@case("OJS-SET-013", level=1)
async def ack_after_a_failure(stage: Stage) -> None:
    """ACK removes the error of an earlier failure, and keeps the history."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"initial_interval": "PT0.1S", "jitter": False})
    await stage.take(queue)
    (await stage.fail(job)).expect(200)
    await stage.until_state(job, "available")
    await stage.take(queue)
    (await stage.ack(job)).expect(200)
    seen = await stage.look(job)
    stage.check("error" not in seen, "no error", seen)
    stage.equal(len(seen["errors"]), 1, "entries of the history")


@case("OJS-SET-014", "OJS-LIM-005", "OJS-LIM-007")
async def large_results(stage: Stage) -> None:
    """A result up to the limit is kept; a larger one is 413 and the job stays held."""
    limit = (stage.manifest.get("limits") or {}).get("max_result_bytes", 1_048_576)
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    reply = await stage.ack(job, result="x" * limit)
    reply.error(413, "RESULT_TOO_LARGE", limit=limit)
    stage.equal((await stage.look(job))["state"], "active", "state")
    (await stage.ack(job, result="x" * (limit - 2))).expect(200)


@case("OJS-SET-017")
async def answers_carry_the_job(stage: Stage) -> None:
    """The answers to ACK and FAIL carry the job in short: no arguments, meta, result, errors."""
    queue = stage.name()
    for settle in ("ack", "fail"):
        job = await stage.enqueue(queue, args=["big"], meta={"a": 1})
        await stage.take(queue)
        reply = await (stage.ack(job, result=1) if settle == "ack" else stage.fail(job))
        short = stage.job_in(reply.expect(200))
        stage.equal(short["id"], job["id"], "job.id")
        stage.equal(short["state"], reply["state"], "job.state")
        stage.equal(short["attempt"], 1, "job.attempt")
        for name in ("args", "meta", "result", "error", "errors"):
            stage.check(name not in short, f"no {name}", dict(short))


@case("OJS-SET-018", "OJS-SET-019", level=1)
async def reported_errors(stage: Stage) -> None:
    """Errors are objects or texts; missing members are filled in."""
    given: list[tuple[Any, dict[str, str]]] = [
        ({"code": "c", "type": "T", "message": "m"}, {"code": "c", "type": "T", "message": "m"}),
        ({"type": "T"}, {"code": "T", "type": "T"}),
        ({"code": "c"}, {"code": "c", "type": "c"}),
        ({"code": "c", "details": {"error_class": "E"}}, {"code": "c", "type": "E"}),
        ("just a text", {"message": "just a text", "code": "handler_error"}),
        ({}, {"code": "handler_error", "type": "handler_error"}),
        (None, {"code": "handler_error", "type": "handler_error"}),
    ]
    for error, expected in given:
        queue = stage.name()
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.fail(job, error=error)).expect(200)
        seen = (await stage.look(job))["error"]
        stage.equal({name: seen.get(name) for name in expected}, expected, f"error for {error!r}")


@case("OJS-SET-020", level=1)
async def errors_of_the_wrong_kind(stage: Stage) -> None:
    """Members of an error that are of the wrong kind are 400, and the job stays held."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    bad: tuple[Any, ...] = (
        {"message": 7},
        {"code": ["x"]},
        {"type": {}},
        {"retryable": "no"},
        {"details": []},
        {"backtrace": 7},
        {"backtrace": [7]},
        7,
        [],
    )
    for error in bad:
        (await stage.fail(job, error=error)).error(400, "invalid_request")
    stage.equal((await stage.look(job))["state"], "active", "state")
    good = {"message": "m", "backtrace": "one\ntwo", "retryable": False}
    (await stage.fail(job, error=good)).expect(200, {"state": "discarded"})
    entry = (await stage.look(job))["errors"][0]
    stage.equal(entry["backtrace"], ["one", "two"], "backtrace")


@case("OJS-SET-022", level=1)
async def asked_outcomes(stage: Stage) -> None:
    """A handler may ask for retry, discard or dead_letter, by action or by code."""
    for error, state in (
        ({"details": {"action": "retry"}}, "retryable"),
        ({"code": "RETRY"}, "retryable"),
        ({"details": {"action": "discard"}}, "discarded"),
        ({"code": "DISCARD"}, "discarded"),
        ({"code": "FAIL"}, "discarded"),
        ({"details": {"action": "dead_letter"}}, "discarded"),
        ({"code": "DEAD_LETTER"}, "discarded"),
    ):
        queue = stage.name()
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.fail(job, error={"message": "m", **error})).expect(200, {"state": state})


@case("OJS-SET-024", "OJS-SET-025", "OJS-ENV-035", level=1)
async def handlers_count_for_themselves(stage: Stage) -> None:
    """A FAIL may say how many deliveries are left and when the next one is due."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 2, "initial_interval": "PT1H"})
    released = await stage.take(queue)
    (await stage.fail(released, requeue=True)).expect(200)

    async def failed(**details: Any) -> Reply:
        await stage.take(queue)
        return await stage.fail(job, error={"message": "m", "details": details})

    terms = {"action": "retry", "retries": 3, "retry_after_ms": 300}
    reply = await failed(**terms)
    # Two deliveries, one of which counts against no limit, and three retries.
    expected = {"state": "retryable", "retry_delay_ms": 300, "max_attempts": 4}
    reply.expect(200, expected)
    stage.equal((await stage.look(job))["releases"], 1, "releases")
    await stage.until_state(job, "available")
    for wrong in (-1, 1001, 1.5, "3", True):
        await stage.take(queue)
        reply = await stage.fail(job, error={"details": {**terms, "retries": wrong}})
        reply.error(400, "invalid_request", field="error.details.retries")
        stage.equal((await stage.look(job))["state"], "active", "state")
        (await stage.fail(job, requeue=True)).expect(200)
    (await failed(action="retry", retries=0)).expect(200, {"state": "discarded"})


@case("OJS-SET-025", level=1)
async def other_details_are_the_handlers_own(stage: Stage) -> None:
    """Details such as `retry_after_ms` have no effect without the action `retry`."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 2, "jitter": False})
    await stage.take(queue)
    details = {"retries": "none", "retry_after_ms": 1}
    reply = await stage.fail(job, error={"message": "m", "details": details})
    expected = {"state": "retryable", "max_attempts": 2, "retry_delay_ms": 1000}
    reply.expect(200, expected)


@case("OJS-SET-023", "OJS-RET-006", level=1)
async def snooze(stage: Stage) -> None:
    """A snoozed job is scheduled for later, free of charge and without an error."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 2})
    for attempt in (1, 2):
        taken = await stage.take(queue)
        stage.equal(taken["attempt"], attempt, "attempt")
        error = {"message": "later", "details": {"action": "snooze", "retry_after_ms": 2000}}
        (await stage.fail(job, error=error)).expect(200, {"state": "scheduled"})
        seen = await stage.look(job)
        stage.check("error" not in seen and not seen.get("errors"), "no error", seen)
        await stage.empty(queue)
        await stage.until_state(job, "available", 6)
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable"})
