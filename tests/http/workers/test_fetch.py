"""FETCH: the jobs that are handed out, to whom, in which order, and for how long."""

import json
from typing import Any

import httpx
import pytest

from ojs_server.domain.profile import PROFILES
from ojs_wire.values import parse_timestamp
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, WORKERS, Json, body, enqueue, error_of, fetch, read, refused

FETCH = f"{WORKERS}/fetch"


async def test_a_job_is_handed_out_once(client: httpx.AsyncClient) -> None:
    job = await enqueue(client, args=[1], meta={"a": 1})
    (delivered,) = await fetch(client, worker_id="worker-1")
    assert delivered["state"] == "active"
    assert delivered["attempt"] == 1
    assert delivered["worker_id"] == "worker-1"
    assert parse_timestamp(delivered["started_at"]) >= parse_timestamp(job["created_at"])
    assert (delivered["args"], delivered["meta"]) == ([1], {"a": 1})
    assert await fetch(client) == []
    assert await read(client, job["id"]) == delivered


async def test_an_empty_queue_answers_at_once(client: httpx.AsyncClient) -> None:
    response = await client.post(FETCH, json={"queues": ["never-seen"]})
    assert response.status_code == 200
    assert body(response) == {"jobs": []}


async def test_the_order_is_queue_then_priority_then_age(client: httpx.AsyncClient) -> None:
    for name, queue, priority in [
        ("low", "a", -5),
        ("first", "a", 0),
        ("second", "a", 0),
        ("high", "a", 5),
        ("other", "b", 100),
    ]:
        await enqueue(client, type=name, queue=queue, priority=priority)
    jobs = await fetch(client, ("a", "b"), count=10)
    assert [job["type"] for job in jobs] == ["high", "first", "second", "low", "other"]


async def test_count_bounds_the_answer(client: httpx.AsyncClient) -> None:
    for _ in range(5):
        await enqueue(client)
    assert len(await fetch(client)) == 1
    assert len(await fetch(client, count=3)) == 3
    assert len(await fetch(client, count=1000)) == 1


async def test_job_types_choose(client: httpx.AsyncClient) -> None:
    for name in ("a", "b", "a"):
        await enqueue(client, type=name)
    jobs = await fetch(client, job_types=["b", "c"], count=10)
    assert [job["type"] for job in jobs] == ["b"]
    jobs = await fetch(client, job_types=[f"t{n}" for n in range(999)] + ["a"], count=10)
    assert [job["type"] for job in jobs] == ["a", "a"]


@pytest.mark.parametrize(
    ("job", "request_body", "seconds"),
    [
        ({}, {}, 1800),
        ({"visibility_timeout": 60}, {}, 60),
        ({"visibility_timeout": 60}, {"visibility_timeout_ms": 5000}, 5),
        ({"visibility_timeout": 60}, {"visibility_timeout": 7}, 7),
        ({"visibility_timeout": 60}, {"visibility_timeout": "PT2M"}, 120),
        ({"visibility_timeout": 60}, {"visibility_timeout_ms": 0, "visibility_timeout": 9}, 9),
        ({"visibility_timeout": 60}, {"visibility_timeout_ms": 0}, 60),
        ({"visibility_timeout": 60}, {"visibility_timeout_ms": 5000.0}, 5),
    ],
)
async def test_the_lease_is_the_fetch_value_then_the_jobs_then_the_servers(
    serve: Serve, job: dict[str, Any], request_body: dict[str, Any], seconds: int
) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await enqueue(client, **job)
        (delivered,) = await fetch(client, **request_body)
        assert delivered["started_at"] == "2030-01-31T09:00:00Z"
        hands.turn(seconds=seconds)
        (probe,) = (await enqueue(client, type="probe"),)
        assert delivered["lease_expires_at"] == probe["created_at"]


