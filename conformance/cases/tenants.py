"""Cases of tenants: ownership of jobs, isolation, limits and fair shares."""

import asyncio
from typing import Any

from conformance.case import case
from conformance.play.event_stream import streaming
from conformance.play.stage import Stage
from conformance.verdicts.features import read_features
from conformance.verdicts.reply import Record

TENANTS = "multi_tenancy"


def as_tenant(stage: Stage, tenant: str) -> Stage:
    """Return a stage whose calls are made as a tenant, on the server of the given one."""
    headers = {**stage.headers, "X-OJS-Tenant": tenant}
    return Stage(stage.wire, stage.manifest, process=stage.process, headers=headers)


def two(stage: Stage) -> tuple[Stage, Stage]:
    """Return the stages of two new tenants."""
    return as_tenant(stage, stage.name("t")), as_tenant(stage, stage.name("t"))


async def put(stage: Stage, queue: str, **members: Any) -> dict[str, Any]:
    """Enqueue one job."""
    reply = await stage.push(queue=queue, **members)
    return dict(reply.expect(201).json["job"])


@case("OJS-TEN-001", "OJS-TEN-002", capability=TENANTS)
async def names(stage: Stage) -> None:
    """The header or `meta` names the tenant of a job, and they may not differ."""
    acme, beta = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    stage.equal((await put(acme, queue))["meta"].get("tenant_id"), name, "tenant by the header")
    own = await put(stage, queue, meta={"tenant_id": name})
    stage.equal(own["meta"].get("tenant_id"), name, "tenant by meta")
    for job in await acme.enqueue_many(queue, 2):
        stage.equal(job["meta"].get("tenant_id"), name, "tenant of a job in a batch")
    (await beta.push(queue=queue, meta={"tenant_id": name})).expect(400)


@case("OJS-TEN-004", capability=TENANTS)
async def jobs_of_no_tenant(stage: Stage) -> None:
    """A job that names no tenant is taken."""
    queue = stage.name()
    job = await put(stage, queue)
    stage.equal((await stage.take(queue))["id"], job["id"], "the job")


@case(
    *("OJS-TEN-001", "OJS-TEN-002", "OJS-TEN-004", "OJS-TEN-005", "OJS-TEN-027", "OJS-TEN-028"),
    capability=TENANTS,
)
async def names_that_are_none(stage: Stage) -> None:
    """A tenant's name is read from two headers and has a form, and a job never changes tenants."""
    acme, _ = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    stage.equal((await put(acme, queue))["meta"], {"tenant_id": name}, "meta")
    stage.equal((await put(stage, queue))["meta"], {}, "meta of a job without a tenant")
    other = {"X-OJS-Tenant": "", "X-OJS-Tenant-Id": name}
    made = await stage.call(
        "POST", "jobs", {"type": "t", "args": [], "queue": queue}, headers=other
    )
    stage.equal(made.expect(201).json["job"]["meta"], {"tenant_id": name}, "meta by the long name")
    for wrong in ("a/b", "_default", "-"):
        reply = await stage.push(queue=queue, meta={"tenant_id": wrong})
        reply.error(400, "invalid_request", field="meta.tenant_id")
    (await acme.push(queue=queue, meta={"tenant_id": "other"})).error(400, "invalid_request")
    dead = await acme.discarded(stage.name())
    reply = await stage.post(
        f"dead-letter/{dead['id']}/retry", {"override": {"meta": {"tenant_id": "other"}}}
    )
    reply.error(400, "invalid_request")


@case("OJS-TEN-006", "OJS-TEN-007", capability=TENANTS)
async def strangers(stage: Stage) -> None:
    """A tenant cannot cancel another tenant's jobs, and fetches its own."""
    acme, beta = two(stage)
    queue = stage.name()
    foreign = await put(beta, queue)
    (await acme.delete(f"jobs/{foreign['id']}")).expect((403, 404))
    own = await put(acme, queue)
    for tenant, job in ((acme, own), (beta, foreign)):
        stage.equal((await tenant.take(queue))["id"], job["id"], "the tenant's own job")


