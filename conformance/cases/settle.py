"""Cases of ACK and FAIL: rights to settle a job, and outcomes."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.cases.envelope import NUMBERS, TEXTS
from conformance.cases.visibility import taken_back
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

REFUSED = {"$gte": 400, "$lt": 500}


@case("OJS-SET-001")
async def jobs_are_named(stage: Stage) -> None:
    """ACK and FAIL without a job are 400, and of an unknown one 404."""
    error = {"error": {"code": "handler_error", "message": "made to fail"}}
    for path, more in (("workers/ack", {}), ("workers/nack", error)):
        (await stage.post(path, more)).expect(400)
        (await stage.post(path, {"job_id": 7, **more})).expect(400)
        (await stage.post(path, {"job_id": stage.new_id(), **more})).expect(404)


@case("OJS-SET-001", "OJS-SET-029", "OJS-ERR-005")
async def jobs_in_paths(stage: Stage) -> None:
    """The job may be named in the path; an unknown one is 404, and the error says which."""
    unknown = stage.new_id()
    for path in ("workers/ack", "workers/nack"):
        (await stage.post(path, {})).error(400, "invalid_request", field="job_id")
        (await stage.post(path, {"job_id": unknown})).error(
            404, "not_found", resource_type="job", resource_id=unknown
        )
    (await stage.post(f"jobs/{unknown}/ack")).error(404, "not_found")
    queue = stage.name()
    for path, state in (("ack", "completed"), ("nack", "retryable")):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.post(f"jobs/{job['id']}/{path}", {})).expect(200, {"state": state})


@case("OJS-SET-003", level=1)
async def only_the_holder_settles(stage: Stage) -> None:
    """A worker that does not hold the job is refused."""
    queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
    await stage.enqueue(queue)
    mine = await stage.take(queue, holder)
    (await stage.ack(mine, other)).expect(REFUSED)
    (await stage.fail(mine, other)).expect(REFUSED)
    stage.equal((await stage.look(mine))["state"], "active", "state")
    (await stage.ack(mine, holder)).expect(200)


@case("OJS-SET-004")
async def workers_need_not_be_named(stage: Stage) -> None:
    """An ACK or FAIL without a worker is accepted for an active job, whoever holds it."""
    queue = stage.name()
    for settle in (stage.ack, stage.fail):
        await stage.enqueue(queue, retry={"max_attempts": 1})
        (await settle(await stage.take(queue, stage.name("w")))).expect(200)


@case("OJS-SET-030", "OJS-SET-031", level=1)
async def holders_are_told(stage: Stage) -> None:
    """A worker that does not hold the job learns who does; of one held by nobody anybody may."""
    queue, holder, other = stage.name(), stage.name("w"), stage.name("w")
    await stage.enqueue_many(queue, 2)
    mine = await stage.take(queue, holder)
    (await stage.ack(mine, other)).error(409, "conflict", holder=holder)
    (await stage.fail(mine, other)).error(409, "conflict", holder=holder)
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


@case("OJS-SET-008", level=1, seconds=90)
async def late_answers_are_refused(stage: Stage) -> None:
    """After a lost lease ACK and FAIL are refused, while the job waits and once another has it."""
    queue, late, next_one = stage.name(), stage.name("w"), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 10, "initial_interval": "PT1S"})
    await stage.take(queue, late, visibility_timeout_ms=1_000)
    await taken_back(stage, job)
    (await stage.ack(job, late)).expect(409)
    (await stage.fail(job, late)).expect(409)
    await stage.until_state(job, "available", 15)
    await stage.take(queue, next_one)
    for late_answer in (stage.ack, stage.fail):
        (await late_answer(job, late)).expect(REFUSED)
    (await stage.ack(job, next_one)).expect(200)


@case("OJS-SET-006", "OJS-SET-008", "OJS-SET-030", level=1)
async def what_late_answers_are_told(stage: Stage) -> None:
    """A late ACK or FAIL is told the state of the job, or who holds it now."""
    queue, late, next_one = stage.name(), stage.name("w"), stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 10})
    await stage.take(queue, late, visibility_timeout_ms=200)
    await stage.until_state(job, "available", 5)
    (await stage.ack(job, late)).error(409, "conflict", current_state="available")
    (await stage.fail(job, late)).error(409, "conflict", current_state="available")
    await stage.take(queue, next_one)
    for late_answer in (stage.ack, stage.fail):
        (await late_answer(job, late)).error(409, "conflict", holder=next_one)
    (await late_answer(job, next_one, attempt=1)).error(409, "conflict", current_attempt=2)


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


@case("OJS-SET-012")
async def results(stage: Stage) -> None:
    """The result of a job is kept, and given back equal."""
    queue = stage.name()
    for value in ({"a": [1, None, {"b": "text"}], "c": 1.5, "d": False}, {}):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.ack(job, result=value)).expect(200)
        stage.equal((await stage.look(job))["result"], value, "result")


@case("OJS-SET-012", "OJS-ENV-057", "OJS-ENV-058")
async def results_to_the_letter(stage: Stage) -> None:
    """Numbers of 17 digits and texts of any form come back in a result as they were sent."""
    queue, value = stage.name(), {"numbers": list(NUMBERS), "texts": list(TEXTS)}
    job = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(job, result=value)).expect(200)
    stage.equal((await stage.look(job))["result"], value, "result")


@case("OJS-SET-028")
async def results_of_any_kind(stage: Stage) -> None:
    """A result may be any JSON value."""
    queue = stage.name()
    for value in (["a", None], [], "text", 7, 1.5, True):
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.ack(job, result=value)).expect(200)
        stage.equal((await stage.look(job))["result"], value, "result")


@case("OJS-SET-012", "OJS-SET-028", "OJS-SET-037", "OJS-JOB-008", capability="job_result")
async def results_by_themselves(stage: Stage) -> None:
    """A result can be read by itself, also where it is null."""
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


@case("OJS-SET-013", level=1)
async def ack_after_a_failure(stage: Stage) -> None:
    """ACK removes the error of an earlier failure, and keeps the history."""
    queue = stage.name()
    retry = {"max_attempts": 3, "initial_interval": "PT0.1S", "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    (await stage.fail(job)).expect(200, {"state": "retryable"})
    await stage.until_state(job, "available", 10)
    await stage.take(queue)
    (await stage.ack(job)).expect(200)
    seen = await stage.look(job)
    stage.check(seen.get("error") is None, "no error", seen)
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


@case("OJS-SET-032")
async def answers_name_the_delivery(stage: Stage) -> None:
    """The answers to ACK and FAIL have the job's id twice, its attempt and its limit."""
    queue = stage.name()
    for settle in (stage.ack, stage.fail):
        job = await stage.enqueue(queue, retry={"max_attempts": 3})
        reply = (await settle(await stage.take(queue))).expect(200)
        reply.expect(200, {"id": {"$eq": job["id"]}, "job_id": {"$eq": job["id"]}})
        reply.expect(200, {"attempt": 1, "max_attempts": 3})


