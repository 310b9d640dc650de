"""Behaviour that the public SDKs rely on besides their recorded exchanges (see
test_exchanges.py)."""

from typing import Any

import httpx
import pytest

from tests.http.steps import JOBS, V1, WORKERS, Json, body, enqueue, error_of, job_id

OPENJOBSPEC = "application/openjobspec+json"
SDK = {"Content-Type": OPENJOBSPEC, "Accept": OPENJOBSPEC, "OJS-Version": "1.0"}
GO = {**SDK, "OJS-Version": "1.0.0-rc.1"}


async def test_python_finds_the_job_that_is_there(client: httpx.AsyncClient) -> None:
    client.headers.update(SDK)
    job = {"id": job_id(1), "type": "a", "args": []}
    await client.post(JOBS, json=job)
    error = error_of(await client.post(JOBS, json={**job, "args": [1]}), 409, "duplicate")
    assert error["details"]["existing_job_id"] == job_id(1)


async def test_go_reads_no_empty_timestamps(client: httpx.AsyncClient) -> None:
    client.headers.update(GO)
    job = await enqueue(client, pending=True)
    times = {name: value for name, value in job.items() if name.endswith("_at")}
    assert times.keys() == {"created_at"}
    assert all(times.values())


async def test_a_client_without_a_version_gets_the_exact_media_type(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post(JOBS, json={"type": "a", "args": []})
    assert response.headers["content-type"] == OPENJOBSPEC


# As the public command line sends it.
PLAIN = {"Content-Type": OPENJOBSPEC, "Accept": OPENJOBSPEC}


def copied(answer: Json, *more: str) -> Json:
    """The copy of the job's members, which must be whole but for `error`."""
    job = {name: value for name, value in answer["job"].items() if name not in {"error", *more}}
    rest = {name: value for name, value in answer.items() if name not in {"job", *more}}
    assert rest == job
    return job


@pytest.mark.parametrize("headers", [SDK, PLAIN], ids=["SDK", "command line"])
async def test_clients_find_a_whole_job_at_the_top(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    async def ask(method: str, path: str, **body_of: Any) -> Json:
        answer = await client.request(method, path, headers=headers, json=body_of or None)
        assert answer.status_code in (200, 201), answer.text
        return body(answer)

    given = {"id": job_id(1), "type": "a", "args": [1, {"x": 2}], "meta": {"m": 1}}
    first = await ask("POST", JOBS, **given)
    assert copied(first)["args"] == [1, {"x": 2}]
    path = f"{JOBS}/{first['id']}"
    again = await ask("POST", JOBS, **given)
    assert again["deduplicated"] is True
    assert copied(again, "deduplicated")["attempt"] == 0
    await client.post(f"{WORKERS}/fetch", json={"queues": ["default"]})
    fault = {"message": "no", "retryable": False}
    await client.post(f"{WORKERS}/nack", json={"job_id": first["id"], "error": fault})
    read = await ask("GET", path)
    assert read["job"]["error"]["message"] == "no"
    assert "error" not in read
    assert copied(read)["attempt"] == 1
    assert copied(await ask("GET", f"{V1}/dead-letter/{first['id']}"))["errors"]
    revived = await ask("POST", f"{V1}/dead-letter/{first['id']}/retry")
    assert copied(revived)["max_attempts"] == 3
    assert revived["job"]["re_enqueued_at"] == revived["job"]["enqueued_at"]
    prioritised = await ask("PATCH", f"{V1}/admin/jobs/{first['id']}", priority=3)
    assert copied(prioritised)["priority"] == 3
    cancelled = await ask("DELETE", path)
    assert copied(cancelled)["previous_state"] == "available"
    for answer in (revived, cancelled):
        assert (answer["args"], answer["meta"]["m"]) == ([1, {"x": 2}], 1)
        assert "result" not in answer


@pytest.mark.parametrize("headers", [SDK, PLAIN], ids=["SDK", "command line"])
async def test_a_copy_hides_nothing_that_means_something_else(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    hidden = {"job": "mine", "warnings": 1, "job_id": "mine", "deduplicated": True, "cron": 1}
    unknown = {**hidden, "x": {"y": 1}}
    job = {"id": job_id(1), "type": "a", "args": [], **unknown}
    answer = body(await client.post(JOBS, json=job, headers=headers))
    assert answer["job"]["job"] == "mine"
    assert (answer["x"], answer["args"]) == ({"y": 1}, [])
    assert answer.keys() & hidden == {"job"}
    repeated = body(await client.post(JOBS, json=job, headers=headers))
    assert repeated["deduplicated"] is True
    assert repeated["job"]["id"] == job_id(1)


async def test_lists_batches_and_fetch_have_no_copy(client: httpx.AsyncClient) -> None:
    jobs = [{"type": "a", "args": []}]
    batch = body(await client.post(f"{JOBS}/batch", json={"jobs": jobs}, headers=SDK))
    assert batch.keys() == {"jobs", "count", "enqueued", "failed"}
    fetched = await client.post(f"{WORKERS}/fetch", json={"queues": ["default"]}, headers=SDK)
    assert body(fetched).keys() == {"jobs"}


@pytest.mark.parametrize("headers", [SDK, PLAIN], ids=["SDK", "command line"])
async def test_clients_find_a_cron_entry_at_the_top(
    client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    given = {"name": "n", "cron": "@hourly", "type": "a", "args": [7]}
    path = f"{V1}/cron/n"
    for method, at, sent in (
        ("POST", f"{V1}/cron", given),
        ("GET", path, None),
        ("GET", f"{V1}/crons/n", None),
        ("PATCH", path, {"description": "d"}),
        ("POST", f"{path}/pause", None),
        ("POST", f"{path}/resume", None),
        ("POST", f"{path}/trigger", None),
        ("DELETE", path, None),
    ):
        answer = body(await client.request(method, at, json=sent, headers=headers))
        entry = answer["cron_job"]
        assert entry["cron"] == "@hourly"
        assert answer["cron"] == ("@hourly" if headers is SDK else entry)
        if at.endswith("trigger"):
            assert answer["args"] == answer["job"]["args"] == [7]
            assert entry["run_count"] == 1
        else:
            assert {name: answer[name] for name in entry} == {**entry, "cron": answer["cron"]}
    listed = body(await client.get(f"{V1}/cron", headers=headers))
    assert listed["entries"] == listed["crons"] == []
