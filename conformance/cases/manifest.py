"""Cases of the manifest, health, readiness, metrics and reset."""

import re

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record


@case("OJS-MAN-001")
async def the_manifest(stage: Stage) -> None:
    """The manifest names the server, its level and its protocols."""
    (await stage.get("/ojs/manifest")).expect(
        200,
        {
            "implementation.name": "string:nonempty",
            "implementation.version": "string:nonempty",
            "implementation.language": "string:nonempty",
            "conformance_level": "number:range(0,4)",
            "protocols": "contains:http",
            "backend": "string:nonempty",
        },
    )


@case("OJS-MAN-020")
async def the_version_of_the_manifest(stage: Stage) -> None:
    """The manifest says the version of the protocol."""
    (await stage.get("/ojs/manifest")).expect(200, {"specversion": "1.0"})


@case("OJS-MAN-028")
async def a_version_in_the_manifest(stage: Stage) -> None:
    """The manifest says the version of the protocol, by one of the two names that it has."""
    reply = (await stage.get("/ojs/manifest")).expect(200)
    name = "ojs_version" if reply.json.get("ojs_version") == "1.0" else "specversion"
    reply.expect(members={name: "1.0"})


@case("OJS-MAN-027")
async def capabilities_are_an_object(stage: Stage) -> None:
    """The capabilities of the manifest are an object."""
    (await stage.get("/ojs/manifest")).expect(200, {"capabilities": {"$type": "object"}})


@case("OJS-MAN-002")
async def capabilities_are_flags(stage: Stage) -> None:
    """Each capability of the manifest is true or false."""
    reply = (await stage.get("/ojs/manifest")).expect(200)
    is_object = isinstance(reply.json.get("capabilities"), dict)
    stage.need(is_object, "the capabilities are no object (OJS-MAN-027)")
    for name, value in reply["capabilities"].items():
        stage.check(isinstance(value, bool), f"true or false for {name}", value)


@case(
    *("OJS-MAN-003", "OJS-MAN-004", "OJS-MAN-005", "OJS-MAN-006", "OJS-MAN-016", "OJS-MAN-021"),
)
async def the_manifest_says_more(stage: Stage) -> None:
    """The manifest has the server's limits, places, extensions and test hooks."""
    reply = (await stage.get("/ojs/manifest")).expect(
        200,
        {
            "ojs_version": "1.0",
            "capabilities.test_hooks": {"$type": "boolean"},
            "limits.max_body_bytes": "number:positive",
            "limits.max_result_bytes": "number:positive",
            "limits.max_batch_size": "number:positive",
            "limits.max_wait_ms": "number:non_negative",
            "endpoints.base_url": "string:nonempty",
            "endpoints.manifest": "string:nonempty",
            "endpoints.health": "string:nonempty",
            "extensions": {"$type": "array"},
            "extensions_detail": {"$type": "object"},
        },
    )
    for name in ("name", "version"):
        stage.equal(reply.json.get(name), reply[f"implementation.{name}"], name)
    for name in reply["extensions"]:
        stage.check(isinstance(name, str), "a text", name)
    for path in (reply["endpoints.manifest"], reply["endpoints.health"]):
        (await stage.get(path)).expect(200)


# One call for each capability that has calls. It exists unless it answers like an unknown path.
CALLS = {
    "backpressure": "queues/{queue}/stats",
    "checkpoints": "jobs/{job}/checkpoint",
    "cron_jobs": "cron",
    "dead_letter": "dead-letter",
    "events": "events",
    "job_result": "jobs/{job}/result",
    "progress": "jobs/{job}/progress",
    "queue_config": "queues/{queue}/config",
    "rate_limiting": "rate-limits",
    "workflows": "workflows",
}


@case("OJS-MAN-022", "OJS-HTP-039")
async def claims_have_their_calls(stage: Stage) -> None:
    """A claimed capability has its calls; the 404 of an unknown path names no resource."""
    claimed = (await stage.get("/ojs/manifest")).expect(200)["capabilities"]
    queue = stage.name()
    job = await stage.enqueue(queue)
    nothing = (await stage.get("nothing/here")).error(404, "not_found")
    stage.check(not nothing.has("error.details.resource_type"), "no resource", nothing.text)
    for name, path in CALLS.items():
        if claimed.get(name) is not True:
            continue
        reply = await stage.get(path.format(queue=queue, job=job["id"]))
        there = reply.status < 400 or reply.has("error.details.resource_type")
        stage.check(there, f"a call of {name}, which is claimed", reply.text[:300])


@case("OJS-MAN-004", "OJS-LIM-003", "OJS-LIM-007")
async def limits_are_as_told(stage: Stage) -> None:
    """A body over the told limit is 413 with the limit, and is not read to its end."""
    most = (await stage.get("/ojs/manifest")).expect(200)["limits.max_body_bytes"]
    head = (
        f"POST /ojs/v1/jobs HTTP/1.1\r\nHost: {stage.host}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {most + 1}\r\n\r\n"
    )
    answer = (await stage.send_raw(head.encode() + b'{"type":')).decode(errors="replace")
    stage.check(" 413 " in answer[:20], "413 before the body has ended", answer[:300])
    stage.check("payload_too_large" in answer and str(most) in answer, "the limit", answer[-500:])