@case("OJS-SET-018")
async def errors_are_kept(stage: Stage) -> None:
    """The error of a FAIL is kept with the job."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    error = {
        "code": "handler_error",
        "type": "ConnectionRefused",
        "message": "connection refused",
        "retryable": True,
        "details": {"host": "example.com"},
        "backtrace": ["first", "second"],
    }
    (await stage.fail(job, error=error)).expect(200)
    seen = (await stage.look(job))["error"]
    for name in ("type", "message"):
        stage.equal(seen[name], error[name], f"error.{name}")


@case("OJS-SET-019", "OJS-SET-033", level=1)
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


@case("OJS-SET-020")
async def errors_of_the_wrong_kind(stage: Stage) -> None:
    """Members of an error that are of the wrong kind are 400, and the job stays held."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    good = {"code": "handler_error", "message": "m"}
    bad: tuple[Any, ...] = (
        {**good, "message": 7},
        {**good, "code": ["x"]},
        {**good, "type": {}},
        {**good, "retryable": "no"},
        {**good, "details": []},
        7,
        [],
    )
    for error in bad:
        (await stage.fail(job, error=error)).expect(400)
    stage.equal((await stage.look(job))["state"], "active", "state")


@case("OJS-SET-034", level=1)
async def backtraces(stage: Stage) -> None:
    """A backtrace is an array of strings or a text, which is cut at line breaks."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    for wrong in (7, [7]):
        reply = await stage.fail(job, error={"message": "m", "backtrace": wrong})
        reply.error(400, "invalid_request")
    stage.equal((await stage.look(job))["state"], "active", "state")
    good = {"message": "m", "backtrace": "one\ntwo", "retryable": False}
    (await stage.fail(job, error=good)).expect(200, {"state": "discarded"})
    entry = (await stage.look(job))["errors"][0]
    stage.equal(entry["backtrace"], ["one", "two"], "backtrace")


@case("OJS-SET-035", level=1)
async def requeued_jobs_have_their_place(stage: Stage) -> None:
    """A job that was given back comes before those behind it, and has no error."""
    queue = stage.name()
    first, second = [await stage.enqueue(queue) for _ in range(2)]
    (await stage.fail(await stage.take(queue), requeue=True)).expect(200)
    seen = await stage.look(first)
    stage.check("error" not in seen and not seen.get("errors"), "no error recorded", seen)
    order = [(await stage.take(queue))["id"] for _ in range(2)]
    stage.equal(order, [first["id"], second["id"]], "order")


@case("OJS-SET-022", level=1)
async def asked_outcomes(stage: Stage) -> None:
    """A handler may ask for another try or for the end of the job, by its code."""
    retry = {"max_attempts": 3, "initial_interval": "PT1M"}
    for code, state in (
        ("RETRY", "retryable"),
        ("DISCARD", "discarded"),
        ("FAIL", "discarded"),
        ("DEAD_LETTER", "discarded"),
    ):
        queue = stage.name()
        job = await stage.enqueue(queue, retry=retry)
        await stage.take(queue)
        error = {"code": code, "type": "case.asked", "message": "m"}
        (await stage.fail(job, error=error)).expect(200, {"state": state})


@case("OJS-SET-036", level=1)
async def asked_actions(stage: Stage) -> None:
    """A handler may ask for retry, discard or dead_letter in the details of its error."""
    for action, state in (
        ("retry", "retryable"),
        ("discard", "discarded"),
        ("dead_letter", "discarded"),
    ):
        queue = stage.name()
        job = await stage.enqueue(queue)
        await stage.take(queue)
        error = {"message": "m", "details": {"action": action}}
        (await stage.fail(job, error=error)).expect(200, {"state": state})


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
