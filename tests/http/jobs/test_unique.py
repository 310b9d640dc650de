"""Unique jobs on the wire: statuses, details, and the answers of each way out of a conflict."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
    active_job,
    body,
    enqueue,
    error_of,
    read,
    refused,
    stored_jobs,
)

BATCH = f"{JOBS}/batch"


def a_job(job_type: str = "test.job", args: list[Any] | None = None, **policy: Any) -> Json:
    return {"type": job_type, "args": args or [], "options": {"unique": policy}}


async def test_the_manifest_says_so(client: httpx.AsyncClient) -> None:
    manifest = body(await client.get("/ojs/manifest"))
    assert manifest["capabilities"]["unique_jobs"] is True
    assert manifest["unique_job_strength"] == "strong"


async def test_reject_names_the_job_that_is_there(client: httpx.AsyncClient) -> None:
    first = await enqueue(client, unique={"keys": ["type", "args"]})
    error = error_of(await client.post(JOBS, json=a_job(keys=["type", "args"])), 409, "duplicate")
    assert error["retryable"] is False
    details = error["details"]
    assert details["existing_job_id"] == first["id"]
    assert details["existing_job_state"] == "available"
    assert len(details["uniqueness_key"]) == 64
    assert details["uniqueness_key"] not in error["message"]
    assert await read(client, first["id"]) == first
    assert await stored_jobs(client) == 1


@pytest.mark.parametrize("mode", ["ignore", "use_existing"])
async def test_ignore_answers_200_with_the_job_that_is_there(
    client: httpx.AsyncClient, mode: str
) -> None:
    first = await enqueue(client, unique={"on_conflict": mode})
    response = await client.post(JOBS, json=a_job(on_conflict=mode))
    assert response.status_code == 200
    answer = body(response)
    assert answer["deduplicated"] is True
    assert answer["job"] == first
    assert answer["id"] == first["id"]
    assert response.headers["location"] == f"{JOBS}/{first['id']}"


async def test_replace_cancels_a_held_job_and_its_worker_hears(client: httpx.AsyncClient) -> None:
    old = await active_job(client)
    assert body(await client.post(JOBS, json=a_job()))["job"]["id"] != old["id"]
    held = await active_job(client, type="other.job", unique={}, queue="other")
    new = await enqueue(client, type="other.job", queue="other", unique={"on_conflict": "replace"})
    assert (new["state"], (await read(client, held["id"]))["state"]) == ("available", "cancelled")
    beat = await client.post(
        f"{WORKERS}/heartbeat", json={"worker_id": "worker-1", "active_job_ids": [held["id"]]}
    )
    assert body(beat)["cancelled_jobs"] == [held["id"]]
    late = await client.post(f"{WORKERS}/ack", json={"job_id": held["id"]})
    error_of(late, 409, "conflict")


async def test_replace_except_schedule_keeps_the_moment(client: httpx.AsyncClient) -> None:
    old = await enqueue(client, unique={}, scheduled_at="+PT1H", args=[1])
    new = await enqueue(client, unique={"on_conflict": "replace_except_schedule"}, args=[2])
    assert (new["state"], new["scheduled_at"], new["args"]) == (
        "scheduled",
        old["scheduled_at"],
        [2],
    )
    assert (await read(client, old["id"]))["state"] == "cancelled"


@pytest.mark.parametrize(
    ("args", "names"), [([{"a": 1}, {"order": 1}], "'order'"), ([], "there is none")]
)
async def test_a_missing_argument_is_400(
    client: httpx.AsyncClient, args: list[Any], names: str
) -> None:
    response = await client.post(JOBS, json=a_job(args=args, args_keys=["order"]))
    assert names in refused(response, 400, "invalid_request", "unique.args_keys")["message"]
    assert await stored_jobs(client) == 0


async def test_a_batch_names_the_job_that_meets_another(client: httpx.AsyncClient) -> None:
    first = await enqueue(client, unique={})
    jobs = [a_job("b"), a_job(), a_job("c")]
    error = error_of(await client.post(BATCH, json={"jobs": jobs}), 409, "duplicate")
    assert (error["details"]["index"], error["details"]["existing_job_id"]) == (1, first["id"])
    assert error["message"].startswith("jobs[1]: ")
    jobs = [a_job("b"), a_job("c"), a_job("b")]
    error = error_of(await client.post(BATCH, json={"jobs": jobs}), 409, "duplicate")
    assert (error["details"]["index"], error["details"]["existing_index"]) == (2, 0)
    assert await stored_jobs(client) == 1


async def test_a_batch_of_ignored_jobs_answers_what_is_there(client: httpx.AsyncClient) -> None:
    jobs = [a_job(on_conflict="ignore"), a_job("b"), a_job(on_conflict="ignore")]
    response = await client.post(BATCH, json={"jobs": jobs})
    assert response.status_code == 201
    answer = body(response)
    assert answer["count"] == 3
    assert {**answer["jobs"][0], "deduplicated": True} == answer["jobs"][2]
    again = await client.post(BATCH, json={"jobs": [jobs[0], jobs[2]]})
    assert again.status_code == 200
    assert [job["id"] for job in body(again)["jobs"]] == [answer["jobs"][0]["id"]] * 2
    assert await stored_jobs(client) == 2


@pytest.mark.parametrize(
    ("mode", "statuses"),
    [("reject", {201: 1, 409: 31}), ("ignore", {201: 1, 200: 31}), ("replace", {201: 32})],
)
async def test_of_equal_requests_at_once_one_job_is_left(
    client: httpx.AsyncClient, mode: str, statuses: dict[int, int]
) -> None:
    answers = await asyncio.gather(
        *(client.post(JOBS, json=a_job(on_conflict=mode)) for _ in range(32))
    )
    assert Counter(answer.status_code for answer in answers) == statuses
    counts = body(await client.get(f"{V1}/queues/default"))["queue"]["counts"]
    assert counts["available"] == 1


async def test_strict_names_a_wrong_member(serve: Serve) -> None:
    async with serve(strict=True) as server, connect(server) as client:
        assert isinstance(server, Server)
        response = await client.post(JOBS, json=a_job(on_conflct="ignore"))
        refused(response, 422, "validation_error", "unique.on_conflct")
        assert (await client.post(JOBS, json=a_job(on_conflict="ignore"))).status_code == 201


async def test_held_keys_are_listed_with_their_ends(client: httpx.AsyncClient) -> None:
    first = await enqueue(client, unique={"period": "PT1H"}, type="first.job")
    await enqueue(client)
    second = await enqueue(client, unique={}, queue="other")
    path = f"{V1}/unique-jobs"
    items = body(await client.get(path))["items"]
    assert [item["job_id"] for item in items] == [second["id"], first["id"]]
    assert items[0]["expires_at"] is None
    ends = [datetime.fromisoformat(items[1][name]) for name in ("created_at", "expires_at")]
    assert ends[1] - ends[0] == timedelta(hours=1)
    assert body(await client.get(f"{path}?type=first.job"))["items"] == items[1:]
    assert body(await client.get(path, headers={"X-OJS-Tenant": "acme"}))["items"] == []
