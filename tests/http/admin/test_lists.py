"""The admin API reads: queues, jobs and workers in its own form, page by page."""

import httpx
import pytest

from ojs_server.domain.profile import PROFILES
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    V1,
    active_job,
    body,
    discarded_job,
    enqueue,
    error_of,
    job_id,
    refused,
)
from tests.users_stores import on_one_store

ADMIN = f"{V1}/admin"


async def test_queues_show_counts_rates_and_run_times(client: httpx.AsyncClient) -> None:
    job = await active_job(client, queue="email")
    await client.post(f"{V1}/workers/ack", json={"job_id": job["id"]})
    await enqueue(client, queue="email")
    await client.post(f"{ADMIN}/queues/idle/pause")
    page = body(await client.get(f"{ADMIN}/queues"))
    assert page["pagination"]["total"] == 2
    shown = {item["name"]: item for item in page["items"]}
    email = shown["email"]
    assert (email["counts"]["available"], email["counts"]["completed"]) == (1, 1)
    assert email["throughput"] == {
        "processed_per_minute": 1,
        "failed_per_minute": 0,
        "enqueued_per_minute": 2,
    }
    assert 0 <= email["latency_ms"]["p50"] <= email["latency_ms"]["p99"]
    assert shown["idle"]["state"] == "paused"
    assert shown["idle"]["latency_ms"] == {"p50": None, "p95": None, "p99": None}


async def test_queues_show_since_when_their_first_job_waits(client: httpx.AsyncClient) -> None:
    first = await enqueue(client, queue="email", priority=-5)
    await enqueue(client, queue="email")
    await active_job(client, queue="busy")
    shown = {item["name"]: item for item in body(await client.get(f"{ADMIN}/queues"))["items"]}
    assert shown["email"]["oldest_available_at"] == first["enqueued_at"]
    assert shown["busy"]["oldest_available_at"] is None


async def test_a_queue_shows_its_settings_and_its_first_job(client: httpx.AsyncClient) -> None:
    await client.put(f"{ADMIN}/queues/email/config", json={"concurrency": 5})
    empty = body(await client.get(f"{ADMIN}/queues/email"))
    assert (empty["configuration"]["concurrency"], empty["oldest_available_at"]) == (5, None)
    first = await enqueue(client, queue="email", priority=-5)
    await enqueue(client, queue="email")
    found = body(await client.get(f"{ADMIN}/queues/email"))
    assert found["oldest_available_at"] == first["enqueued_at"]
    error_of(await client.get(f"{ADMIN}/queues/nobody"), 404, "not_found")


async def test_jobs_are_found_by_filter(client: httpx.AsyncClient) -> None:
    await enqueue(client, type="a.one", queue="email")
    wanted = await enqueue(client, type="a.two", queue="email")
    await enqueue(client, type="b", queue="email")
    query = "queue=email&type=a.*&state=available&sort=created_at&order=desc&page=1&per_page=1"
    page = body(await client.get(f"{ADMIN}/jobs?{query}"))
    assert [item["id"] for item in page["items"]] == [wanted["id"]]
    assert page["pagination"]["per_page"] == 1


async def test_scheduled_jobs_are_listed_by_their_time(client: httpx.AsyncClient) -> None:
    """The call of the admin UI's page of scheduled jobs."""
    hours = (3, 1, 2)
    made = [await enqueue(client, scheduled_at=f"+PT{n}H", queue=f"q{n}") for n in hours]
    await enqueue(client)
    soonest = [made[1]["id"], made[2]["id"], made[0]["id"]]
    query = "state=scheduled&per_page=50&sort=scheduled_at&order=asc"
    page = body(await client.get(f"{ADMIN}/jobs?{query}"))
    assert [item["id"] for item in page["items"]] == soonest
    assert page["items"][0]["scheduled_at"] == made[1]["scheduled_at"]
    assert (page["pagination"]["total"], page["pagination"]["total_is_exact"]) == (3, True)
    plain = body(await client.get(f"{ADMIN}/jobs?sort=scheduled_at"))
    assert [item["id"] for item in plain["items"]] == soonest[::-1]
    first = body(await client.get(f"{ADMIN}/jobs?sort=scheduled_at&order=asc&per_page=2"))
    cursor = first["pagination"]["next_cursor"]
    await client.delete(f"{V1}/jobs/{soonest[0]}")
    rest = body(await client.get(f"{ADMIN}/jobs?sort=scheduled_at&order=asc&cursor={cursor}"))
    assert [item["id"] for item in rest["items"]] == soonest[2:]
    assert rest["pagination"]["has_more"] is False
    one = body(await client.get(f"{ADMIN}/jobs?sort=scheduled_at&queue=q2"))
    assert [item["id"] for item in one["items"]] == [made[2]["id"]]
    second = body(await client.get(f"{ADMIN}/jobs?sort=scheduled_at&order=asc&per_page=1&page=2"))
    assert [item["id"] for item in second["items"]] == soonest[2:]


@pytest.mark.parametrize("path", ["queues", "jobs", "workers"])
async def test_a_page_beyond_the_end_is_empty(client: httpx.AsyncClient, path: str) -> None:
    await active_job(client)
    page = body(await client.get(f"{ADMIN}/{path}?page=9&per_page=100"))
    assert page["items"] == []
    assert (page["pagination"]["page"], page["pagination"]["has_more"]) == (9, False)
    assert page["pagination"]["total"] == 1