@case("OJS-MAN-007", "OJS-MAN-006", alone=True)
async def reset(stage: Stage) -> None:
    """In a conformance run a reset removes everything; otherwise there is none."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    hooks = (await stage.get("/ojs/manifest"))["capabilities.test_hooks"]
    reply = await stage.post("admin/reset")
    if not hooks:
        reply.error(404, "not_found")
        stage.equal((await stage.look(job))["state"], "available", "state")
        return
    reply.expect((200, 204))
    (await stage.get(f"jobs/{job['id']}")).error(404, "not_found")
    await stage.empty(queue)
    (await stage.get("queues")).expect(200, {"queues": []})
    (await stage.get("events")).expect(200, {"events": []})
    (await stage.get("workers")).expect(200, {"workers": []})


@case("OJS-MAN-008")
async def health(stage: Stage) -> None:
    """Health is 200 with a status while the server works."""
    good = {"$in": ["ok", "healthy", "degraded"]}
    (await stage.get("health")).expect(200, {"status": good})


@case("OJS-MAN-009", "OJS-MAN-010", capability="observability")
async def places_of_monitoring(stage: Stage) -> None:
    """Readiness, health and metrics are at the root."""
    (await stage.get("/ready")).expect((200, 503), {"status": "exists"})
    for path in ("/health", "/metrics"):
        reply = await stage.call("GET", path, headers={"Accept": "text/plain, */*;q=0.5"})
        reply.expect(200)


@case("OJS-MAN-023", "OJS-MAN-024")
async def health_and_readiness(stage: Stage) -> None:
    """Health and readiness are 200 while the server works, at all their places."""
    for path in ("health", "/health", "/healthz", "/ready", "/readyz"):
        (await stage.get(path)).expect(
            200,
            {
                "status": "ok",
                "version": "string:nonempty",
                "uptime_seconds": "number:non_negative",
                "backend.type": "string:nonempty",
                "backend.status": "string:nonempty",
                "backend.connection": "string:nonempty",
            },
        )


COUNTERS = ("enqueued", "completed", "failed", "retried", "cancelled", "expired")
TIMES = ("duration", "queue_time", "enqueue_duration")


@case("OJS-MAN-014", "OJS-EVT-003", level=1, capability="observability")
async def metrics_of_jobs(stage: Stage) -> None:
    """The metrics count jobs that are enqueued and completed, and time them."""
    queue, worker = stage.name(), stage.name("w")
    before = _sums((await stage.get("/metrics")).expect(200).text)
    job = await stage.enqueue(queue)
    await stage.take(queue, worker)
    (await stage.ack(job, worker)).expect(200)
    reply = (await stage.get("/metrics")).expect(200)
    after = _sums(reply.text)
    for name in COUNTERS:
        family = f"# TYPE ojs_job_{name}_total counter"
        stage.check(family in reply.text, family, "it is not there")
    rising = [f"ojs_job_{name}_total" for name in ("enqueued", "completed")]
    rising += [f"ojs_job_{name}_seconds_count" for name in TIMES]
    for name in rising:
        rose = after.get(name, 0) > before.get(name, 0)
        stage.check(rose, f"{name} above {before.get(name, 0):g}", f"{after.get(name, 0):g}")
    depth = f'ojs_queue_depth{{queue="{queue}",state="completed"}} 1.0'
    stage.check(depth in reply.text, depth, "it is not there")
    events = [event for event in await stage.events(queue) if event["type"] == "job.started"]
    waited = events[0]["data"]["queue_time_ms"] if events else None
    stage.check(isinstance(waited, int) and waited >= 0, "queue_time_ms in job.started", waited)


@case("OJS-MAN-015", level=1, capability="multi_tenancy")
async def metrics_of_tenants_and_pools(stage: Stage) -> None:
    """Jobs are counted by tenant, and pools show how full they are."""
    queue, worker = stage.name(), stage.name("w")
    tenant, pool = stage.name("t"), stage.name("pool")
    limited = {"queues": [queue], "concurrency": 2}
    (await stage.call("PUT", f"admin/pools/{pool}", limited)).expect(201)
    for _ in range(3):
        await stage.enqueue(queue, meta={"tenant_id": tenant})
    done, dead = await stage.fetch(queue, worker, count=2)
    (await stage.ack(done, worker)).expect(200)
    error = {"message": "no", "retryable": False}
    (await stage.fail(dead, worker, error=error)).expect(200)
    (await stage.post("workers/register", {"worker_id": pool, "pool": pool})).expect(200)
    await stage.take(queue, pool)
    text = (await stage.get("/metrics")).expect(200).text
    (await stage.delete(f"admin/pools/{pool}")).expect(200)
    labels = f'tenant_id="{tenant}"'
    for line in (
        f"ojs_tenant_jobs_enqueued_total{{{labels}}} 3.0",
        f"ojs_tenant_jobs_completed_total{{{labels}}} 1.0",
        f"ojs_tenant_jobs_failed_total{{{labels}}} 1.0",
        f'ojs_tenant_queue_depth{{state="active",{labels}}} 1.0',
        f'ojs_scheduling_pool_active{{pool="{pool}"}} 1.0',
        f'ojs_scheduling_pool_utilization{{pool="{pool}"}} 0.5',
        f'ojs_scheduling_dispatch_total{{pool="{pool}",queue="{queue}"}} 1.0',
        f'ojs_scheduling_queue_wait_duration_seconds_count{{pool="{pool}"}} 1.0',
        "# TYPE ojs_scheduling_starvation_events_total counter",
    ):
        stage.check(line in text, line, "it is not there")


def _sums(text: str) -> dict[str, float]:
    """Each metric, summed over its labels."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#") and (found := line.partition("{"))[1]:
            sums[found[0]] = sums.get(found[0], 0) + float(line.rpartition("} ")[2])
    return sums