@case(
    *("OJS-TEN-006", "OJS-TEN-007", "OJS-TEN-008", "OJS-TEN-017", "OJS-TEN-029"),
    capability=TENANTS,
)
async def what_strangers_see(stage: Stage) -> None:
    """A tenant cannot find, fetch, settle or cancel another tenant's jobs, nor see their events."""
    acme, beta = two(stage)
    queue = stage.name()
    job = await put(acme, queue)
    at = f"jobs/{job['id']}"
    await beta.empty(queue)
    for reply in (
        await beta.get(at),
        await beta.delete(at),
        await beta.post("workers/ack", {"job_id": job["id"]}),
        await beta.post("workers/nack", {"job_id": job["id"], "error": {}}),
        await beta.get(f"{at}/progress"),
        await beta.get(f"{at}/events"),
        await beta.get(f"queues/{queue}"),
        await beta.get(f"queues/{queue}/stats"),
    ):
        reply.error(404, "not_found")
    stage.equal((await beta.get("jobs")).json["jobs"], [], "jobs of a stranger")
    stage.equal((await beta.get("queues")).json["queues"], [], "queues of a stranger")
    stage.equal((await beta.get("events")).json["events"], [], "events of a stranger")
    events = (await acme.get("events")).json["events"]
    stage.equal([event["subject"] for event in events], [job["id"]], "events of the tenant")
    stage.equal(events[0]["data"]["tenant_id"], acme.headers["X-OJS-Tenant"], "tenant_id")
    stage.equal((await acme.take(queue))["id"], job["id"], "the tenant's own job")


async def _dead(stage: Stage, queue: str) -> str:
    """Return the id of a new dead letter."""
    return str((await stage.discarded(queue, retry={"on_exhaustion": "dead_letter"}))["id"])


@case("OJS-TEN-008", "OJS-TEN-029", level=1, capability=TENANTS)
async def dead_letters(stage: Stage) -> None:
    """A tenant cannot list, read, retry or delete another tenant's dead letters."""
    acme, beta = two(stage)
    queue = stage.name()
    foreign, own = await _dead(acme, queue), await _dead(beta, queue)
    at = f"dead-letter/{foreign}"
    for reply in (
        await beta.get(at),
        await beta.post(f"{at}/retry", {}),
        await beta.delete(at),
    ):
        reply.error(404, "not_found")
    for query in ({}, {"queue": queue}):
        listed = (await beta.get("dead-letter", **query)).expect(200, {"pagination.total": 1})
        stage.equal([job["id"] for job in listed["jobs"]], [own], "dead letters of a tenant")
    stage.equal((await acme.look(foreign))["state"], "discarded", "state of the other's")
    (await acme.get(at)).expect(200)


@case("OJS-TEN-008", "OJS-TEN-029", "OJS-BLK-027", level=1, capability=TENANTS)
async def many_dead_letters(stage: Stage) -> None:
    """Calls for many dead letters, by ids or by a filter, mean those of the tenant alone."""
    stage.need(stage.claims("dead_letter"), "it claims no calls for many dead letters")
    acme, beta = two(stage)
    queue = stage.name()
    foreign, own, other = [await _dead(tenant, queue) for tenant in (acme, beta, beta)]
    by = {"filter": {"queue": queue}, "confirm": True}
    reply = await beta.post("dead-letter/retry", {"job_ids": [foreign, own]})
    reply.expect((200, 207), {"succeeded": 1})
    (await beta.post("dead-letter/retry", by)).expect(200, {"succeeded": 1})
    (await beta.call("DELETE", "dead-letter", by)).expect(200, {"succeeded": 0})
    stage.equal((await acme.look(foreign))["state"], "discarded", "state of the other's")
    for job_id in (own, other):
        stage.equal((await beta.look(job_id))["state"], "available", "state of the tenant's own")


