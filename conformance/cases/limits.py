"""Cases of sizes and counts: values that must be accepted, and refusals that do no harm."""

import asyncio

from conformance.case import case
from conformance.play.stage import Stage


@case("OJS-LIM-001")
async def sizes_of_jobs(stage: Stage) -> None:
    """A job of one MiB is accepted and comes back whole."""
    queue = stage.name()
    text = "x" * (1_048_576 - 2048)  # the rest is for the other members, those of the server too
    job = await stage.enqueue(queue, args=[text])
    stage.equal(len((await stage.take(queue))["args"][0]), len(text), "characters")
    (await stage.ack(job)).expect(200)


@case("OJS-LIM-001", "OJS-LIM-007", "OJS-LIM-013")
async def jobs_that_are_too_large(stage: Stage) -> None:
    """Arguments, meta and options have one MiB together, and no more: more is 413."""
    queue = stage.name()
    job = await stage.enqueue(queue, args=["x" * (1_048_576 - 100)])
    await stage.take(queue)
    (await stage.ack(job)).expect(200)
    reply = await stage.push(queue=queue, args=["x" * 1_048_576])
    reply.error(413, "payload_too_large", limit="number:positive")
    await stage.empty(queue)


@case("OJS-LIM-002")
async def sizes_of_meta(stage: Stage) -> None:
    """Meta, and the metadata of a worker, have 64 KiB and no more."""
    queue = stage.name()
    await stage.enqueue(queue, meta={"a": "x" * 65_000})
    (await stage.push(queue=queue, meta={"a": "x" * 65_536})).error(413, "payload_too_large")
    if stage.claims("worker_registration"):
        profile = {"worker_id": stage.name("w"), "metadata": {"a": "x" * 65_536}}
        (await stage.post("workers/register", profile)).error(413, "payload_too_large")


@case("OJS-LIM-004")
async def bodies_that_are_too_odd(stage: Stage) -> None:
    """Too deep, integers and numbers out of range, and bytes that are no UTF-8 are 400."""
    queue = stage.name().encode()
    head = b'{"type":"test.case","queue":"' + queue + b'","args":'
    for args in (
        b"[" * 70 + b"]" * 70,
        b"[" * 100_000,
        b"[18446744073709551616]",
        b"[-9223372036854775809]",
        b"[1e999]",
        b'["\xff\xfe"]',
        b"[NaN]",
        b"[Infinity]",
        b'["\\ud800"]',
    ):
        reply = await stage.call("POST", "jobs", raw=head + args + b"}")
        reply.error(400, "invalid_payload")
    deep = b"[" * 60 + b"1" + b"]" * 60
    (await stage.call("POST", "jobs", raw=head + deep + b"}")).expect(201)
    good = b'[9223372036854775807,-9223372036854775808,1e308,"\\u0000"]'
    (await stage.call("POST", "jobs", raw=head + good + b"}")).expect(201)


@case("OJS-LIM-006", level=1, alone=True)
async def lengths_of_beats(stage: Stage) -> None:
    """A BEAT lists up to ten thousand jobs; a longer list is 400."""
    worker, name = stage.name("w"), stage.new_id()
    await stage.beat(worker, [f"{name[:-6]}{number:06x}" for number in range(10_000)])
    many = [f"{name[:-6]}{number:06x}" for number in range(10_001)]
    body = {"worker_id": worker, "active_job_ids": many}
    (await stage.post("workers/heartbeat", body)).error(400, "invalid_request")


@case("OJS-LIM-008", "OJS-LIM-009", "OJS-HTP-019", seconds=90, alone=True)
async def floods(stage: Stage) -> None:
    """Hundreds of calls at once are answered, or told to come later with Retry-After."""
    queue = stage.name()
    replies = await asyncio.gather(*(stage.push(queue=queue, args=[n]) for n in range(400)))
    stored = 0
    for reply in replies:
        if reply.status == 503:
            reply.error(503, "overloaded")
            reply.seconds_to_wait()
            continue
        reply.expect(201)
        stored += 1
    jobs = [job for _ in range(5) for job in await stage.fetch(queue, count=100)]
    stage.equal(len(jobs), stored, "jobs stored")


@case("OJS-LIM-009", capability="batch_enqueue", seconds=90, alone=True)
async def many_waiting_jobs(stage: Stage) -> None:
    """Ten thousand jobs wait in one queue, and it works as before."""
    queue = stage.name()
    for _ in range(10):
        await stage.enqueue_many(queue, 1000)
    reply = (await stage.get(f"queues/{queue}/stats")).expect(200)
    stage.equal(reply["queue.available"], 10_000, "available")
    await stage.take(queue)


@case("OJS-LIM-010", "OJS-SET-020", level=1)
async def sizes_of_error_details(stage: Stage) -> None:
    """Details of an error over 64 KiB are 413, and the job stays held."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    await stage.take(queue)
    error = {"message": "m", "details": {"a": "x" * 65_536}}
    (await stage.fail(job, error=error)).error(413, "payload_too_large")
    stage.equal((await stage.look(job))["state"], "active", "state")
    (await stage.fail(job, error={"message": "m", "details": {"a": "x" * 60_000}})).expect(200)


@case("OJS-LIM-011")
async def endless_headers(stage: Stage) -> None:
    """Headers that do not end are refused and the connection is closed; others go on."""
    head = f"GET /ojs/manifest HTTP/1.1\r\nHost: {stage.host}\r\nX-Endless: "
    answer = await stage.send_raw(head.encode() + b"x" * 2**21)
    stage.check(
        answer == b"" or b" 431 " in answer[:20] or b" 400 " in answer[:20],
        "431",
        repr(answer[:200]),
    )
    (await stage.get("/ojs/manifest")).expect(200)
