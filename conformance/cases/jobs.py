"""Cases of reading, cancelling and activating jobs, and of waiting for their results."""

import asyncio
import time

from conformance.case import case
from conformance.play.stage import Stage


@case("OJS-JOB-001", "OJS-JOB-002", level=1)
async def reading(stage: Stage) -> None:
    """A job is read whole, with its result or its error; reading it changes nothing."""
    queue = stage.name()
    waiting = await stage.enqueue(stage.name(), args=[1, "two"], meta={"a": 1})
    done = await stage.enqueue(queue)
    await stage.take(queue)
    (await stage.ack(done, result={"sum": 3})).expect(200)
    dead = await stage.discarded(queue)
    for job, state in ((waiting, "available"), (done, "completed"), (dead, "discarded")):
        first = await stage.look(job)
        stage.equal(first["state"], state, "state")
        for _ in range(3):
            stage.equal(dict(await stage.look(job)), dict(first), f"the {state} job")
    stage.equal((await stage.look(done))["result"], {"sum": 3}, "result")
    stage.equal((await stage.look(dead))["error"]["message"], "made to fail", "error.message")
    seen = await stage.look(waiting)
    stage.equal((seen["args"], seen["meta"]), ([1, "two"], {"a": 1}), "args and meta")


@case("OJS-JOB-014", level=1)
async def reading_after_an_answer(stage: Stage) -> None:
    """A job is read as it was answered, with its options and all errors."""
    queue = stage.name()
    done = await stage.done(queue, args=[1], meta={"a": 1}, tags=["t"])
    dead = await stage.discarded(queue)
    waiting = await stage.enqueue(queue)
    for job in (done, dead, waiting):
        stage.equal(dict(await stage.look(job)), dict(job), f"the {job['state']} job")
    stage.equal(len(dead["errors"]), 1, "entries of the history")
    stage.equal(done["tags"], ["t"], "tags")


@case("OJS-JOB-003", level=1)
async def unknown_jobs(stage: Stage) -> None:
    """An id that no job has is 404 when it is read, cancelled or activated."""
    await stage.look(await stage.enqueue(stage.name()))
    name = stage.new_id()
    (await stage.get(f"jobs/{name}")).expect(404)
    (await stage.delete(f"jobs/{name}")).expect(404)
    (await stage.post(f"jobs/{name}/activate")).expect(404)


@case("OJS-JOB-003", "OJS-JOB-015", "OJS-ERR-005")
async def unknown_jobs_of_every_form(stage: Stage) -> None:
    """An id that names no job, of whatever form, is 404 in every call."""
    for name in (stage.new_id(), "nothing", "123", "%20", "x" * 300, "a%2Fb"):
        for reply in (
            await stage.get(f"jobs/{name}"),
            await stage.delete(f"jobs/{name}"),
            await stage.get(f"jobs/{name}/result"),
            await stage.post(f"jobs/{name}/activate"),
        ):
            reply.error(404, "not_found")
    (await stage.get("jobs/nothing")).error(404, "not_found", resource_type="job")


@case("OJS-JOB-004", level=1)
async def cancelling(stage: Stage) -> None:
    """A cancelled job is answered with its state and the moment."""
    job = await stage.enqueue(stage.name())
    (await stage.delete(f"jobs/{job['id']}")).expect(
        200,
        {
            "job.id": {"$eq": job["id"]},
            "job.state": "cancelled",
            "job.cancelled_at": "string:datetime",
        },
    )


@case("OJS-JOB-005", level=1)
async def settling_cancelled_jobs(stage: Stage) -> None:
    """ACK and FAIL of a cancelled job are 409, and it stays cancelled."""
    job = await stage.enqueue(stage.name())
    (await stage.delete(f"jobs/{job['id']}")).expect(200)
    (await stage.ack(job)).expect(409)
    (await stage.fail(job)).expect(409)
    stage.equal((await stage.look(job))["state"], "cancelled", "state")


