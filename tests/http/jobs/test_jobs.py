"""Read, cancel and activate a job, and wait for its result."""

import asyncio

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.store.tables.jobs import JobReads
from tests.http.steps import (
    JOBS,
    WORKERS,
    Json,
    active_job,
    body,
    discarded_job,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)
from tests.http.waiting import until
from tests.users_stores import on_one_store

UNKNOWN: list[str] = [
    job_id(9),
    "unknown",
    "0",
    "01A1F0C0-0000-7000-8000-000000000001",
    "%00",
    "a%2Fb",
    "é",
    "%ff",
]


async def test_an_unknown_job_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in UNKNOWN:
        with subtests.test(given=given):
            for suffix in ("", "/result"):
                error = error_of(await client.get(f"{JOBS}/{given}{suffix}"), 404, "not_found")
                assert error["hint"]
                assert error["docs_url"].endswith("#not_found")


async def test_a_missing_job_is_named_in_the_details(client: httpx.AsyncClient) -> None:
    error = error_of(await client.get(f"{JOBS}/{job_id(9)}"), 404, "not_found")
    assert error["details"] == {"resource_type": "job", "resource_id": job_id(9)}


async def test_reading_changes_nothing(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    assert await read(client, job["id"]) == await read(client, job["id"])


@pytest.mark.parametrize("way", ["delete", "post"])
@pytest.mark.parametrize("state", ["available", "scheduled", "pending", "active", "retryable"])
async def test_cancelling_takes_effect_at_once(
    client: httpx.AsyncClient, state: str, way: str
) -> None:
    options: dict[str, Json] = {
        "scheduled": {"scheduled_at": "+PT1H"},
        "pending": {"pending": True},
    }
    job = await enqueue(client, **options.get(state, {}))
    if state in ("active", "retryable"):
        await fetch(client)
    if state == "retryable":
        await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "error": "no"})
    path = f"{JOBS}/{job['id']}"
    response = await (client.delete(path) if way == "delete" else client.post(f"{path}/cancel"))
    assert response.status_code == 200
    answer = body(response)
    assert (answer["id"], answer["state"]) == (job["id"], "cancelled")
    assert answer["job"]["previous_state"] == state
    stored = await read(client, job["id"])
    assert stored["state"] == "cancelled"
    assert stored["cancelled_at"] == answer["job"]["cancelled_at"]
    assert "completed_at" not in stored
    assert await fetch(client) == []


@pytest.mark.parametrize("end", ["completed", "discarded", "cancelled"])
async def test_a_job_that_has_ended_cannot_be_cancelled(
    client: httpx.AsyncClient, end: str
) -> None:
    if end == "discarded":
        job = await discarded_job(client)
    else:
        job = await active_job(client)
        if end == "completed":
            await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        else:
            await client.delete(f"{JOBS}/{job['id']}")
    before = await read(client, job["id"])
    for response in (
        await client.delete(f"{JOBS}/{job['id']}"),
        await client.post(f"{JOBS}/{job['id']}/cancel", json={}),
    ):
        error = error_of(response, 409, "conflict")
        assert error["retryable"] is False
        assert error["details"]["job_id"] == job["id"]
        assert error["details"]["current_state"] == end
    assert await read(client, job["id"]) == before


async def test_a_pending_job_waits_to_be_activated(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, pending=True)
    assert job["state"] == "pending"
    assert await fetch(client) == []
    answer = body(await client.post(f"{JOBS}/{job['id']}/activate"))
    assert answer["job"]["previous_state"] == "pending"
    assert answer["job"]["activated_at"] == answer["job"]["enqueued_at"]
    assert [one["id"] for one in await fetch(client)] == [job["id"]]


