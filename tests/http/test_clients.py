"""What the public SDKs rely on besides their recorded exchanges (see test_exchanges.py)."""

import httpx

from tests.http.steps import JOBS, body, enqueue, error_of, job_id

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
    # A reader of the top level finds the job there, too.
    assert body(response)["state"] == "available"
