"""What the public SDKs send, as they send it, and what each of them must find in the answer."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.http.steps import JOBS, V1, WORKERS, Json, body, enqueue, error_of, fetch, job_id

OPENJOBSPEC = "application/openjobspec+json"
SDK = {"Content-Type": OPENJOBSPEC, "Accept": OPENJOBSPEC, "OJS-Version": "1.0"}
GO = {**SDK, "OJS-Version": "1.0.0-rc.1"}
STATES = {
    "scheduled",
    "available",
    "pending",
    "active",
    "completed",
    "retryable",
    "cancelled",
    "discarded",
}


@pytest.fixture
def python_sdk(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Sends a bare UUIDv4 as its request id, and a media type with every call."""
    client.headers.update({**SDK, "X-Request-ID": str(uuid4())})
    return client


@pytest.fixture
def js_sdk(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Sends what the Python SDK sends."""
    client.headers.update({**SDK, "X-Request-ID": str(uuid4())})
    return client


@pytest.fixture
def go_sdk(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Sends another version, and no request id."""
    client.headers.update(GO)
    return client


def python_reads(response: httpx.Response) -> Json:
    """It decodes a 2xx body only when the media type contains this text."""
    assert "application/json" in response.headers["content-type"]
    return body(response)


async def test_python_enqueues_works_and_reads(python_sdk: httpx.AsyncClient) -> None:
    options = {
        "queue": "email",
        "priority": 5,
        "timeout_ms": 30_000,
        "retry": {
            "max_attempts": 5,
            "initial_interval": "PT1S",
            "backoff_coefficient": 2.0,
            "max_interval": "PT5M",
            "jitter": True,
            "non_retryable_errors": ["ValueError"],
        },
        "unique": {
            "key": ["type", "args"],
            "period": "PT1H",
            "states": ["available", "active"],
            "on_conflict": "reject",
        },
        "tags": ["a"],
    }
    request = {"type": "email.send", "args": ["a@example.com"], "meta": {}, "options": options}
    job = python_reads(await python_sdk.post(JOBS, json=request))["job"]
    assert job["state"] in STATES
    for name in ("created_at", "enqueued_at"):
        datetime.fromisoformat(job[name])
    worker = {"worker_id": "worker-1", "visibility_timeout_ms": 30_000}
    (fetched,) = python_reads(
        await python_sdk.post(f"{WORKERS}/fetch", json={"queues": ["email"], "count": 1, **worker})
    )["jobs"]
    beat = {**worker, "active_jobs": [fetched["id"]]}
    answer = python_reads(await python_sdk.post(f"{WORKERS}/heartbeat", json=beat))
    assert answer["state"] == "running"
    error = {
        "code": "handler_error",
        "message": "boom",
        "retryable": True,
        "details": {"traceback": "Traceback …"},
    }
    refusal = {"job_id": fetched["id"], "error": error}
    assert python_reads(await python_sdk.post(f"{WORKERS}/nack", json=refusal))
    assert python_reads(await python_sdk.get(f"{JOBS}/{job['id']}"))["job"]["state"] == "retryable"
    assert python_reads(await python_sdk.delete(f"{JOBS}/{job['id']}"))["job"]["id"] == job["id"]


async def test_python_reads_lists_and_counts(python_sdk: httpx.AsyncClient) -> None:
    batch = {"jobs": [{"type": "a", "args": []}, {"type": "b", "args": [1]}]}
    answer = python_reads(await python_sdk.post(f"{JOBS}/batch", json=batch))
    assert [job["type"] for job in answer["jobs"]] == ["a", "b"]
    (queue,) = python_reads(await python_sdk.get(f"{V1}/queues"))["queues"]
    assert (queue["name"], queue["status"]) == ("default", "active")
    stats = python_reads(await python_sdk.get(f"{V1}/queues/default/stats"))
    assert (stats["queue"], stats["stats"]["available"]) == ("default", 2)
    # The pause has no body, and a media type all the same.
    python_reads(await python_sdk.post(f"{V1}/queues/default/pause"))
    python_reads(await python_sdk.post(f"{V1}/queues/default/resume"))
    page = python_reads(await python_sdk.get(f"{V1}/dead-letter?limit=50&offset=0&queue=default"))
    assert page["jobs"] == []
    assert page["pagination"].items() >= {"total": 0, "has_more": False}.items()
    manifest = python_reads(await python_sdk.get("/ojs/manifest"))
    assert manifest["ojs_version"] == "1.0"


async def test_python_gets_its_exceptions_from_the_code(python_sdk: httpx.AsyncClient) -> None:
    error_of(await python_sdk.get(f"{JOBS}/{job_id(1)}"), 404, "not_found")
    job = {"id": job_id(1), "type": "a", "args": []}
    await python_sdk.post(JOBS, json=job)
    error = error_of(await python_sdk.post(JOBS, json={**job, "args": [1]}), 409, "duplicate")
    assert error["details"]["existing_job_id"] == job_id(1)


async def test_js_enqueues_and_works(js_sdk: httpx.AsyncClient) -> None:
    request = {
        "type": "email.send",
        "args": [{"to": "a@example.com"}],
        "meta": {"user": 1},
        "options": {
            "queue": "email",
            "priority": 1,
            "timeout_ms": 5000,
            "delay_until": "2020-01-01T00:00:00.000Z",
            "tags": ["a"],
            "visibility_timeout_ms": 60_000,
            "retry": {"max_attempts": 3, "on_exhaustion": "dead_letter"},
            "unique": {"key": ["type"], "period": "PT5M", "on_conflict": "ignore"},
        },
    }
    job = body(await js_sdk.post(JOBS, json=request))["job"]
    worker: Json = {"worker_id": "worker-1"}
    fetching = {**worker, "queues": ["email"], "count": 10, "visibility_timeout_ms": 30_000}
    (fetched,) = body(await js_sdk.post(f"{WORKERS}/fetch", json=fetching))["jobs"]
    beat = {
        **worker,
        "state": "running",
        "active_jobs": 1,
        "active_job_ids": [fetched["id"]],
        "hostname": "node-7",
        "pid": 4711,
        "queues": ["email"],
        "concurrency": 10,
        "labels": [],
    }
    answer = body(await js_sdk.post(f"{WORKERS}/heartbeat", json=beat))
    assert answer["state"] == "running"
    assert answer["jobs_extended"] == [job["id"]]
    stats = body(await js_sdk.get(f"{V1}/queues/email/stats"))
    counts = ("available", "active", "scheduled", "retryable", "completed", "discarded", "paused")
    assert {name: int(stats[name]) for name in counts} == dict.fromkeys(counts, 0) | {"active": 1}
    assert stats["name"] == "email"
    await js_sdk.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": {"ok": True}})
    assert body(await js_sdk.get(f"{JOBS}/{job['id']}"))["job"]["result"] == {"ok": True}


async def test_js_serverless_settles_by_path(js_sdk: httpx.AsyncClient) -> None:
    for call, request in (("ack", None), ("nack", {"error": "boom"})):
        job = await enqueue(js_sdk)
        await fetch(js_sdk)
        response = await js_sdk.post(f"{JOBS}/{job['id']}/{call}", json=request)
        assert response.status_code == 200


async def test_js_lists_are_arrays_even_when_empty(js_sdk: httpx.AsyncClient) -> None:
    assert body(await js_sdk.get(f"{V1}/dead-letter"))["jobs"] == []
    assert body(await js_sdk.get(f"{V1}/queues"))["queues"] == []
    assert body(await js_sdk.get(f"{V1}/cron?page=1&per_page=20"))["cron_jobs"] == []


async def test_js_reads_the_missing_resource(js_sdk: httpx.AsyncClient) -> None:
    error = error_of(await js_sdk.get(f"{JOBS}/{job_id(1)}"), 404, "not_found")
    assert error["details"] == {"resource_type": "job", "resource_id": job_id(1)}


async def test_go_enqueues_and_works(go_sdk: httpx.AsyncClient) -> None:
    request = {
        "type": "email.send",
        "args": [{"to": "a@example.com"}],
        "options": {
            "queue": "default",
            "delay_until": "2020-01-01T00:00:00.123456789+05:30",
            "expires_at": "2999-01-01T00:00:00.5-08:00",
            "retry": {"max_attempts": 2, "initial_interval_ms": 60_000, "max_interval_ms": 90_000},
            "unique": {"key": ["type"], "period_ms": 1500, "on_conflict": "ignore"},
        },
    }
    job = body(await go_sdk.post(JOBS, json=request))["job"]
    assert job["retry"]["initial_interval"] == "PT60S"
    assert job["unique"]["period"] == "PT1.5S"
    fetching = {"queues": ["default"], "count": 4, "worker_id": "worker-1"}
    (fetched,) = body(await go_sdk.post(f"{WORKERS}/fetch", json=fetching))["jobs"]
    beat = {
        "worker_id": "worker-1",
        "state": "running",
        "active_jobs": 1,
        "active_job_ids": [fetched["id"]],
    }
    assert body(await go_sdk.post(f"{WORKERS}/heartbeat", json=beat))["state"] == "running"
    error = {"code": "handler_error", "message": "boom", "retryable": True}
    refusal = {"job_id": fetched["id"], "error": error}
    await go_sdk.post(f"{WORKERS}/nack", json=refusal)
    stored = body(await go_sdk.get(f"{JOBS}/{job['id']}"))["job"]
    assert isinstance(stored["error"], dict)
    assert isinstance(stored["error"]["code"], str)
    assert stored["retry_delay_ms"] >= 30_000


async def test_go_finds_the_kinds_that_it_decodes(go_sdk: httpx.AsyncClient) -> None:
    await enqueue(go_sdk)
    stats = body(await go_sdk.get(f"{V1}/queues/default/stats"))
    assert isinstance(stats["queue"], str)
    assert all(type(count) is int for name, count in stats["stats"].items() if name != "queue")
    manifest = body(await go_sdk.get("/ojs/manifest"))
    assert all(type(value) is bool for value in manifest["capabilities"].values())
    assert all(type(value) is str for value in manifest["extensions"])
    assert all(type(value) is str for value in manifest["endpoints"].values())
    assert type(manifest["conformance_level"]) is int
    health = body(await go_sdk.get(f"{V1}/health"))
    assert type(health["uptime_seconds"]) is int
    assert type(health["backend"]["latency_ms"]) is int
    for path in (f"{V1}/queues", f"{V1}/dead-letter"):
        pagination = body(await go_sdk.get(path))["pagination"]
        assert {"total", "limit", "offset", "has_more"} <= pagination.keys()


async def test_go_reads_no_empty_timestamps(go_sdk: httpx.AsyncClient) -> None:
    job = await enqueue(go_sdk, pending=True)
    times: dict[str, Any] = {name: value for name, value in job.items() if name.endswith("_at")}
    assert times.keys() == {"created_at"}
    assert all(times.values())


async def test_a_client_without_a_version_gets_the_exact_media_type(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post(JOBS, json={"type": "a", "args": []})
    assert response.headers["content-type"] == OPENJOBSPEC
    # A reader of the top level finds the job there, too.
    assert body(response)["state"] == "available"
