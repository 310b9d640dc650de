"""One call that settles many jobs and fetches the next ones."""

import asyncio
from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.contract import contract
from tests.http.keys import KEYS
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
    body,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)
from tests.http.waiting import until
from tests.openapi.operations import OPENJOBSPEC
from tests.users_stores import on_one_store

SETTLE = f"{WORKERS}/settle"
ERROR = "#/components/schemas/Error"


async def held(client: httpx.AsyncClient, count: int, worker_id: str = "w1") -> list[str]:
    """Jobs in a worker's hands."""
    jobs = [{"type": "t.x", "args": [number]} for number in range(count)]
    await client.post(f"{JOBS}/batch", json={"jobs": jobs})
    return [job["id"] for job in await fetch(client, count=count, worker_id=worker_id)]


def acked(job: str, attempt: Any = 1, **more: Any) -> Json:
    return {"job_id": job, "attempt": attempt, "outcome": "ack", **more}


def failed(job: str, attempt: int = 1, **more: Any) -> Json:
    return {"job_id": job, "attempt": attempt, "outcome": "fail", **more}


async def settle(
    client: httpx.AsyncClient, *results: Json, worker_id: str = "w1", **fetching: Any
) -> Json:
    """Settle jobs in one call and return its answer."""
    request: Json = {"worker_id": worker_id, "results": list(results)}
    if fetching:
        request["fetch"] = {"queues": ["default"], **fetching}
    response = await client.post(SETTLE, json=request)
    assert response.status_code == 200, response.text
    return body(response)


async def test_the_manifest_announces_it(client: httpx.AsyncClient) -> None:
    manifest = body(await client.get("/ojs/manifest"))
    assert manifest["capabilities"]["bulk_settle"] is True
    assert "urn:ojs-server:ext:settle" in manifest["extensions"]
    detail = manifest["extensions_detail"]["urn:ojs-server:ext:settle"]
    assert detail == {"path": SETTLE, "max_results": 1000}


async def test_acks_and_fails_are_settled_and_the_next_jobs_come_back(
    client: httpx.AsyncClient,
) -> None:
    one, two, three, four = await held(client, 4)
    waiting = [(await enqueue(client))["id"] for _ in range(3)]
    answer = await settle(
        client,
        acked(one, result={"sent": True}),
        failed(two, error={"code": "smtp", "message": "refused"}),
        failed(three, error={"message": "no", "retryable": False}),
        acked(four),
        count=2,
    )
    assert answer["results"][0] == {"job_id": one, "attempt": 1, "state": "completed"}
    second = answer["results"][1]
    assert (second["job_id"], second["state"]) == (two, "retryable")
    assert second["retry_delay_ms"] > 0
    assert second["next_attempt_at"]
    assert [one["state"] for one in answer["results"][2:]] == ["discarded", "completed"]
    assert [job["id"] for job in answer["jobs"]] == waiting[:2]
    assert {(job["worker_id"], job["attempt"]) for job in answer["jobs"]} == {("w1", 1)}
    assert body(await client.get(f"{JOBS}/{one}/result"))["result"] == {"sent": True}
    assert (await read(client, two))["error"]["code"] == "smtp"


async def test_a_refusal_has_the_error_of_a_single_call(client: httpx.AsyncClient) -> None:
    mine, again = await held(client, 2)
    (others,) = await held(client, 1, worker_id="w2")
    await client.post(f"{WORKERS}/ack", json={"job_id": again, "worker_id": "w1", "attempt": 1})
    answer = await settle(
        client,
        acked(others),
        acked(job_id(404)),
        acked("no-id"),
        failed(again),
        failed(mine, error=[1]),
        acked(mine, result="x" * 1_048_576),
        acked(mine),
    )
    codes = [one.get("error", {}).get("code") for one in answer["results"]]
    assert codes == [
        "conflict",
        "not_found",
        "not_found",
        "conflict",
        "invalid_request",
        "RESULT_TOO_LARGE",
        None,
    ]
    for one in answer["results"][:-1]:
        contract().validate(ERROR, {"error": one["error"]})
        assert "state" not in one
    single = await client.post(
        f"{WORKERS}/ack", json={"job_id": others, "worker_id": "w1", "attempt": 1}
    )
    mine_of_both = {"code", "type", "message", "details", "hint", "retryable", "docs_url"}
    bulk, alone = answer["results"][0]["error"], error_of(single, 409, "conflict")
    assert {name: bulk[name] for name in mine_of_both} == {
        name: alone[name] for name in mine_of_both
    }
    assert (await read(client, mine))["state"] == "completed"


