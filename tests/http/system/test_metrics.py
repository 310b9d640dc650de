"""Metrics and log lines of jobs: counted from what was committed, on both stores."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.observe import job_metrics, metrics
from ojs_server.store.base import OutcomeUnknown, StoreUnavailable, Tx
from ojs_server.store.records import Preload
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, WORKERS, active_job, enqueue, refused

PAIR = 'queue="email",type="email.send"'
ENDED = 'ojs_job_duration_seconds_count{queue="email",state="%s",type="email.send"} %s.0'
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def lines(client: httpx.AsyncClient) -> list[str]:
    return (await client.get("/metrics")).text.splitlines()


async def ack(client: httpx.AsyncClient, job_id: str) -> None:
    assert (await client.post(f"{WORKERS}/ack", json={"job_id": job_id})).status_code == 200


async def fail(client: httpx.AsyncClient, job_id: str, *, retryable: bool) -> None:
    error = {"message": "boom", "retryable": retryable}
    answer = await client.post(f"{WORKERS}/nack", json={"job_id": job_id, "error": error})
    assert answer.status_code == 200


async def test_the_way_to_the_store_is_measured_while_it_is_away(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(client, queue="email")

    def away(*given: object, **more: object) -> None:
        raise StoreUnavailable("gone")

    assert "ojs_store_writable 1.0" in await lines(client)
    with monkeypatch.context() as patched:
        patched.setattr(server.store, "reader", away)
        patched.setattr(server.store, "transaction", away)
        await client.post(f"{V1}/jobs", json={"type": "a", "args": []})
        found = await lines(client)
    assert "ojs_store_writable 0.0" in found
    assert "ojs_store_waiting_writes 0.0" in found
    assert "ojs_store_unknown_outcomes_total 0.0" in found
    assert [line for line in found if line.startswith("ojs_queue_depth{")] == []
    assert 'ojs_queue_depth{queue="email",state="available"} 1.0' in await lines(client)


async def test_an_outcome_that_nobody_knows_is_counted(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = server.store.transaction

    @contextmanager
    def lost(preload: Preload | None, *, long_wait: bool) -> Iterator[Tx]:
        with transaction(preload, long_wait=long_wait) as tx:
            yield tx
            raise OutcomeUnknown("lost")

    with monkeypatch.context() as patched:
        patched.setattr(server.store, "transaction", lost)
        answer = await client.post(f"{V1}/jobs", json={"type": "a", "args": []})
        assert answer.status_code == 503
    (line,) = [
        line for line in await lines(client) if line.startswith("ojs_store_unknown_outcomes_total")
    ]
    assert float(line.split()[1]) >= 1


async def test_jobs_are_counted_and_timed(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await enqueue(client, queue="email", type="email.send")
    fetched = await client.post(f"{WORKERS}/fetch", json={"queues": ["email"], "count": 3})
    done, again, dead = (job["id"] for job in fetched.json()["jobs"])
    await ack(client, done)
    await fail(client, again, retryable=True)
    await fail(client, dead, retryable=False)
    await client.delete(f"{V1}/jobs/{again}")
    found = await lines(client)
    for name, count in (
        ("enqueued", 3),
        ("completed", 1),
        ("retried", 1),
        ("failed", 1),
        ("cancelled", 1),
    ):
        assert f"ojs_job_{name}_total{{{PAIR}}} {count}.0" in found
    assert ENDED % ("completed", 1) in found
    assert ENDED % ("failed", 2) in found
    assert f"ojs_job_queue_time_seconds_count{{{PAIR}}} 3.0" in found
    assert 'ojs_job_enqueue_duration_seconds_count{queue="email"} 3.0' in found


async def test_busy_workers_and_full_queues_are_shown(client: httpx.AsyncClient) -> None:
    config = {"backpressure": {"max_depth": 2}}
    await client.put(f"{V1}/queues/email/config", json=config)
    await client.post(
        f"{WORKERS}/register",
        json={
            "worker_id": "w",
            "hostname": "h",
            "pid": 1,
            "queues": ["email", "sms"],
            "concurrency": 1,
        },
    )
    await active_job(client, queue="email", worker_id="w")
    await enqueue(client, queue="email")
    found = await lines(client)
    assert 'ojs_workers_busy{queue="email"} 1.0' in found
    assert 'ojs_workers_busy{queue="sms"} 1.0' in found
    assert 'ojs_backpressure_pressure{queue="email"} 0.5' in found
    await enqueue(client, queue="email")
    refused = await client.post(
        f"{V1}/jobs", json={"type": "a", "args": [], "options": {"queue": "email"}}
    )
    assert refused.status_code == 429
    assert 'ojs_backpressure_rejected_total{queue="email"} 1.0' in await lines(client)


async def test_series_are_bounded(server: Server, client: httpx.AsyncClient) -> None:
    jobs = [{"type": f"t{number}", "args": []} for number in range(1000)]
    await client.post(f"{V1}/jobs/batch", json={"jobs": jobs})
    await enqueue(client, type="one.more")
    text = "\n".join(await lines(client))
    assert 'ojs_job_enqueued_total{queue="other",type="other"} 1.0' in text
    assert "one.more" not in text


async def test_tenants_are_counted_by_their_names(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_metrics, "MAX_SERIES", 3)
    monkeypatch.setattr(metrics, "MAX_SERIES", 3)
    await enqueue(client)
    assert not [line for line in await lines(client) if line.startswith("ojs_tenant_queue_depth{")]
    for tenant in ("a", "b", "c", "d", "e"):
        await enqueue(client, meta={"tenant_id": tenant})
    job = await active_job(client, queue="email", meta={"tenant_id": "a"})
    await ack(client, job["id"])
    job = await active_job(client, queue="email", meta={"tenant_id": "b"})
    await fail(client, job["id"], retryable=False)
    found = await lines(client)
    assert 'ojs_tenant_jobs_enqueued_total{tenant_id="a"} 2.0' in found
    assert 'ojs_tenant_jobs_enqueued_total{tenant_id="_other"} 2.0' in found
    assert 'ojs_tenant_jobs_completed_total{tenant_id="a"} 1.0' in found
    assert 'ojs_tenant_jobs_failed_total{tenant_id="b"} 1.0' in found
    assert 'ojs_tenant_queue_depth{state="available",tenant_id="c"} 1.0' in found
    assert 'ojs_tenant_queue_depth{state="available",tenant_id="_other"} 2.0' in found
    assert 'tenant_id="d"' not in "\n".join(found)


async def test_pools_show_how_full_they_are(client: httpx.AsyncClient) -> None:
    for name, limit in (("p", 4), ("free", None)):
        config = {"queues": ["email"], "concurrency": limit}
        assert (await client.put(f"{V1}/admin/pools/{name}", json=config)).status_code == 201
    await active_job(client, "stranger", queue="email")
    await client.post(f"{WORKERS}/register", json={"worker_id": "member", "pool": "p"})
    found = await lines(client)
    assert "ojs_scheduling_dispatch" not in "".join(line for line in found if "{" in line)
    await active_job(client, "member", queue="email")
    found = await lines(client)
    assert 'ojs_scheduling_dispatch_total{pool="p",queue="email"} 1.0' in found
    assert 'ojs_scheduling_queue_wait_duration_seconds_count{pool="p"} 1.0' in found
    assert 'ojs_scheduling_pool_active{pool="p"} 2.0' in found
    assert 'ojs_scheduling_pool_active{pool="free"} 2.0' in found
    assert 'ojs_scheduling_pool_utilization{pool="p"} 0.5' in found
    assert "free" not in "".join(line for line in found if "pool_utilization{" in line)
    assert "# TYPE ojs_scheduling_starvation_events_total counter" in found


async def test_steps_of_jobs_are_logged_where_that_is_asked_for(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ojs.jobs")
    async with serve(log_jobs=True) as server, connect(server) as client:
        job = await active_job(client, queue="email", meta={"traceparent": PARENT})
        await fail(client, job["id"], retryable=False)
    told = [record for record in caplog.records if record.name == "ojs.jobs"]
    assert [(record.levelname, record.getMessage().split()[0]) for record in told] == [
        ("INFO", "job.enqueued"),
        ("DEBUG", "job.started"),
        ("ERROR", "job.discarded"),
    ]
    for record in told:
        fields = vars(record)
        assert (fields["job_id"], fields["queue"]) == (job["id"], "email")
        assert fields["trace_id"] == PARENT.split("-")[1]
        assert "boom" not in record.getMessage()


async def test_steps_of_jobs_are_not_logged_by_themselves(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ojs.jobs")
    await enqueue(client)
    assert not [record for record in caplog.records if record.name == "ojs.jobs"]


JSON = {"Accept": "application/json"}


async def test_metrics_in_json_have_every_sample_and_the_totals(client: httpx.AsyncClient) -> None:
    job = await active_job(client, queue="email", type="email.send")
    await ack(client, job["id"])
    await enqueue(client, queue="email", type="email.send")
    answer = await client.get("/metrics", headers=JSON)
    assert answer.headers["content-type"] == "application/json"
    shown = answer.json()
    assert (shown["jobs_enqueued_total"], shown["jobs_completed_total"]) == (2, 1)
    assert (shown["jobs_failed_total"], shown["jobs_active"], shown["queues_active"]) == (0, 0, 1)
    assert shown["avg_latency_ms"] >= 0
    told = {
        (sample["name"], *sorted(sample["labels"].items())): sample["value"]
        for family in shown["metrics"]
        for sample in family["samples"]
    }
    assert told["ojs_queue_depth", ("queue", "email"), ("state", "available")] == 1
    text = [line for line in await lines(client) if not line.startswith("#")]
    names = {line.partition("{")[0].partition(" ")[0] for line in text}
    assert {name for name, *_ in told} == {one for one in names if not one.endswith("_created")}


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        ("", "application/openjobspec+json", "application/openjobspec+json"),
        ("", "text/plain;q=0.1, application/json;q=0.2", "application/json"),
        ("", "text/plain, application/json;q=0.2", "text/plain; version="),
        ("", "*/*", "text/plain; version="),
        ("?format=prometheus", "application/json", "text/plain; version="),
        ("?format=json", "text/plain", "application/openjobspec+json"),
        ("?format=", "application/json", "application/json"),
    ],
)
async def test_the_format_of_metrics_is_negotiated(
    client: httpx.AsyncClient, query: str, accept: str, kind: str
) -> None:
    answer = await client.get(f"/metrics{query}", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith(kind)


async def test_an_unknown_format_is_refused(client: httpx.AsyncClient) -> None:
    refused(await client.get("/metrics?format=yaml"), 400, "invalid_request", "format")


async def test_figures_of_the_store_are_null_while_it_is_away(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*given: object, **more: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(server.store, "reader", away)
    shown = (await client.get("/metrics", headers=JSON)).json()
    assert (shown["jobs_active"], shown["throughput_per_second"]) == (None, None)
    assert shown["jobs_enqueued_total"] == 0