@case("OJS-TEN-008", capability=TENANTS)
async def what_is_alike_but_anothers(stage: Stage) -> None:
    """A tenant's stream has only its own of several events that are alike and come together."""
    stage.need(read_features(stage.manifest).has(["event_streams"]), "it claims no event streams")
    queue, kinds = stage.name(), "job.enqueued"
    acme, beta = (tenant.headers["X-OJS-Tenant"] for tenant in two(stage))
    tenants = [acme, beta, beta, acme, beta, acme]
    stream = as_tenant(stage, acme)
    async with streaming(stream, "events/stream", queues=queue, types=kinds) as frames:
        await frames.next()
        made = [
            {"type": "t", "args": [], "queue": queue, "meta": {"tenant_id": name}}
            for name in tenants
        ]
        jobs = (await stage.post("jobs/batch", {"jobs": made})).expect(201)["jobs"]
        own = [job["id"] for job, name in zip(jobs, tenants, strict=True) if name == acme]
        subjects = [(await frames.event()).json["subject"] for _ in own]
    stage.equal(subjects, own, "jobs that a tenant's stream tells of")


@case("OJS-TEN-009", capability=TENANTS)
async def names_of_ones_own(stage: Stage) -> None:
    """Idempotency keys, fingerprints and workers of two tenants are separate."""
    queue, key, worker = stage.name(), stage.name("key"), stage.name("w")
    body = {
        "type": "t",
        "args": [],
        "queue": queue,
        "unique": {"keys": ["type", "queue"]},
        "rate_limit": {"key": key, "concurrency": 1},
    }
    for tenant in two(stage):
        (await tenant.post("jobs", body, Idempotency_Key=key)).expect(201)
        (await tenant.post("jobs", body, Idempotency_Key=key)).expect(200)
        (await tenant.post("jobs", body)).error(409, "duplicate")
        await tenant.take(queue, worker)
        shown = (await tenant.get(f"rate-limits/{key}")).expect(200, {"concurrency.active": 1})
        stage.equal(shown.json["key"], key, "the key")
        held = (await tenant.get(f"workers/{worker}")).json["worker"]
        stage.equal(held["active_jobs"], 1, "jobs of the worker")


@case("OJS-TEN-010", capability=TENANTS)
async def refused(stage: Stage) -> None:
    """Calls that concern all tenants are 403 for a tenant."""
    acme, _ = two(stage)
    queue = stage.name()
    for reply in (
        await acme.post(f"queues/{queue}/pause"),
        await acme.get("admin/stats"),
        await acme.get("admin/tenants"),
        await acme.call("PUT", f"queues/{queue}/config", {}),
    ):
        reply.error(403, "tenant_access_denied")


@case("OJS-TEN-026", capability=TENANTS)
async def schemas(stage: Stage) -> None:
    """A tenant reads the schemas of a type, and may neither list nor change schemas."""
    acme, _ = two(stage)
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    body = {"schema": {"type": "array", "maxItems": 1}}
    put = (await stage.call("PUT", f"schemas/{kind}/1.0", body)).expect(201)
    for path in (kind, f"{kind}/1.0"):
        stage.equal((await acme.get(f"schemas/{path}")).expect(200).json, put.json, path)
    (await acme.get(f"schemas/{kind}/versions")).expect(200, {"versions": {"$size": 1}})
    (await acme.get("schemas/none")).error(404, "not_found")
    for reply in (
        await acme.get("schemas"),
        await acme.call("PUT", f"schemas/{kind}/2", body),
        await acme.delete(f"schemas/{kind}/1.0"),
    ):
        reply.error(403, "tenant_access_denied")


async def _limited(stage: Stage, tenant: Stage, **limits: Any) -> None:
    """Set limits of a tenant; skip the case where the server takes them in another way only."""
    name = tenant.headers["X-OJS-Tenant"]
    reply = await stage.call("PUT", f"admin/tenants/{name}/limits", limits)
    stage.need(reply.status not in (404, 405, 501), "limits of tenants cannot be set by a call")
    reply.expect((200, 201, 202, 204))