async def test_a_lost_answer_is_asked_for_again(client: httpx.AsyncClient) -> None:
    one, two = await held(client, 2)
    await enqueue(client)
    results = (acked(one, result=7), failed(two, error={"message": "boom"}))
    first = await settle(client, *results, count=5, fetch_id="f-1")
    again = await settle(client, *results, count=5, fetch_id="f-1")
    assert [job["id"] for job in again["jobs"]] == [job["id"] for job in first["jobs"]]
    assert [one["state"] for one in again["results"]] == ["completed", "retryable"]
    assert all(one["repeated"] for one in again["results"])
    assert all("repeated" not in one for one in first["results"])
    # A single call is answered again where it names the attempt, and is a conflict otherwise.
    ack = {"job_id": one, "worker_id": "w1"}
    response = await client.post(f"{WORKERS}/ack", json={**ack, "attempt": 1})
    assert (response.status_code, body(response)["repeated"]) == (200, True)
    error_of(await client.post(f"{WORKERS}/ack", json=ack), 409, "conflict")
    fail = {"job_id": two, "worker_id": "w1", "error": {"message": "boom"}}
    response = await client.post(f"{WORKERS}/nack", json={**fail, "attempt": 1})
    assert (response.status_code, body(response)["repeated"]) == (200, True)
    error_of(await client.post(f"{WORKERS}/nack", json=fail), 409, "conflict")


async def test_a_call_with_results_does_not_wait(client: httpx.AsyncClient) -> None:
    (one,) = await held(client, 1)
    async with asyncio.timeout(5):
        answer = await settle(client, acked(one), wait_ms=20_000)
    assert answer["jobs"] == []
    assert (await read(client, one))["state"] == "completed"


async def test_a_call_without_results_waits_for_a_job(
    client: httpx.AsyncClient, server: Server
) -> None:
    waiting = asyncio.create_task(settle(client, wait_ms=20_000))
    await until(lambda: len(server.engine.wakeups) == 1)
    job = await enqueue(client)
    async with asyncio.timeout(5):
        answer = await waiting
    assert [one["id"] for one in answer["jobs"]] == [job["id"]]
    assert answer["results"] == []


async def test_results_alone_fetch_nothing(client: httpx.AsyncClient) -> None:
    (one,) = await held(client, 1)
    await enqueue(client)
    assert (await settle(client, acked(one)))["jobs"] == []
    assert await settle(client) == {"results": [], "jobs": []}


async def test_a_thousand_results_are_taken_and_one_more_is_not(client: httpx.AsyncClient) -> None:
    ids = await held(client, 1000)
    too_many = {"worker_id": "w1", "results": [acked(ids[0])] * 1001}
    response = await client.post(SETTLE, json=too_many)
    error = error_of(response, 413, "BATCH_SIZE_EXCEEDED")
    assert error["details"] == {"field": "results", "size": 1001, "max_batch_size": 1000}
    assert (await read(client, ids[0]))["state"] == "active"
    answer = await settle(client, *(acked(one, result={"n": [1]}) for one in ids))
    assert {one["state"] for one in answer["results"]} == {"completed"}


@on_one_store
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"worker_id": None}, "worker_id"),
        ({"worker_id": "a/b"}, "worker_id"),
        ({"results": None}, "results"),
        ({"results": {}}, "results"),
        ({"results": [1]}, "results[0]"),
        ({"results": [{"job_id": job_id(1), "outcome": "ack"}]}, "results[0].attempt"),
        ({"results": [{"attempt": 1, "outcome": "ack"}]}, "results[0].job_id"),
        ({"results": [acked(job_id(1)), acked(job_id(1), "1")]}, "results[1].attempt"),
        ({"results": [{**acked(job_id(1)), "outcome": "done"}]}, "results[0].outcome"),
        ({"fetch": 3}, "fetch"),
        ({"fetch": {"count": 2}}, "fetch.queues"),
        ({"fetch": {"queues": []}}, "fetch.queues"),
        ({"fetch": {"queues": ["default"], "count": 0}}, "fetch.count"),
    ],
)
async def test_a_call_that_is_wrong_changes_nothing(
    client: httpx.AsyncClient, change: Json, field: str
) -> None:
    (one,) = await held(client, 1)
    request = {"worker_id": "w1", "results": [acked(one)], **change}
    refused(await client.post(SETTLE, json=request), 400, "invalid_request", field)
    assert (await read(client, one))["state"] == "active"


