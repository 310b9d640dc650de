"""Isolation of tenants in function blocks and on the blackboard."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from tests.http.conftest import ALL_CALLS, Serve
from tests.http.tenants.test_tenants_own import V1, Calls, made, same_as_missing


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    """A server with the calls of the blackboard."""
    async with serve(profile=ALL_CALLS) as running:
        yield running


async def test_function_blocks_are_a_tenants_own(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    schema = {"type": "object", "required": ["size"]}
    polls = {}
    for one, block in (
        (acme, {"id": "Router 1", "resultDataJsonSchema": schema}),
        (beta, {"id": "Router 1"}),
    ):
        body = {"functionBlocks": [block]}
        worker = (await one.post(f"{V1}/workers/register", json=body)).json()["worker_id"]
        await one.post(f"{V1}/workers/heartbeat", json={"worker_id": worker})
        polls[one] = {"workerId": worker, "functionBlockIds": ["Router 1"]}
    refused = await client.post(f"{V1}/blackboard/jobs", json={"functionBlockId": "Router 1"})
    assert refused.status_code == 422
    job = (await made(acme, "blackboard/jobs", {"functionBlockId": "Router 1"}))["jobId"]
    calls: Calls = [
        ("GET", f"{V1}/blackboard/job/{job}", None),
        ("GET", f"{V1}/jobs/{job}", None),
    ]
    await same_as_missing(beta, job, "01a1f0c0-0000-7000-8000-000000000009", calls)
    assert (await beta.post(f"{V1}/blackboard/job", json=polls[beta])).json() == []
    unknown = await beta.post(f"{V1}/blackboard/job", json=polls[acme])
    assert unknown.status_code == 404
    (held,) = (await acme.post(f"{V1}/blackboard/job", json=polls[acme])).json()
    assert (held["jobId"], held["functionBlockId"]) == (job, "Router 1")
    push: dict[str, Any] = {"jobId": job, "status": "success", "result": {}}
    at = f"{V1}/blackboard/job/result"
    assert (await beta.post(at, json=push)).status_code == 404
    # It is held to the schema of the tenant's own block.
    assert (await acme.post(at, json=push)).status_code == 422
    assert (await acme.post(at, json={**push, "result": {"size": 1}})).status_code == 200
    assert (await acme.get(f"{V1}/blackboard/job/{job}")).json()["functionBlockId"] == "Router 1"
    for one in (acme, beta):
        await one.delete(f"{V1}/workers/{polls[one]['workerId']}")
    assert (await acme.get(f"{V1}/events?types=job_types.changed")).json()["events"] == []
