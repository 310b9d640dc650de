"""Cases of sending the same request twice: by key, and by an id that the client chose."""

import asyncio

from conformance.case import case
from conformance.play.stage import Stage

KEYS = "idempotency_keys"


@case("OJS-IDM-002", "OJS-IDM-003", "OJS-IDM-007", capability=KEYS)
async def keys(stage: Stage) -> None:
    """A key repeats an equal request, as the job is now, and refuses a different one."""
    queue, key = stage.name(), stage.name("key")
    body = {"type": "test.case", "args": [1], "queue": queue}
    job = stage.job_in((await stage.post("jobs", body, Idempotency_Key=key)).expect(201))
    await stage.take(queue)
    again = (await stage.post("jobs", body, Idempotency_Key=key)).expect(
        200, {"job.id": {"$eq": job["id"]}, "job.state": "active", "deduplicated": True}
    )
    stage.equal(again["job.attempt"], 1, "attempt, as the job is now")
    other = {**body, "args": [2]}
    (await stage.post("jobs", other, Idempotency_Key=key)).error(409, "duplicate")
    (await stage.post("jobs", body, Idempotency_Key=stage.name("key"))).expect(201)
    stage.equal(len(await stage.fetch(queue, count=10)), 1, "further jobs")


@case("OJS-IDM-016", capability=KEYS)
async def keys_sign_by_sign(stage: Stage) -> None:
    """Keys that differ in capital letters alone each store a job."""
    queue, key = stage.name(), stage.name("key")
    body = {"type": "test.case", "args": [], "queue": queue}
    made = set()
    for spelt in (key, key.upper(), key.title()):
        reply = (await stage.post("jobs", body, Idempotency_Key=spelt)).expect(201)
        made.add(reply["job.id"])
        again = (await stage.post("jobs", body, Idempotency_Key=spelt)).expect(200)
        stage.equal(again["job.id"], reply["job.id"], f"the job of the key {spelt}")
    stage.equal(len(made), 3, "different jobs")


@case("OJS-IDM-002", "OJS-IDM-008", capability=KEYS)
async def keys_of_batches(stage: Stage) -> None:
    """A key covers a batch whole; keys of single enqueues have nothing to do with it."""
    queue, key = stage.name(), stage.name("key")
    body = {"jobs": [{"type": "test.case", "args": [n], "queue": queue} for n in range(3)]}
    first = (await stage.post("jobs/batch", body, Idempotency_Key=key)).expect(201)
    again = (await stage.post("jobs/batch", body, Idempotency_Key=key)).expect(200)
    ids = [job["id"] for job in first["jobs"]]
    stage.equal([job["id"] for job in again["jobs"]], ids, "the same jobs")
    less = {"jobs": body["jobs"][:2]}
    (await stage.post("jobs/batch", less, Idempotency_Key=key)).error(409, "duplicate")
    (await stage.post("jobs", body["jobs"][0], Idempotency_Key=key)).expect(201)
    stage.equal(len(await stage.fetch(queue, count=10)), 4, "jobs stored")


@case("OJS-IDM-004")
async def ids_name_one_job(stage: Stage) -> None:
    """A chosen id again with a different request is 409, and the first job stays."""
    queue, chosen = stage.name(), stage.new_id()
    await stage.enqueue(queue, id=chosen, args=["first"])
    (await stage.push(queue=queue, id=chosen, args=["other"])).expect(409)
    taken = await stage.take(queue)
    stage.equal((taken["id"], taken["args"]), (chosen, ["first"]), "the job")
    await stage.empty(queue)


@case("OJS-IDM-004", "OJS-IDM-006", "OJS-IDM-007", "OJS-IDM-014")
async def chosen_ids(stage: Stage) -> None:
    """A chosen id again with an equal request is the same job; with a different one it is 409."""
    queue, chosen = stage.name(), stage.new_id()
    options = f'"options":{{"queue":"{queue}"}}'
    plain = f'{{"type":"test.case","args":[{{"a":1,"b":"é"}}],{options},"id":"{chosen}"}}'
    odd = (
        f'{{ "id" : "{chosen}",\n {options}, '
        '"args":[ {"b":"\\u00e9", "a":1} ],"type":"test.case" }'
    )
    (await stage.call("POST", "jobs", raw=plain.encode())).expect(201)
    for text in (plain, odd):
        (await stage.call("POST", "jobs", raw=text.encode())).expect(
            200, {"job.id": {"$eq": chosen}, "deduplicated": True}
        )
    (await stage.push(queue=queue, id=chosen, args=["other"])).error(409, "duplicate")
    (await stage.ack(await stage.take(queue))).expect(200)
    (await stage.call("POST", "jobs", raw=plain.encode())).expect(200, {"job.state": "completed"})
    await stage.empty(queue)


