"""Cases of the limits that a job sets itself, and of its trace."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.cases.lifecycle import seconds_between
from conformance.play.stage import Stage

SLOW = {"initial_interval": "PT1H", "max_interval": "PT1H"}


@case("OJS-ENQ-025", "OJS-ENQ-026", "OJS-ENQ-027", level=1)
async def spellings(stage: Stage) -> None:
    """The limits are durations longer than zero; milliseconds win; invalid ones are 400."""
    queue = stage.name()
    for name in ("enqueue_ttl", "total_timeout", "heartbeat_timeout"):
        for good in ("PT1H", "90s", 3600, 0.5):
            (await stage.push(queue=queue, **{name: good})).expect(201)
        (await stage.push(queue=queue, **{f"{name}_ms": 90_000})).expect(201)
        bad: list[Any] = [0, -1, "soon", "P200Y", True, []]
        for wrong in bad:
            reply = await stage.push(queue=queue, **{name: wrong})
            reply.error(400, "invalid_request")
            stage.check(name in reply["error.message"], f"{name} in the message", reply.text)
    both = {"enqueue_ttl": 1, "enqueue_ttl_ms": 3_600_000}
    job = stage.job_in((await stage.push(queue=queue, **both)).expect(201))
    ttl = seconds_between(job["created_at"], job["expires_at"])
    stage.equal(ttl, 3600.0, "seconds until expires_at, by milliseconds")
    short = {"timeout": 10, "total_timeout": 5}
    (await stage.push(queue=queue, **short)).error(400, "invalid_request")


@case("OJS-ENQ-028", "OJS-EVT-014", level=1, capability="events")
async def traces(stage: Stage) -> None:
    """A job's trace is in the data of each of its events, wherever meta names it."""
    trace = "0af7651916cd43dd8448eb211c80319c"
    parent = f"00-{trace}-b7ad6b7169203331-01"
    for meta, expected in (
        ({"trace_id": "mine", "traceparent": parent}, "mine"),
        ({"traceparent": parent}, trace),
        ({"ojs.otel.traceparent": parent}, trace),
        ({}, None),
    ):
        queue = stage.name()
        await stage.done(queue, meta=meta)
        found = {event["data"].get("trace_id") for event in await stage.events(queue)}
        stage.equal(list(found), [expected], f"trace_id for {meta}")


@case("OJS-VIS-023", "OJS-VIS-024", "OJS-VIS-031", level=1)
async def waiting_too_long(stage: Stage) -> None:
    """A job whose time to wait is over is discarded, also while it waits for a retry."""
    queue, other = stage.name(), stage.name()
    jobs = [await stage.enqueue(queue, enqueue_ttl="PT3S")]
    retried = await stage.enqueue(other, enqueue_ttl="PT3S", retry=SLOW)
    await stage.take(other)
    (await stage.fail(retried)).expect(200, {"state": "retryable"})
    for job in (*jobs, retried):
        await stage.until_state(job, "discarded", 10)
        seen = await stage.look(job)
        error = seen["error"]
        for name in ("code", "type"):
            stage.equal(error[name], "enqueue_ttl_expired", f"error.{name}")
        entry = seen["errors"][-1]
        stage.equal(entry["timeout_kind"], "enqueue_ttl", "timeout_kind")
        stage.equal(entry["limit_seconds"], 3, "limit_seconds")
        stage.check(entry["elapsed_seconds"] >= 3, "elapsed_seconds", entry)
    all_three = {"expires_at": "+PT3H", "enqueue_ttl": "PT2H", "total_timeout": "PT1H"}
    job = await stage.enqueue(queue, **all_three)
    earliest = seconds_between(job["created_at"], job["expires_at"])
    stage.equal(earliest, 3600.0, "seconds until the earliest")
    past = await stage.enqueue(queue, enqueue_ttl_ms=1)
    await asyncio.sleep(0.05)
    found = [each["id"] for each in await stage.fetch(queue, count=9)]
    stage.check(past["id"] not in found, "no job whose time is over", found)


@case("OJS-VIS-025", "OJS-VIS-026", "OJS-VIS-031", "OJS-EVT-015", level=1)
async def total_times(stage: Stage) -> None:
    """The total time runs over all attempts and ends the job, which a dead-letter retry renews."""
    queue, worker = stage.name(), stage.name("w")
    quick = {"max_attempts": 9, "initial_interval_ms": 1, "jitter": False}
    job = await stage.enqueue(queue, total_timeout="PT4S", retry=quick)
    (await stage.fail(await stage.take(queue), error={"code": "first"})).expect(200)
    await stage.until_state(job, "available", 3)
    await stage.take(queue, worker)
    await stage.beat(worker, [job])
    await stage.until_state(job, "discarded", 10)
    seen = await stage.look(job)
    entry = seen["errors"][-1]
    expected = {"code": "total_timeout", "type": "total_timeout", "timeout_kind": "total"}
    stage.equal({name: entry.get(name) for name in expected}, expected, "the last entry")
    stage.equal(entry["limit_seconds"], 4, "limit_seconds")
    ran = seconds_between(seen["created_at"], entry["occurred_at"])
    stage.check(4 <= ran <= 8, "four seconds in all", ran)
    (await stage.ack(job, worker)).error(409, "conflict")
    types = [event["type"] for event in await stage.events(queue)]
    stage.check("job.discarded" in types[-2:], "job.discarded at the end", types)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
    again = await stage.take(queue)
    await asyncio.sleep(1.5)
    (await stage.ack(again)).expect(200)


@case("OJS-VIS-028", "OJS-VIS-029", "OJS-VIS-031", level=1)
async def silent_holders(stage: Stage) -> None:
    """A job is taken from a worker that is silent for too long, however long the lease."""
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue, heartbeat_timeout="PT4S", retry=SLOW)
    await stage.take(queue, worker, visibility_timeout_ms=600_000)
    for _ in range(5):
        await asyncio.sleep(0.9)
        await stage.beat(worker, [job], visibility_timeout_ms=600_000)
    stage.equal((await stage.look(job))["state"], "active", "state of a job that is beaten")
    await stage.until_state(job, "retryable", 10)
    entry = (await stage.look(job))["errors"][-1]
    expected: dict[str, Any] = {"code": "stalled", "type": "stalled", "timeout_kind": "stalled"}
    stage.equal({name: entry.get(name) for name in expected}, expected, "the entry")
    stage.equal(entry["limit_seconds"], 4, "limit_seconds")
    plain = await stage.enqueue(queue, heartbeat_timeout="PT1H")
    await stage.take(queue, worker, visibility_timeout_ms=400)
    await stage.until_state(plain, "available", 5)
    stage.equal((await stage.look(plain))["error"]["code"], "visibility_timeout", "error.code")


@case("OJS-VIS-030", level=1, own_server="main", seconds=150)
async def time_away_is_no_silence(stage: Stage) -> None:
    """A server that was away does not take a job from a holder that could not be heard."""
    assert stage.process is not None
    queue, worker = stage.name(), stage.name("w")
    job = await stage.enqueue(queue, heartbeat_timeout="PT5S", retry=SLOW)
    await stage.take(queue, worker, visibility_timeout_ms=600_000)
    await stage.process.kill()
    await asyncio.sleep(5.5)
    await stage.process.start()
    await asyncio.sleep(1)
    stage.equal((await stage.look(job))["state"], "active", "state right after the restart")
    reply = await stage.beat(worker, [job])
    stage.equal(reply["jobs_extended"], [job["id"]], "jobs_extended")