async def test_a_repeated_fetch_gets_what_it_still_holds(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await enqueue(client)
    request: Json = {"worker_id": "worker-1", "fetch_id": "f-1", "count": 2}
    jobs = await fetch(client, **request)
    assert await fetch(client, **request) == jobs
    await client.post(f"{WORKERS}/ack", json={"job_id": jobs[0]["id"]})
    assert await fetch(client, **request) == jobs[1:]
    other = await fetch(client, worker_id="worker-2", fetch_id="f-1")
    assert other[0]["id"] not in {job["id"] for job in jobs}


async def test_a_paused_queue_hands_nothing_out(client: httpx.AsyncClient) -> None:
    await client.post(f"{V1}/queues/email/pause")
    job = await enqueue(client, queue="email")
    assert job["state"] == "available"
    other = await enqueue(client, queue="other")
    assert [one["id"] for one in await fetch(client, ("email", "other"), count=5)] == [other["id"]]
    await client.post(f"{V1}/queues/email/resume")
    assert [one["id"] for one in await fetch(client, ("email",))] == [job["id"]]


@pytest.mark.parametrize(
    ("reported", "state"), [("quiet", "quiet"), ("terminate", "terminate"), ("drain", "quiet")]
)
async def test_a_worker_on_its_way_out_gets_nothing_and_hears_why(
    client: httpx.AsyncClient, reported: str, state: str
) -> None:
    await enqueue(client)
    await client.post(f"{WORKERS}/heartbeat", json={"worker_id": "worker-1", "state": reported})
    asked = {"queues": ["default"], "worker_id": "worker-1"}
    assert body(await client.post(FETCH, json=asked)) == {"jobs": [], "state": state}
    line = await client.post(FETCH, json=asked, headers=LINES)
    assert json.loads(line.content) == {"state": state}
    assert len(await fetch(client, worker_id="worker-2")) == 1


async def test_a_worker_that_has_left_is_refused_with_a_hint(client: httpx.AsyncClient) -> None:
    await enqueue(client)
    for path in ("heartbeat", "deregister"):
        await client.post(f"{WORKERS}/{path}", json={"worker_id": "worker-1"})
    asked = {"queues": ["default"], "worker_id": "worker-1"}
    for _ in range(2):
        error = error_of(await client.post(FETCH, json=asked), 409, "conflict")
        assert error["details"] == {"resource_type": "worker", "resource_id": "worker-1"}
        assert "register" in error["hint"]
    await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1"})
    assert len(await fetch(client, worker_id="worker-1")) == 1


async def test_a_worker_that_is_not_online_hears_its_presence(serve: Serve) -> None:
    async with serve(profile=PROFILES["blackboard"]) as server, connect(server) as client:
        await enqueue(client)
        asked = {"queues": ["default"], "worker_id": "worker-1"}
        found = body(await client.post(FETCH, json=asked))
        assert found == {"jobs": [], "presence": "unreachable"}
        await client.post(f"{WORKERS}/heartbeat", json={"worker_id": "worker-1"})
        assert len(await fetch(client, worker_id="worker-1")) == 1


BAD_FETCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "queues"),
    ({"queues": None}, "queues"),
    ({"queues": []}, "queues"),
    ({"queues": "default"}, "queues"),
    ({"queues": ["default", 5]}, "queues[1]"),
    ({"queues": ["Default"]}, "queues"),
    ({"queues": ["a\0"]}, "queues"),
    ({"queues": ["a"] * 101}, "queues"),
    ({"queues": ["a"], "count": 0}, "count"),
    ({"queues": ["a"], "count": 1001}, "count"),
    ({"queues": ["a"], "count": 1.5}, "count"),
    ({"queues": ["a"], "count": "1"}, "count"),
    ({"queues": ["a"], "worker_id": ""}, "worker_id"),
    ({"queues": ["a"], "worker_id": "a\0b"}, "worker_id"),
    ({"queues": ["a"], "worker_id": "a/b"}, "worker_id"),
    ({"queues": ["a"], "worker_id": "w" * 256}, "worker_id"),
    ({"queues": ["a"], "worker_id": "register"}, "worker_id"),
    ({"queues": ["a"], "worker_id": 7}, "worker_id"),
    ({"queues": ["a"], "visibility_timeout_ms": -1}, "visibility_timeout_ms"),
    ({"queues": ["a"], "visibility_timeout_ms": "5s"}, "visibility_timeout_ms"),
    ({"queues": ["a"], "visibility_timeout_ms": 2**64 - 1}, "visibility_timeout_ms"),
    ({"queues": ["a"], "visibility_timeout": "soon"}, "visibility_timeout"),
    ({"queues": ["a"], "wait_ms": -1}, "wait_ms"),
    ({"queues": ["a"], "wait_ms": True}, "wait_ms"),
    ({"queues": ["a"], "fetch_id": ""}, "fetch_id"),
    ({"queues": ["a"], "fetch_id": "a\0b"}, "fetch_id"),
    ({"queues": ["a"], "fetch_id": "f" * 256}, "fetch_id"),
    ({"queues": ["a"], "job_types": []}, "job_types"),
    ({"queues": ["a"], "job_types": ["a"] * 1001}, "job_types"),
    ({"queues": ["a"], "job_types": ["A"]}, "job_types"),
    ({"queues": ["a"], "job_types": ["a\0"]}, "job_types"),
    ({"queues": ["a"], "job_types": ["a" * 256]}, "job_types"),
    ({"queues": ["a"], "runtime": "python"}, "runtime"),
]


async def test_a_bad_fetch_names_its_field_and_takes_nothing(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for request_body, field in BAD_FETCHES:
        with subtests.test(request_body=request_body, field=field):
            await enqueue(client, queue="a")
            refused(await client.post(FETCH, json=request_body), 400, "invalid_request", field)
            assert len(await fetch(client, ("a",))) == 1


async def test_a_strict_server_refuses_unknown_members(strict_client: httpx.AsyncClient) -> None:
    response = await strict_client.post(FETCH, json={"queues": ["a"], "cuont": 1})
    error = refused(response, 422, "validation_error", "cuont")
    assert 'did you mean "count"?' in error["message"]


LINES = {"Accept": "application/x-ndjson"}


async def test_each_job_is_a_line_where_that_is_asked_for(client: httpx.AsyncClient) -> None:
    wanted = [await enqueue(client, args=["one\ntwo", {"a": [1]}]) for _ in range(2)]
    asked = {"queues": ["default"], "count": 5}
    response = await client.post(FETCH, json=asked, headers=LINES)
    assert response.headers["content-type"] == "application/x-ndjson"
    assert response.content.endswith(b"}\n")
    lines = [json.loads(line) for line in response.content.split(b"\n")[:-1]]
    assert [job["id"] for job in lines] == [job["id"] for job in wanted]
    assert lines[0] == await read(client, lines[0]["id"])


async def test_what_else_is_said_is_the_last_line(client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    asked = {"queues": ["default"], "wait_ms": 60_000}
    first, last, end = (await client.post(FETCH, json=asked, headers=LINES)).content.split(b"\n")
    assert json.loads(first)["id"] == job["id"]
    assert (json.loads(last), end) == ({"granted_wait_ms": 30_000}, b"")


async def test_no_job_is_no_line_and_a_refusal_is_json(client: httpx.AsyncClient) -> None:
    response = await client.post(FETCH, json={"queues": ["never-seen"]}, headers=LINES)
    assert (response.status_code, response.content) == (200, b"")
    response = await client.post(FETCH, json={"queues": ["-"]}, headers=LINES)
    assert response.headers["content-type"] == "application/openjobspec+json"
    refused(response, 400, "invalid_request", "queues")
