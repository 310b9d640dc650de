"""Enqueue: the stored job, and the answer."""

from typing import Any

import httpx
import pytest

from tests.http.steps import (
    JOBS,
    WORKERS,
    Json,
    active_job,
    body,
    enqueue,
    fetch,
    read,
)


async def test_a_stored_job_is_answered_whole(client: httpx.AsyncClient) -> None:
    response = await client.post(JOBS, json={"type": "email.send", "args": ["a@example.com", 1]})
    assert response.status_code == 201
    answer = body(response)
    job = answer.pop("job")
    assert answer == job
    assert response.headers["location"] == f"{JOBS}/{job['id']}"
    assert job["created_at"] == job["enqueued_at"]
    assert {name: job[name] for name in job if name not in ("id", "created_at", "enqueued_at")} == {
        "specversion": "1.0",
        "type": "email.send",
        "queue": "default",
        "state": "available",
        "args": ["a@example.com", 1],
        "meta": {},
        "priority": 0,
        "attempt": 0,
        "max_attempts": 3,
    }
    assert await read(client, job["id"]) == job


async def test_options_are_kept_in_one_spelling(client: httpx.AsyncClient) -> None:
    job = await enqueue(
        client,
        queue="email",
        priority=-100,
        timeout="90s",
        visibility_timeout="PT2M",
        tags=["a", "b"],
        retry={"max_attempts": 7, "initial_interval_ms": 1500, "strategy": "none"},
        unique={"key": ["type"], "period_ms": 1500, "on_conflict": "use_existing"},
        rate_limit={"max_per_second": 1},
    )
    assert job["queue"] == "email"
    assert job["priority"] == -100
    assert job["timeout_ms"] == 90_000
    assert job["visibility_timeout_ms"] == 120_000
    assert job["tags"] == ["a", "b"]
    assert job["max_attempts"] == 7
    assert job["retry"]["initial_interval"] == "PT1.5S"
    assert job["retry"]["backoff_strategy"] == "constant"
    assert job["unique"] == {"keys": ["type"], "on_conflict": "ignore", "period": "PT1.5S"}
    assert job["rate_limit"] == {"max_per_second": 1}


async def test_flat_options_count_and_the_nested_ones_win(client: httpx.AsyncClient) -> None:
    response = await client.post(
        JOBS,
        json={
            "type": "a",
            "args": [],
            "queue": "flat",
            "priority": 3,
            "options": {"queue": "nested"},
        },
    )
    job = body(response)["job"]
    assert (job["queue"], job["priority"]) == ("nested", 3)


async def test_an_integer_may_be_written_with_a_fraction_of_zero(
    client: httpx.AsyncClient,
) -> None:
    job = await enqueue(client, priority=5.0, retry={"max_attempts": 2.0})
    assert (job["priority"], job["max_attempts"]) == (5, 2)
    assert type(job["priority"]) is type(job["max_attempts"]) is int
    (delivered,) = await fetch(client, count=1.0)
    request = {"job_id": job["id"], "attempt": 1.0, "result": 1.0}
    response = await client.post(f"{WORKERS}/ack", json=request)
    assert response.status_code == 200
    stored = await client.get(f"{JOBS}/{delivered['id']}")
    assert '"result":1.0' in stored.text


async def test_unknown_members_are_given_back(client: httpx.AsyncClient) -> None:
    unknown = {"x_text": "a\0b", "x_object": {"deep": [1, None, {"a": True}]}, "x_number": 2**63}
    response = await client.post(JOBS, json={"type": "a", "args": [], **unknown})
    job = await read(client, body(response)["id"])
    assert {name: job[name] for name in unknown} == unknown


async def test_a_job_can_be_sent_back_as_it_was_read(client: httpx.AsyncClient) -> None:
    job = await active_job(client, queue="email", retry={"max_attempts": 2}, tags=["a"])
    del job["id"]
    response = await client.post(JOBS, json=job)
    assert response.status_code == 201, response.text
    copy = body(response)["job"]
    assert copy["state"] == "available"
    assert copy["attempt"] == 0
    assert "lease_expires_at" not in copy
    assert "worker_id" not in copy
    assert "started_at" not in copy