@pytest.mark.parametrize("path", ["queues", "jobs", "workers", "stats", "stats/history"])
async def test_an_unknown_parameter_is_passed_over(client: httpx.AsyncClient, path: str) -> None:
    plain = body(await client.get(f"{ADMIN}/{path}"))
    assert body(await client.get(f"{ADMIN}/{path}?qeue=email&detail=true")).keys() == plain.keys()


@on_one_store
@pytest.mark.parametrize("path", ["queues", "jobs", "workers", "stats", "stats/history"])
async def test_a_strict_server_refuses_an_unknown_parameter(
    strict_client: httpx.AsyncClient, path: str
) -> None:
    answer = await strict_client.get(f"{ADMIN}/{path}?qeue=email")
    refused(answer, 422, "validation_error", "qeue")


@on_one_store
@pytest.mark.parametrize(
    "query",
    [
        *("sort=priority", "order=asc", "order=asc&sort=created_at", "state=lost", "page=0"),
        *("order=down&sort=scheduled_at", "state=retryable&sort=scheduled_at"),
        *("cursor=5&sort=scheduled_at", "offset=10001&sort=scheduled_at"),
    ],
)
async def test_what_cannot_be_meant_is_refused(client: httpx.AsyncClient, query: str) -> None:
    name = query.partition("=")[0]
    refused(await client.get(f"{ADMIN}/jobs?{query}"), 400, "invalid_request", name)


async def test_a_job_has_what_tools_rely_on(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    shown = body(await client.get(f"{ADMIN}/jobs/{job['id']}"))
    assert (shown["meta"], shown["errors"]) == ({}, [])
    assert shown["metadata"]["created_at"] == job["created_at"]
    assert shown["metadata"]["completed_at"] is None
    policy = shown["retry_policy"]
    assert (policy["max_attempts"], policy["initial_interval"]) == (3, "PT1S")
    own = await enqueue(client, retry={"max_attempts": 7, "initial_interval": "PT9S"})
    shown = body(await client.get(f"{ADMIN}/jobs/{own['id']}"))
    assert shown["retry_policy"] == shown["retry"]
    assert (shown["retry"]["max_attempts"], shown["retry"]["initial_interval"]) == (7, "PT9S")


@on_one_store
async def test_the_policy_of_a_job_has_the_attempts_of_the_profile(serve: Serve) -> None:
    async with serve(profile=PROFILES["jobmanager"]) as server, connect(server) as client:
        job = await enqueue(client)
        shown = body(await client.get(f"{ADMIN}/jobs/{job['id']}"))
        assert shown["retry_policy"]["max_attempts"] == shown["max_attempts"] == 1


async def test_a_retry_takes_dead_and_waiting_jobs(client: httpx.AsyncClient) -> None:
    dead = await discarded_job(client)
    answer = body(await client.post(f"{ADMIN}/jobs/{dead['id']}/retry"))
    assert (answer["state"], answer["job"]["attempt"]) == ("available", 0)
    waits = await active_job(client, queue="other")
    await client.post(f"{V1}/workers/nack", json={"job_id": waits["id"], "error": {}})
    retries = body(await client.get(f"{V1}/jobs/{waits['id']}/retries"))
    assert (retries["attempt"], len(retries["retries"])) == (1, 1)
    assert body(await client.post(f"{ADMIN}/jobs/{waits['id']}/retry"))["state"] == "available"
    error_of(await client.post(f"{ADMIN}/jobs/{waits['id']}/retry"), 409, "conflict")
    error_of(await client.post(f"{ADMIN}/jobs/{job_id(7)}/retry"), 404, "not_found")


async def test_another_priority_lets_a_job_go_first(client: httpx.AsyncClient) -> None:
    await enqueue(client)
    late = await enqueue(client)
    answer = body(await client.patch(f"{V1}/jobs/{late['id']}", json={"priority": 10}))
    assert answer["job"]["priority"] == 10
    assert (await active_job_id(client)) == late["id"]
    error_of(
        await client.patch(f"{ADMIN}/jobs/{late['id']}", json={"priority": 1}), 409, "conflict"
    )
    unknown = await client.patch(f"{ADMIN}/jobs/{job_id(7)}", json={"priority": 1})
    error_of(unknown, 404, "not_found")
    told = body(await client.get(f"{V1}/events?types=job.prioritized"))["events"]
    assert [(one["data"]["priority"], one["data"]["previous_priority"]) for one in told] == [
        (10, 0)
    ]


async def active_job_id(client: httpx.AsyncClient) -> str:
    request = {"queues": ["default"], "worker_id": "w"}
    (job,) = body(await client.post(f"{V1}/workers/fetch", json=request))["jobs"]
    return str(job["id"])


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [({}, 400, "priority"), ({"priority": 101}, 400, "priority"), ({"queue": "q"}, 422, "queue")],
)
async def test_other_changes_of_a_job_are_refused(
    client: httpx.AsyncClient, change: dict[str, object], status: int, field: str
) -> None:
    job = await enqueue(client)
    code = "invalid_request" if status == 400 else "validation_error"
    refused(await client.patch(f"{ADMIN}/jobs/{job['id']}", json=change), status, code, field)