@case("OJS-TEN-012", "OJS-TEN-013", capability=TENANTS)
async def limits(stage: Stage) -> None:
    """Limits of a tenant hold back its jobs and refuse new ones."""
    acme, beta = two(stage)
    queue = stage.name()
    await _limited(stage, acme, max_concurrency=1)
    for tenant in (acme, acme, beta):
        await put(tenant, queue)
    first = await acme.take(queue)
    stage.equal(await acme.fetch(queue), [], "jobs of a tenant that has as many as it may have")
    await beta.take(queue)
    (await acme.ack(first)).expect(200)
    await acme.take(queue)
    await _limited(stage, beta, max_queue_depth=1)
    await put(beta, queue)
    (await beta.push(queue=queue)).expect(429)


@case("OJS-TEN-011", "OJS-TEN-013", capability=TENANTS)
async def limits_by_a_call(stage: Stage) -> None:
    """Limits of a tenant are set by a call, and forgotten by another."""
    acme, _ = two(stage)
    queue, path = stage.name(), f"admin/tenants/{acme.headers['X-OJS-Tenant']}"
    reply = await stage.call("PUT", f"{path}/limits", {"max_concurrency": 1})
    reply.expect((200, 201, 202, 204))
    for _ in range(2):
        await put(acme, queue)
    await acme.take(queue)
    await acme.empty(queue)
    (await stage.delete(path)).expect((200, 202, 204))
    await acme.take(queue)


@case(
    *("OJS-TEN-011", "OJS-TEN-012", "OJS-TEN-013", "OJS-TEN-014", "OJS-TEN-030", "OJS-TEN-031"),
    capability=TENANTS,
)
async def shares(stage: Stage) -> None:
    """Limits of a tenant refuse enqueues, hold back jobs, and weigh its share of fetches."""
    acme, beta = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    path = f"admin/tenants/{name}"
    reply = await stage.call("PUT", path, {"limits": {"max_queue_depth": 3, "fairness_weight": 2}})
    reply.expect(201, {"limits.max_queue_depth": 3, "limits.fairness_weight": 2})
    (await stage.call("PUT", f"{path}/limits", {"max_deph": 1})).error(422, "validation_error")
    for tenant in (beta, beta, beta, acme, acme, acme):
        await put(tenant, queue)
    full = await acme.push(queue=queue)
    full.error(429, "TENANT_LIMIT_EXCEEDED")
    full.expect(429, {"error.limit": "max_queue_depth", "error.current": 3, "error.maximum": 3})
    full.seconds_to_wait()
    taken = [(await stage.take(queue))["meta"]["tenant_id"] for _ in range(3)]
    stage.equal(taken.count(name), 2, "turns of the tenant with the double weight")
    (await stage.call("PUT", f"{path}/limits", {"max_concurrency": 2})).expect(200)
    await acme.empty(queue)
    await stage.take(queue)
    (await stage.delete(path)).expect(200, {"deleted": True})
    await acme.take(queue)


@case("OJS-TEN-011", "OJS-TEN-012", "OJS-TEN-031", capability=TENANTS)
async def waiting_for_room(stage: Stage) -> None:
    """Once the seconds of Retry-After are over there is room in the rate of a tenant."""
    acme, _ = two(stage)
    queue = stage.name()
    path = f"admin/tenants/{acme.headers['X-OJS-Tenant']}/limits"
    rate = {"limit": 1, "period": "PT2S"}
    (await stage.call("PUT", path, {"max_enqueue_rate": rate})).expect(201)
    await put(acme, queue)
    refused = (await acme.push(queue=queue)).error(429, "TENANT_LIMIT_EXCEEDED")
    await asyncio.sleep(refused.seconds_to_wait(most=10))
    await put(acme, queue)


