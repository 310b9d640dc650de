"""The limits that a job sets itself, on the wire: spellings, refusals, what the job shows."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
    active_job,
    beat,
    body,
    enqueue,
    fetch,
    job_id,
    read,
    refused,
    stored_jobs,
)
from tests.users_stores import on_one_store

LIMITS = ("enqueue_ttl", "total_timeout", "heartbeat_timeout")


@on_one_store
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    ("ending", "value", "seconds"),
    [
        ("", 90, 90),
        ("", "PT1M30S", 90),
        ("", "90s", 90),
        ("", 0.5, 0.5),
        ("", "12m", 720),
        ("_ms", 1500, 1.5),
        ("_ms", "PT2S", 2),
        ("_ms", "500ms", 0.5),
    ],
)
async def test_every_spelling_is_shown_in_seconds(
    client: httpx.AsyncClient, name: str, ending: str, value: object, seconds: float
) -> None:
    nested = await enqueue(client, **{name + ending: value})
    flat = {"type": "t", "args": [], name + ending: value}
    beside = body(await client.post(JOBS, json=flat))["job"]
    for job in (nested, beside):
        assert job[name] == seconds
        assert f"{name}_ms" not in job
    assert (await read(client, nested["id"]))[name] == seconds


@on_one_store
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, "-PT5S", "PT0S", "soon", 10**15, True, [], "P101Y"])
async def test_a_limit_that_is_none_is_refused(
    client: httpx.AsyncClient, name: str, value: object
) -> None:
    request = {"type": "t", "args": [], "options": {name: value}}
    error = refused(await client.post(JOBS, json=request), 400, "invalid_request", name)
    assert "must be" in error["message"]
    batch = {"jobs": [{"type": "t", "args": []}, request]}
    error = refused(await client.post(f"{JOBS}/batch", json=batch), 400, "invalid_request", name)
    assert error["details"]["index"] == 1
    assert await stored_jobs(client) == 0


@on_one_store
@pytest.mark.parametrize("name", ["scheduled_at", "delay_until", "expires_at"])
@pytest.mark.parametrize("value", ["-PT5S", "+PT-5S", "+-5s", -5, "+P101Y", "PT5S", "1969-01-01T"])
async def test_a_negative_or_endless_delay_is_refused(
    client: httpx.AsyncClient, name: str, value: object
) -> None:
    request = {"type": "t", "args": [], "options": {name: value}}
    error = refused(await client.post(JOBS, json=request), 400, "invalid_request", name)
    assert "must" in error["message"]
    assert await stored_jobs(client) == 0


async def test_a_name_that_is_nearly_right_is_suggested(strict_client: httpx.AsyncClient) -> None:
    request = {"type": "t", "args": [], "options": {"enqueue_tll": 5}}
    response = await strict_client.post(JOBS, json=request)
    error = refused(response, 422, "validation_error", "options.enqueue_tll")
    assert 'did you mean "enqueue_ttl"?' in error["message"]


async def test_a_job_with_all_limits_can_be_sent_back_as_it_was_read(
    client: httpx.AsyncClient,
) -> None:
    job = await enqueue(client, enqueue_ttl=60, total_timeout="PT2M", heartbeat_timeout="1.5s")
    again = await client.post(JOBS, json={**job, "id": job_id(7)})
    shown = body(again)["job"]
    assert {name: shown[name] for name in LIMITS} == {name: job[name] for name in LIMITS}


async def test_the_cron_template_takes_them_too(client: httpx.AsyncClient) -> None:
    entry = {"name": "tick", "expression": "@daily", "type": "t", "heartbeat_timeout": 20}
    assert (await client.post(f"{V1}/cron", json=entry)).status_code == 201
    made = body(await client.post(f"{V1}/cron/tick/trigger"))
    assert (await read(client, made["job"]["id"]))["heartbeat_timeout"] == 20


STORIES: list[tuple[Json, str, str, Json]] = [
    ({"enqueue_ttl": 5}, "available", "enqueue_ttl_expired", {"timeout_kind": "enqueue_ttl"}),
    ({"total_timeout": 5}, "available", "total_timeout", {"timeout_kind": "total"}),
    ({"total_timeout": 5}, "active", "total_timeout", {"timeout_kind": "total"}),
    ({"heartbeat_timeout": 5}, "active", "stalled", {"timeout_kind": "stalled"}),
    ({"timeout": 5}, "active", "timeout", {"timeout_kind": "execution"}),
]
EVENTS = {
    "enqueue_ttl_expired": "job.ttl_expired",
    "total_timeout": "job.total_timeout",
    "stalled": "job.stalled",
    "timeout": "job.timeout",
}


@pytest.mark.parametrize(("options", "state", "type", "more"), STORIES)
async def test_each_limit_has_its_error_and_its_event(
    serve: Serve, options: Json, state: str, type: str, more: Json
) -> None:
    clock = Hands()
    async with serve(clock=clock) as server, connect(server) as client:
        meta = {"trace_id": "t-1"}
        job = await enqueue(client, meta=meta, retry={"max_attempts": 1}, **options)
        if state == "active":
            await fetch(client, worker_id="worker-1")
        clock.turn(seconds=5)
        await server.engine.run(Sweep(reachable_since=0, requested_at=clock()))
        ended = await read(client, job["id"])
        assert ended["state"] == "discarded"
        wanted = {"type": type, "code": type, "limit_seconds": 5, "elapsed_seconds": 5, **more}
        assert ended["error"] == ended["errors"][-1]
        assert wanted.items() <= ended["error"].items()
        events = body(await client.get(f"{V1}/events"))["events"]
        told = {event["type"]: event["data"] for event in events if event["subject"] == job["id"]}
        assert {**more, "limit_seconds": 5, "trace_id": "t-1"}.items() <= told[EVENTS[type]].items()
        assert all(data["trace_id"] == "t-1" for data in told.values())


async def test_a_beat_that_lists_the_job_is_what_counts(serve: Serve) -> None:
    clock = Hands()
    async with serve(clock=clock) as server, connect(server) as client:
        job = await active_job(client, heartbeat_timeout=5)
        for _ in range(3):
            clock.turn(seconds=4)
            told = await beat(client, active_job_ids=[job["id"]], visibility_timeout_ms=600_000)
            assert told["jobs_extended"] == [job["id"]]
        clock.turn(seconds=4)
        report: dict[str, Any] = {"progress": 0.5}
        assert (await client.put(f"{JOBS}/{job['id']}/progress", json=report)).status_code == 200
        clock.turn(seconds=4)
        assert (await beat(client, active_job_ids=[job["id"]]))["jobs_lost"] == []
        clock.turn(seconds=5)
        await server.engine.run(Sweep(reachable_since=0, requested_at=clock()))
        assert (await read(client, job["id"]))["state"] == "retryable"
        assert (await beat(client, active_job_ids=[job["id"]]))["jobs_lost"] == [job["id"]]
        late = await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "attempt": 1})
        assert late.status_code == 409