@pytest.mark.parametrize(
    ("given", "most"),
    [
        ({"max_attempts": 7}, 7),
        ({"max_attempts": None}, 3),
        ({"options": {"max_attempts": 7}}, 7),
        ({"options": {"max_attempts": 7, "retry_policy": {"jitter": False}}}, 7),
        ({"max_attempts": 7, "retry": {"max_attempts": 5}}, 5),
        ({"max_attempts": 7, "options": {"retry": {"max_attempts": 5}}}, 5),
        ({"retry": {"max_attempts": 5}, "options": {"max_attempts": 7}}, 7),
        ({"options": {"retry": {"max_attempts": 5}, "max_attempts": 7}}, 5),
    ],
)
async def test_max_attempts_may_stand_beside_the_policy(
    strict_client: httpx.AsyncClient, given: Json, most: int
) -> None:
    answer = await strict_client.post(JOBS, json={"type": "a", "args": [], **given})
    job = body(answer)["job"]
    assert job["max_attempts"] == job.get("retry", {"max_attempts": 3})["max_attempts"] == most


async def test_a_policy_shows_its_intervals_in_milliseconds_too(client: httpx.AsyncClient) -> None:
    retry = (await enqueue(client, retry={"initial_interval": "PT1.5S"}))["retry"]
    assert (retry["initial_interval_ms"], retry["max_interval_ms"]) == (1500, 300_000)


@pytest.mark.parametrize("name", ["scheduled_at", "delay_until"])
async def test_a_future_job_is_scheduled(client: httpx.AsyncClient, name: str) -> None:
    job = await enqueue(client, **{name: "2999-01-31T09:00:00+02:00"})
    assert job["state"] == "scheduled"
    assert job["scheduled_at"] == "2999-01-31T07:00:00Z"
    assert "enqueued_at" not in job
    assert await fetch(client) == []


async def test_a_past_time_is_now(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, scheduled_at="1999-01-31T09:00:00Z")
    assert job["state"] == "available"
    assert [one["id"] for one in await fetch(client)] == [job["id"]]


@pytest.mark.parametrize(
    "payload",
    [
        [None, True, 1.5, "ü€😀", {"a": {"b": []}}],
        ["\0\x01\x7f"],
        [2**64 - 1, -(2**63)],
        [1e308, 5e-324, -0.0],
        [{"": {"": ""}}],
    ],
    ids=["kinds", "control characters", "64 bits", "doubles", "empty keys"],
)
async def test_payloads_come_back_as_they_were_sent(
    client: httpx.AsyncClient, payload: list[Any]
) -> None:
    job = await enqueue(client, args=payload, meta={"payload": payload})
    stored = await read(client, job["id"])
    assert stored["args"] == payload
    assert stored["meta"] == {"payload": payload}
    (delivered,) = await fetch(client)
    assert delivered["args"] == payload
    response = await client.post(
        f"{WORKERS}/ack", json={"job_id": job["id"], "result": {"payload": payload}}
    )
    assert response.status_code == 200
    assert (await read(client, job["id"]))["result"] == {"payload": payload}


async def test_a_job_of_a_mebibyte_is_taken(client: httpx.AsyncClient) -> None:
    text = "x" * (1_048_576 - 100)
    job = await enqueue(client, args=[text])
    assert (await read(client, job["id"]))["args"] == [text]


async def test_a_lenient_server_ignores_unknown_options(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, priorty=1, retry={"max_atempts": 9}, unique={"keyz": ["type"]})
    assert (job["priority"], job["max_attempts"]) == (0, 3)
    assert "priorty" not in job


async def test_a_strict_server_keeps_unknown_members_of_the_job(
    strict_client: httpx.AsyncClient,
) -> None:
    response = await strict_client.post(JOBS, json={"type": "a", "args": [], "x_team": "growth"})
    assert response.status_code == 201
    assert body(response)["job"]["x_team"] == "growth"