async def _failed(stage: Stage, worker: str) -> Record:
    """A job with an argument and an error that are both secrets."""
    queue = stage.name()
    job = await stage.enqueue(queue, args=["a-secret-argument"])
    await stage.take(queue, worker)
    error = {"code": "case_failed", "message": "a-secret-message"}
    (await stage.fail(job, worker, error=error)).expect(200)
    return job


@case("OJS-MAN-011", "OJS-MAN-012", capability="observability")
async def metrics(stage: Stage) -> None:
    """Metrics are plain text for those who ask so, and no label holds an id or what a job says."""
    job = await _failed(stage, stage.name("w"))
    reply = await stage.call("GET", "/metrics", headers={"Accept": "text/plain"})
    kind = reply.expect(200).headers.get("content-type", "").partition(";")[0].strip()
    stage.equal(kind, "text/plain", "Content-Type")
    for secret in (job["id"], "a-secret"):
        stage.check(secret not in reply.text, f"no {secret} in the metrics", "it is there")


@case("OJS-MAN-025", "OJS-MAN-026", capability="observability")
async def metrics_for_prometheus(stage: Stage) -> None:
    """Metrics are Prometheus text, plain for those who ask so, and no label holds an id."""
    worker = stage.name("w")
    job = await _failed(stage, worker)
    reply = (await stage.get("/metrics")).expect(200)
    line = re.compile(r"(#.*|[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? \S+( \d+)?)?")
    odd = [text for text in reply.text.split("\n") if not line.fullmatch(text)]
    stage.equal(odd, [], "lines that are not in the text format")
    for secret in (job["id"], worker, "a-secret", reply.headers["x-request-id"]):
        stage.check(secret not in reply.text, f"no {secret} in the metrics", "it is there")
    plain = await stage.call("GET", "/metrics", headers={"Accept": "text/plain"})
    stage.equal(plain.headers.get("content-type"), "text/plain", "Content-Type")


# Accept headers, and the format that the rules of HTTP give for each.
ACCEPTS = {
    "application/json": "json",
    "application/openjobspec+json": "json",
    "text/plain;q=0.5, application/json": "json",
    "text/plain;q=0.2, application/*;q=0.3, */*;q=0.1": "json",
    "*/*": "text",
    "application/json;q=0.4, text/plain;q=0.5": "text",
    "application/json;q=0, */*;q=0.1": "text",
    "text/html, application/xml;q=0.9, */*;q=0.8": "text",
}


@case("OJS-MAN-018", capability="observability")
async def metrics_in_json(stage: Stage) -> None:
    """Metrics are JSON where a request prefers that, and text where it does not."""
    queue = stage.name()
    await stage.enqueue(queue)
    for accept, expected in ACCEPTS.items():
        reply = (await stage.call("GET", "/metrics", headers={"Accept": accept})).expect(200)
        kind = reply.headers["content-type"].partition(";")[0]
        found = "json" if kind.endswith("json") else kind.partition("/")[0]
        stage.equal(found, expected, f"the format for {accept}")
    for name, expected in (("json", "application/openjobspec+json"), ("prometheus", "text/plain")):
        headers = {"Accept": "application/openjobspec+json"}
        reply = await stage.call("GET", "/metrics", headers=headers, format=name)
        stage.equal(reply.headers["content-type"].partition(";")[0], expected, f"format={name}")
    (await stage.get("/metrics", format="xml")).error(400, "invalid_request")
    headers = {"Accept": "application/json"}
    kinds = dict.fromkeys(
        ("uptime_seconds", "jobs_enqueued_total", "jobs_active", "queues_active", "avg_latency_ms"),
        "number:non_negative",
    )
    metrics = (await stage.call("GET", "/metrics", headers=headers)).expect(200, kinds)
    depth = [
        (sample["labels"]["state"], sample["value"])
        for family in metrics["metrics"]
        for sample in family["samples"]
        if sample["name"] == "ojs_queue_depth" and sample["labels"]["queue"] == queue
    ]
    stage.check(("available", 1) in depth, "the depth of the queue", depth)