@case("OJS-IDM-005", capability="batch_enqueue")
async def batches_of_chosen_ids(stage: Stage) -> None:
    """A batch of known ids from equal requests is answered again; one that is mixed is 409."""
    queue = stage.name()
    jobs = [
        {"type": "test.case", "args": [n], "queue": queue, "id": stage.new_id()} for n in range(3)
    ]
    (await stage.post("jobs/batch", {"jobs": jobs})).expect(201)
    again = (await stage.post("jobs/batch", {"jobs": jobs})).expect(200)
    stage.equal([job["id"] for job in again["jobs"]], [job["id"] for job in jobs], "the same jobs")
    new = {**jobs[0], "id": stage.new_id()}
    changed = {**jobs[0], "args": ["other"]}
    for wrong in ([*jobs, new], [changed, *jobs[1:]]):
        (await stage.post("jobs/batch", {"jobs": wrong})).error(409, "duplicate")
    stage.equal(len(await stage.fetch(queue, count=10)), 3, "jobs stored")


@case("OJS-IDM-010", capability=KEYS)
async def equal_requests_at_once(stage: Stage) -> None:
    """Of equal requests at the same time one stores, and the others are answered as repeated."""
    for by_key in (True, False):
        queue, key, chosen = stage.name(), stage.name("key"), stage.new_id()
        body = {"type": "test.case", "args": [], "queue": queue}
        if by_key:
            calls = [stage.post("jobs", body, Idempotency_Key=key) for _ in range(24)]
        else:
            calls = [stage.post("jobs", {**body, "id": chosen}) for _ in range(24)]
        replies = await asyncio.gather(*calls)
        statuses = sorted(reply.status for reply in replies)
        stage.equal(statuses, [200] * 23 + [201], "statuses")
        stage.equal(len({reply["job.id"] for reply in replies}), 1, "different jobs")
        stage.equal(len(await stage.fetch(queue, count=10)), 1, "jobs stored")


@case("OJS-IDM-011", level=1, capability=KEYS)
async def removed_jobs(stage: Stage) -> None:
    """A repeated request whose job was removed since is 404."""
    queue, key = stage.name(), stage.name("key")
    body = {"type": "test.case", "args": [], "queue": queue, "retry": {"max_attempts": 1}}
    job = stage.job_in((await stage.post("jobs", body, Idempotency_Key=key)).expect(201))
    await stage.take(queue)
    (await stage.fail(job)).expect(200, {"state": "discarded"})
    (await stage.delete(f"dead-letter/{job['id']}")).expect(200)
    (await stage.post("jobs", body, Idempotency_Key=key)).error(404, "not_found")


@case("OJS-IDM-012", level=1)
async def settling_twice(stage: Stage) -> None:
    """A repeated ACK or FAIL is 409 and changes nothing."""
    for name, settle in (("ACK", stage.ack), ("FAIL", stage.fail)):
        queue = stage.name()
        job = await stage.enqueue(queue, retry={"max_attempts": 1})
        await stage.take(queue)
        (await settle(job)).expect(200)
        before = await stage.look(job)
        (await settle(job)).expect(409)
        seen = await stage.look(job)
        for member in ("state", "attempt"):
            stage.equal(seen[member], before[member], f"{member} after {name}, twice")


@case("OJS-IDM-012", level=1)
async def activating_twice(stage: Stage) -> None:
    """A repeated activation is 409 and changes nothing."""
    job = await stage.enqueue(stage.name(), pending=True)
    for status in (200, 409):
        (await stage.post(f"jobs/{job['id']}/activate")).expect(status)
        stage.equal((await stage.look(job))["state"], "available", "state")


@case("OJS-IDM-015", level=1)
async def cancelling_twice(stage: Stage) -> None:
    """A repeated cancel is 409 and changes nothing."""
    job = await stage.enqueue(stage.name())
    for status in (200, 409):
        (await stage.delete(f"jobs/{job['id']}")).expect(status)
        stage.equal((await stage.look(job))["state"], "cancelled", "state")


@case("OJS-IDM-002", "OJS-HTP-009", capability=KEYS)
async def wrong_keys(stage: Stage) -> None:
    """A key is 1 to 256 printable characters."""
    queue = stage.name()
    body = {"type": "test.case", "args": [], "queue": queue}
    long = stage.name("k").ljust(256, "x")
    (await stage.post("jobs", body, Idempotency_Key=long)).expect(201)
    (await stage.post("jobs", body, Idempotency_Key=long + "x")).error(400, "invalid_request")