async def test_only_a_pending_job_can_be_activated(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    error = error_of(await client.post(f"{JOBS}/{job['id']}/activate"), 409, "conflict")
    assert error["details"]["current_state"] == "available"
    assert error["details"]["expected_state"] == "pending"


@pytest.mark.parametrize("call", ["activate", "cancel", "ack", "nack", "fail"])
async def test_calls_on_an_unknown_job_are_not_found(client: httpx.AsyncClient, call: str) -> None:
    for unknown in (job_id(9), "unknown", "%00"):
        error_of(await client.post(f"{JOBS}/{unknown}/{call}"), 404, "not_found")


async def test_a_result_is_read_back(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": [1, "a", None]})
    answer = body(await client.get(f"{JOBS}/{job['id']}/result"))
    assert answer == {"job_id": job["id"], "state": "completed", "result": [1, "a", None]}


async def test_a_history_tells_what_became_of_a_job(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client)
    answer = body(await client.get(f"{JOBS}/{job['id']}/history"))
    assert (answer["job_id"], answer["state"], answer["complete"]) == (
        job["id"],
        "discarded",
        True,
    )
    last = answer["events"][-1]
    assert (last["type"], last["attempt"], last["worker_id"]) == ("job.discarded", 1, "worker-1")
    assert last["error"]["message"] == "no such address"
    started = answer["events"][-2]
    assert (started["type"], started["worker_id"]) == ("job.started", "worker-1")
    assert last["error"]["started_at"] == started["time"]
    assert last["error"]["worker_id"] == "worker-1"
    later = await enqueue(client, scheduled_at="2031-01-01T00:00:00Z")
    answer = body(await client.get(f"{JOBS}/{later['id']}/history"))
    assert answer["scheduled_at"] == "2031-01-01T00:00:00Z"
    assert [one["type"] for one in answer["events"]] == ["job.created"]
    unknown = await client.get(f"{JOBS}/{job_id(9)}/history")
    error_of(unknown, 404, "not_found")


async def test_a_job_without_a_result_has_null(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
    assert body(await client.get(f"{JOBS}/{job['id']}/result"))["result"] is None
    assert "result" not in await read(client, job["id"])


async def test_the_result_of_a_discarded_job_is_its_error(client: httpx.AsyncClient) -> None:
    job = await discarded_job(client)
    answer = body(await client.get(f"{JOBS}/{job['id']}/result"))
    assert (answer["state"], answer["result"]) == ("discarded", None)
    assert answer["error"]["message"] == "no such address"


async def test_an_unfinished_job_has_no_result_yet(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    response = await client.get(f"{JOBS}/{job['id']}/result")
    assert response.status_code == 202
    assert body(response) == {"job_id": job["id"], "state": "available"}


async def test_waiting_in_vain_ends(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    response = await client.get(f"{JOBS}/{job['id']}/result?wait=true&timeout=0.01")
    error = error_of(response, 408, "request_timeout")
    assert error["retryable"] is True
    assert error["details"] == {"job_id": job["id"], "state": "available"}


async def test_waiting_ends_with_the_job(client: httpx.AsyncClient, server: Server) -> None:
    job = await active_job(client)
    waiting = asyncio.create_task(client.get(f"{JOBS}/{job['id']}/result?wait=1&timeout=20"))
    await until(lambda: bool(server.engine.endings.queues()))
    await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": 42})
    async with asyncio.timeout(5):
        assert body(await waiting)["result"] == 42


@on_one_store
async def test_a_job_that_is_deleted_after_its_change_is_answered_without_its_payload(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await enqueue(client, args=[1])
    monkeypatch.setattr(JobReads, "job", lambda reader, job_id: None)
    answer = body(await client.delete(f"{JOBS}/{job['id']}"))
    assert (answer["state"], answer["previous_state"]) == ("cancelled", "available")
    assert answer == {**answer["job"], "job": answer["job"]}
    assert "args" not in answer


BAD_WAITS: list[tuple[str, str]] = [
    ("wait=perhaps", "wait"),
    ("wait=", "wait"),
    ("timeout=-1", "timeout"),
    ("timeout=nan", "timeout"),
    ("timeout=inf", "timeout"),
    ("timeout=1e9", "timeout"),
    ("timeout=1_0", "timeout"),
    ("timeout=", "timeout"),
    ("wait=true&timeout=soon", "timeout"),
]


async def test_a_bad_wait_is_named(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for query, field in BAD_WAITS:
        with subtests.test(query=query, field=field):
            job = await enqueue(client)
            response = await client.get(f"{JOBS}/{job['id']}/result?{query}")
            refused(response, 400, "invalid_request", field)