@case("OJS-JOB-006", "OJS-JOB-016", "OJS-LIF-022")
async def cancelling_says_the_state_before(stage: Stage) -> None:
    """A cancelled job is answered with its state before, and cannot be cancelled again."""
    job = await stage.enqueue(stage.name())
    reply = await stage.delete(f"jobs/{job['id']}")
    reply.expect(200, {"job.previous_state": "available"})
    (await stage.delete(f"jobs/{job['id']}")).error(409, "conflict", current_state="cancelled")
    done = await stage.done(stage.name())
    (await stage.delete(f"jobs/{done['id']}")).error(409, "conflict", current_state="completed")


@case("OJS-JOB-017", "OJS-WRK-011", level=1)
async def holders_learn_of_a_cancel(stage: Stage) -> None:
    """The next BEAT of the worker that holds a cancelled job names it."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue)
    await stage.take(queue, worker)
    (await stage.delete(f"jobs/{job['id']}")).expect(200)
    reply = await stage.beat(worker, [job])
    stage.equal(reply["cancelled_jobs"], [job["id"]], "cancelled_jobs")


@case("OJS-JOB-008", "OJS-JOB-009", level=1, capability="job_result")
async def results(stage: Stage) -> None:
    """A result is there once the job has ended; before that the answer is 202."""
    queue = stage.name()
    waiting = await stage.enqueue(queue)
    for state in ("available", "active"):
        reply = (await stage.get(f"jobs/{waiting['id']}/result")).expect(
            202, {"job_id": {"$eq": waiting["id"]}, "state": state}
        )
        reply.seconds_to_wait()
        if state == "available":
            await stage.take(queue)
    (await stage.ack(waiting)).expect(200)
    reply = (await stage.get(f"jobs/{waiting['id']}/result")).expect(200, {"state": "completed"})
    stage.check("result" in reply.json and reply.json["result"] is None, "null", reply.text)
    dead = await stage.discarded(queue)
    reply = (await stage.get(f"jobs/{dead['id']}/result")).expect(
        200, {"state": "discarded", "error.code": "case_failed"}
    )
    stage.check("result" in reply.json, "a result of null", reply.text)
    gone = await stage.enqueue(queue)
    (await stage.delete(f"jobs/{gone['id']}")).expect(200)
    (await stage.get(f"jobs/{gone['id']}/result")).expect(200, {"state": "cancelled"})


@case("OJS-JOB-012", "OJS-JOB-013", "OJS-RET-024", level=1, capability="admin_api")
async def histories(stage: Stage) -> None:
    """A history lists the events and errors of a job, and says if it is incomplete."""
    queue = stage.name()
    worker = stage.name("w")
    job = await stage.enqueue(queue, retry={"max_attempts": 2, "initial_interval": "PT0.1S"})
    await stage.take(queue, worker)
    first = (await stage.get(f"jobs/{job['id']}/history")).expect(
        200, {"job_id": {"$eq": job["id"]}, "state": "active", "complete": True}
    )
    kinds = ["job.created", "job.enqueued", "job.started"]
    stage.equal([event["type"] for event in first["events"]], kinds, "types")
    stage.equal(first["events"][2]["worker_id"], worker, "the worker")
    await stage.fail(job, worker)
    await stage.until_state(job, "available")
    await stage.take(queue, worker)
    (await stage.fail(job, worker)).expect(200, {"state": "discarded"})
    last = (await stage.get(f"jobs/{job['id']}/history")).expect(200, {"complete": True})
    events = [
        (event["type"], event.get("attempt"), event.get("worker_id")) for event in last["events"]
    ]
    stage.equal(events[:1], [("job.created", None, None)], "the first event")
    begun = [("job.started", 1, worker), ("job.failed", 1, worker)]
    stage.equal([event for event in events if event[1] == 1], begun, "the first delivery")
    stage.equal(events[-1], ("job.discarded", 2, worker), "the last event")
    errors = [event["error"] for event in last["events"] if "error" in event]
    stage.equal(errors, (await stage.look(job))["errors"], "errors")
    starts = [event["time"] for event in last["events"] if event["type"] == "job.started"]
    stage.equal([error["started_at"] for error in errors], starts, "starts in the errors")
    stage.equal([error["worker_id"] for error in errors], [worker, worker], "workers in the errors")
    for path in (f"events/{job['id']}/history", f"admin/jobs/{job['id']}/trace"):
        stage.equal((await stage.get(path)).json, last.json, path)
    later = await stage.enqueue(queue, scheduled_at="+PT1H")
    (await stage.get(f"jobs/{later['id']}/history")).expect(
        200, {"scheduled_at": {"$eq": later["scheduled_at"]}, "events": {"$size": 1}}
    )
    (await stage.get(f"jobs/{stage.new_id()}/history")).error(404, "not_found")


@case("OJS-JOB-012", "OJS-JOB-013", "OJS-RET-019", level=1, capability="admin_api")
async def histories_that_lost_a_start(stage: Stage) -> None:
    """A history is not complete once the entry of the first delivery has gone."""
    queue = stage.name()
    job = await stage.discarded(queue)
    for _ in range(20):
        (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
        await stage.take(queue)
        (await stage.fail(job)).expect(200, {"state": "discarded"})
    history = (await stage.get(f"jobs/{job['id']}/history")).expect(200, {"complete": False})
    starts = [event["attempt"] for event in history["events"] if event["type"] == "job.started"]
    stage.equal(starts, [1] * 20, "the starts that are left")


@case("OJS-JOB-012", level=2, capability="job_ttl")
async def histories_of_expired_jobs(stage: Stage) -> None:
    """A job that expired before its retry tells of its delivery, also once it starts over."""
    stage.need(stage.claims("admin_api"), "it claims no admin_api")
    queue, worker = stage.name(), stage.name("w")
    slow = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    job = await stage.enqueue(queue, retry=slow, expires_at="+PT3S")
    await stage.take(queue, worker)
    (await stage.fail(job, worker)).expect(200, {"state": "retryable"})
    await stage.until_state(job, "discarded", 10)
    ended = (await stage.get(f"jobs/{job['id']}/history")).expect(200)["events"]
    run = ["job.started", "job.failed"]
    kinds = ["job.created", "job.enqueued", *run, "job.discarded"]
    stage.equal([event["type"] for event in ended], kinds, "types after its end")
    stage.equal(ended[-1]["error"]["code"], "expired", "why it ended")
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    again = (await stage.get(f"jobs/{job['id']}/history")).expect(200)["events"]
    kinds = ["job.created", *run, "job.failed", "job.enqueued"]
    stage.equal([event["type"] for event in again], kinds, "types when it starts over")


@case("OJS-JOB-010", level=1, capability="job_result")
async def waiting_for_results(stage: Stage) -> None:
    """With wait=true the answer comes as soon as the job ends, or 408 when the time is over."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    reply = await stage.get(f"jobs/{job['id']}/result", wait="true", timeout=1)
    reply.error(408, "request_timeout")
    stage.check(reply.duration_ms >= 900, "a second of waiting", reply.duration_ms)
    waits = [stage.get(f"jobs/{job['id']}/result", wait="true", timeout=20) for _ in range(5)]
    async with stage.waiting(*waits) as waiters:
        await asyncio.sleep(0.2)
        await stage.take(queue)
        started = time.monotonic()
        (await stage.ack(job, result=7)).expect(200)
        for answer in await asyncio.wait_for(asyncio.gather(*waiters), 5):
            answer.expect(200, {"state": "completed", "result": 7})
        took = time.monotonic() - started
    stage.check(took < 2, "answers soon after the end", took)
    for wrong in ("-1", "x"):
        reply = await stage.get(f"jobs/{job['id']}/result", wait="true", timeout=wrong)
        reply.expect((200, 400))