@on_one_store
@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"worker_id":"w1","results":[{"result":1e999}]}']
)
async def test_what_is_no_object_is_refused(client: httpx.AsyncClient, text: bytes) -> None:
    headers = {"content-type": OPENJOBSPEC}
    error_of(await client.post(SETTLE, content=text, headers=headers), 400, "invalid_payload")


async def test_whole_numbers_may_be_written_with_a_fraction(client: httpx.AsyncClient) -> None:
    (one,) = await held(client, 1)
    answer = await settle(client, acked(one, 1.0), count=1.0)
    assert answer["results"][0]["state"] == "completed"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"result": []}, "result"),
        ({"results": [{**acked(job_id(1)), "resullt": 1}]}, "resullt"),
        ({"fetch": {"queues": ["default"], "counts": 1}}, "counts"),
    ],
)
async def test_a_strict_server_names_what_it_does_not_know(
    strict_client: httpx.AsyncClient, change: Json, name: str
) -> None:
    request = {"worker_id": "w1", "results": [], **change}
    error = error_of(await strict_client.post(SETTLE, json=request), 422, "validation_error")
    assert name in error["message"]
    assert "did you mean" in error["message"]
    assert (await strict_client.post(SETTLE, json={"worker_id": "w1"})).status_code == 200


async def test_it_needs_a_workers_key(keyed_client: httpx.AsyncClient) -> None:
    for role, key in KEYS.items():
        response = await keyed_client.post(
            SETTLE, json={"worker_id": "w1"}, headers={"Authorization": f"Bearer {key}"}
        )
        assert response.status_code == (200 if role in ("worker", "admin") else 403)


async def test_a_quiet_worker_settles_and_gets_nothing(client: httpx.AsyncClient) -> None:
    (one,) = await held(client, 1)
    await enqueue(client)
    await client.post(f"{WORKERS}/heartbeat", json={"worker_id": "w1", "state": "quiet"})
    answer = await settle(client, acked(one), count=1)
    assert answer["results"][0]["state"] == "completed"
    assert (answer["jobs"], answer["state"]) == ([], "quiet")


async def test_what_is_settled_is_told_where_the_fetch_is_refused(
    client: httpx.AsyncClient,
) -> None:
    (one,) = await held(client, 1)
    await enqueue(client)
    for path in ("heartbeat", "deregister"):
        await client.post(f"{WORKERS}/{path}", json={"worker_id": "w2"})
    answer = await settle(client, {**acked(one)}, worker_id="w2", count=1)
    assert answer["results"][0]["error"]["code"] == "conflict"
    assert (answer["jobs"], answer["fetch_error"]["code"]) == ([], "conflict")
    assert "has left" in answer["fetch_error"]["message"]
    # Without anything to settle it is a plain FETCH.
    plain = {"worker_id": "w2", "fetch": {"queues": ["default"]}}
    error_of(await client.post(f"{WORKERS}/settle", json=plain), 409, "conflict")


async def test_the_steps_of_a_workflow_end_in_one_call(client: httpx.AsyncClient) -> None:
    step = {"type": "t.x", "args": []}
    callbacks = {"on_complete": {"type": "t.done", "args": []}}
    request = {"type": "batch", "jobs": [step] * 3, "callbacks": callbacks}
    response = await client.post(f"{V1}/workflows", json=request)
    assert response.status_code == 201, response.text
    jobs = await fetch(client, count=3, worker_id="w1")
    answer = await settle(client, *(acked(job["id"], result=n) for n, job in enumerate(jobs)))
    assert [one["state"] for one in answer["results"]] == ["completed"] * 3
    # The callback is there once, for the next call to fetch.
    again = await settle(client, *(acked(job["id"]) for job in jobs), count=5)
    assert [job["type"] for job in again["jobs"]] == ["t.done"]
    assert all(one["repeated"] for one in again["results"])