@case("OJS-TEN-015", "OJS-TEN-016", capability=TENANTS)
async def statistics(stage: Stage) -> None:
    """Tenants are listed, and their jobs are counted."""
    acme, _ = two(stage)
    name = acme.headers["X-OJS-Tenant"]
    await put(acme, stage.name())
    (await stage.get("admin/tenants")).expect(200)
    shown = (await stage.get(f"admin/tenants/{name}/stats")).expect(200)
    stage.equal(shown["tenant_id"], name, "tenant_id")
    stage.check(isinstance(shown["total_jobs"], int | float), "a number of jobs", shown.text)


@case("OJS-TEN-015", "OJS-TEN-016", "OJS-TEN-032", capability=TENANTS)
async def statistics_of_ones_own(stage: Stage) -> None:
    """A tenant is listed and counted, for operators and for itself."""
    acme, beta = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    path = f"admin/tenants/{name}"
    (await stage.get(f"{path}/stats")).expect(200, {"total_jobs": 0})
    await put(acme, queue)
    await acme.take(queue, stage.name("w"))
    shown = (await acme.get(f"{path}/stats")).expect(200, {"total_jobs": 1, "jobs.active": 1})
    stage.equal(shown.json["tenant_id"], name, "tenant_id")
    (await beta.get(f"{path}/stats")).error(404, "not_found")
    counted = {"stats.queues": 1, "stats.jobs.active": 1, "stats.workers": 1}
    (await stage.get(path)).expect(200, {"configured": False, **counted})
    stage.equal(len((await stage.get(f"{path}/jobs")).json["items"]), 1, "jobs of the tenant")
    listed = (await stage.get("admin/tenants")).expect(200)
    stage.check("stats" in listed["items"][0], "stats in the list", listed.text)


async def _first(stage: Stage, queue: str) -> Record:
    """Fetch until a job comes."""
    found: list[Record] = []

    async def is_there() -> bool:
        found.extend(await stage.fetch(queue))
        return bool(found)

    await stage.until(is_there, 5, "a job that is handed out")
    return found[0]


@case("OJS-TEN-018", level=3, capability=TENANTS)
async def workflows(stage: Stage) -> None:
    """The jobs of a tenant's workflow are the tenant's."""
    acme, _ = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    step = {"type": "t", "args": [], "options": {"queue": queue}}
    chain = {"type": "chain", "name": stage.name("flow"), "steps": [step, step]}
    (await acme.post("workflows", chain)).expect(201)
    for _ in range(2):
        job = await _first(acme, queue)
        stage.equal(job["meta"].get("tenant_id"), name, "tenant of a step")
        (await acme.ack(job)).expect(200)


@case("OJS-TEN-018", "OJS-TEN-019", "OJS-TEN-033", level=3, capability=TENANTS)
async def workflows_of_ones_own(stage: Stage) -> None:
    """A tenant's workflow and all its jobs are its own; limits hold when it starts."""
    acme, beta = two(stage)
    name, queue = acme.headers["X-OJS-Tenant"], stage.name()
    step = {"type": "t", "args": [], "queue": queue}
    chain = {"type": "chain", "steps": [step, step]}
    path = f"admin/tenants/{name}/limits"
    rate = {"limit": 1, "period": "PT1H"}
    (await stage.call("PUT", path, {"max_enqueue_rate": rate})).expect(201)
    (await acme.post("workflows", chain)).error(429, "TENANT_LIMIT_EXCEEDED")
    (await stage.call("PUT", path, {"max_queue_depth": 1})).expect(200)
    flow = (await acme.post("workflows", chain)).expect(201).json["workflow"]["id"]
    (await acme.post("workflows", chain)).error(429, "TENANT_LIMIT_EXCEEDED")
    for reply in (
        await beta.get(f"workflows/{flow}"),
        await beta.get(f"workflows/{flow}/progress"),
        await beta.delete(f"workflows/{flow}"),
    ):
        reply.error(404, "not_found")
    stage.equal((await beta.get("workflows")).json["workflows"], [], "workflows of a stranger")
    for _ in range(2):
        await beta.empty(queue)
        job = await acme.take(queue)
        stage.equal(job["meta"], {"tenant_id": name}, "meta of a step")
        (await acme.ack(job)).expect(200)
    (await stage.get(f"workflows/{flow}")).expect(200, {"workflow.state": "completed"})


