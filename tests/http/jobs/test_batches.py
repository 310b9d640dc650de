"""Many jobs in one request: all or none."""

from typing import Any

import httpx
import pytest

from tests.http.steps import JOBS, Json, body, error_of, fetch, job_id, refused, stored_jobs
from tests.users_stores import on_one_store

BATCH = f"{JOBS}/batch"


def jobs(count: int) -> Json:
    return {"jobs": [{"type": "a", "args": [number]} for number in range(count)]}


async def test_all_jobs_are_stored_in_order(client: httpx.AsyncClient) -> None:
    response = await client.post(BATCH, json=jobs(3))
    assert response.status_code == 201
    assert response.headers["x-ojs-batch-size"] == "3"
    answer = body(response)
    assert answer["count"] == 3
    assert [job["args"] for job in answer["jobs"]] == [[0], [1], [2]]
    assert len({job["id"] for job in answer["jobs"]}) == 3
    assert [job["id"] for job in await fetch(client, count=5)] == [
        job["id"] for job in answer["jobs"]
    ]


async def test_a_thousand_jobs_are_one_batch_and_one_more_is_not(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post(BATCH, json=jobs(1001))
    error = error_of(response, 413, "BATCH_SIZE_EXCEEDED")
    assert error["details"] == {"field": "jobs", "size": 1001, "max_batch_size": 1000}
    assert response.headers["x-ojs-max-batch-size"] == "1000"
    assert await stored_jobs(client) == 0
    assert body(await client.post(BATCH, json=jobs(1000)))["count"] == 1000
    assert await stored_jobs(client) == 1000


@on_one_store
@pytest.mark.parametrize(
    ("item", "status", "code", "field"),
    [
        ({"type": "A", "args": []}, 400, "invalid_request", "type"),
        ({"type": "a"}, 400, "invalid_request", "args"),
        (
            {"type": "a", "args": [], "options": {"priority": 500}},
            400,
            "invalid_request",
            "priority",
        ),
        (
            {"type": "a", "args": [], "options": {"retry": {"max_attempts": -1}}},
            422,
            "validation_error",
            "retry.max_attempts",
        ),
        ({"type": "a", "args": [], "meta": {"a": "x" * 65_536}}, 413, "payload_too_large", "meta"),
        ("not an object", 400, "invalid_request", None),
        (None, 400, "invalid_request", None),
    ],
)
async def test_one_bad_job_refuses_all(
    client: httpx.AsyncClient, item: Any, status: int, code: str, field: str | None
) -> None:
    response = await client.post(BATCH, json={"jobs": [*jobs(2)["jobs"], item]})
    error = error_of(response, status, code)
    assert error["message"].startswith("jobs[2]: ")
    assert error["details"]["index"] == 2
    assert error["details"].get("field") == field
    assert await stored_jobs(client) == 0


@on_one_store
@pytest.mark.parametrize("given", [{}, {"jobs": []}, {"jobs": None}, {"jobs": {}}, {"jobs": "a"}])
async def test_a_batch_needs_jobs(client: httpx.AsyncClient, given: Json) -> None:
    refused(await client.post(BATCH, json=given), 400, "invalid_request", "jobs")


async def test_ids_must_differ(client: httpx.AsyncClient) -> None:
    twice = {"id": job_id(1), "type": "a", "args": []}
    response = await client.post(BATCH, json={"jobs": [twice, twice]})
    refused(response, 400, "invalid_request", "id")
    assert await stored_jobs(client) == 0


async def test_a_taken_id_refuses_all(client: httpx.AsyncClient) -> None:
    await client.post(JOBS, json={"id": job_id(1), "type": "a", "args": []})
    batch = {"jobs": [{"type": "b", "args": []}, {"id": job_id(1), "type": "b", "args": []}]}
    error = error_of(await client.post(BATCH, json=batch), 409, "duplicate")
    assert error["details"] == {"existing_job_id": job_id(1)}
    assert await stored_jobs(client) == 1


async def test_a_strict_server_refuses_unknown_members(strict_client: httpx.AsyncClient) -> None:
    response = await strict_client.post(BATCH, json={**jobs(1), "atomicity": "partial"})
    refused(response, 422, "validation_error", "atomicity")
    wrong = {"jobs": [{"type": "a", "args": [], "options": {"que": "b"}}]}
    error = error_of(await strict_client.post(BATCH, json=wrong), 422, "validation_error")
    assert error["details"]["index"] == 0
    assert error["details"]["field"] == "options.que"
    assert await stored_jobs(strict_client) == 0