@case("OJS-TEN-020", "OJS-TEN-021", level=2, capability=TENANTS)
async def cron(stage: Stage) -> None:
    """Two tenants have entries of one name; each is its own, and so are the jobs."""
    acme, beta = two(stage)
    name, entry, queue = acme.headers["X-OJS-Tenant"], stage.name(), stage.name()
    body = {"name": entry, "cron": "@yearly", "type": "t", "queue": queue}
    (await acme.post("cron", {**body, "overlap_policy": "allow"})).expect(201)
    for reply in (
        await beta.get(f"cron/{entry}"),
        await beta.get(f"cron/{entry}/history"),
        await beta.post(f"cron/{entry}/trigger"),
        await beta.delete(f"cron/{entry}"),
    ):
        reply.error(404, "not_found")
    stage.equal((await beta.get("cron")).json["items"], [], "entries of a stranger")
    (await beta.post("cron", {**body, "enabled": False})).expect(201)
    shown = (await acme.get(f"cron/{entry}")).expect(200, {"cron.name": entry})
    stage.equal(shown.json["cron"]["enabled"], True, "the tenant's own entry")
    job = (await acme.post(f"cron/{entry}/trigger")).expect(201).json["job"]
    stage.equal([job["meta"]["tenant_id"], job["meta"]["cron_name"]], [name, entry], "meta")
    path = f"admin/tenants/{name}/limits"
    (await stage.call("PUT", path, {"max_queue_depth": 1})).expect(201)
    (await acme.post(f"cron/{entry}/trigger")).error(429, "TENANT_LIMIT_EXCEEDED")
    (await beta.delete(f"cron/{entry}")).expect(200)
    (await acme.get(f"cron/{entry}")).expect(200)
    (await stage.get(f"cron/{name}/{entry}")).error(404, "not_found")
    seen = {entry["name"] for entry in (await stage.get("cron?limit=1000")).json["items"]}
    stage.check(f"{name}/{entry}" in seen, "what a call without a tenant sees", seen)
    (await acme.delete(f"cron/{entry}")).expect(200, {"name": entry})


@case("OJS-TEN-022", capability=TENANTS)
async def webhooks(stage: Stage) -> None:
    """A tenant's subscriptions are its own; no other tenant finds, changes or tests them."""
    acme, beta = two(stage)
    path = "webhooks/subscriptions"
    body = {"url": "https://example.com/hook", "events": ["job.failed"], "active": False}
    subscription = f"{path}/{(await acme.post(path, body)).expect(201)['subscription.id']}"
    for reply in (
        await beta.get(subscription),
        await beta.call("PATCH", subscription, {"active": True}),
        await beta.post(f"{subscription}/rotate-secret"),
        await beta.post(f"{subscription}/test"),
        await beta.delete(subscription),
    ):
        reply.error(404, "not_found")
    stage.equal((await beta.get(path)).json["subscriptions"], [], "subscriptions of a stranger")
    events = (await acme.get("events", types="webhook.*")).json["events"]
    kinds = [event["type"] for event in events]
    stage.equal(kinds, ["webhook.subscription.created"], "events of the tenant")
    stage.equal((await beta.get("events")).json["events"], [], "events of a stranger")
    (await acme.get("webhooks/deliveries")).expect(200)
    stage.equal((await beta.get("webhooks/deliveries")).json["deliveries"], [], "deliveries")
    (await stage.get(subscription)).expect(200, {"subscription.active": False})
    (await acme.delete(subscription)).expect(200)
