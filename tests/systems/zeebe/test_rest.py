"""Camunda's REST calls for jobs, on both stores."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from tests.http.conftest import Serve
from tests.users_stores import on_one_store

BIG = 9_223_372_036_854_775_807
ACTIVATION = {"type": "pay", "worker": "w", "timeout": 60_000, "maxJobsToActivate": 5}


@pytest.fixture
async def camunda(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with these calls."""
    async with serve(conformance=False, profile=PROFILES["zeebe"]) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/v2") as client:
            yield client


async def start(camunda: httpx.AsyncClient, **variables: Any) -> str:
    body = {"processDefinitionId": "pay", "variables": variables}
    answer = await camunda.post("/process-instances", json=body)
    assert answer.status_code == 200, answer.text
    key: str = answer.json()["processInstanceKey"]
    return key


async def activate(camunda: httpx.AsyncClient, **more: Any) -> list[dict[str, Any]]:
    body = {**ACTIVATION, "requestTimeout": -1, **more}
    answer = await camunda.post("/jobs/activation", json=body)
    assert answer.status_code == 200, answer.text
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


async def test_a_job_comes_and_is_completed(camunda: httpx.AsyncClient) -> None:
    key = await start(camunda, order=BIG)
    [job] = await activate(camunda)
    assert (job["jobKey"], job["processDefinitionId"], job["retries"]) == (key, "pay", 3)
    assert job["variables"] == {"order": BIG}
    done = await camunda.post(f"/jobs/{key}/completion", json={"variables": {"b": 1}})
    assert (done.status_code, done.content) == (204, b"")
    again = await camunda.post(f"/jobs/{key}/completion")
    assert again.status_code == 404
    assert again.headers["content-type"] == "application/problem+json"
    assert key in again.json()["detail"]


async def test_a_failure_is_tried_again_or_an_incident(camunda: httpx.AsyncClient) -> None:
    key = await start(camunda)
    await activate(camunda)
    failed = await camunda.post(f"/jobs/{key}/failure", json={"errorMessage": "no"})
    assert failed.status_code == 204
    assert await activate(camunda) == []
    assert (await camunda.post(f"/jobs/{key}/completion")).status_code == 409
    change = {"changeset": {"retries": 2}}
    assert (await camunda.patch(f"/jobs/{key}", json=change)).status_code == 204
    assert (await camunda.post(f"/incidents/{key}/resolution")).status_code == 204
    assert [job["retries"] for job in await activate(camunda)] == [2]


async def test_variables_are_set_and_a_process_is_cancelled(camunda: httpx.AsyncClient) -> None:
    key = await start(camunda, a=1)
    body = {"variables": {"b": 2}}
    assert (await camunda.put(f"/element-instances/{key}/variables", json=body)).status_code == 204
    [job] = await activate(camunda)
    assert job["variables"] == {"a": 1, "b": 2}
    error = {"errorCode": "NO_MONEY"}
    assert (await camunda.post(f"/jobs/{key}/error", json=error)).status_code == 204
    assert (await camunda.post(f"/process-instances/{key}/cancellation")).status_code == 409


@on_one_store
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/jobs/activation", {**ACTIVATION, "timeout": 0}, 400),
        ("/jobs/activation", {**ACTIVATION, "type": ""}, 400),
        ("/jobs/activation", {"type": "pay"}, 400),
        ("/jobs/activation", {**ACTIVATION, "tenantIds": ["other"]}, 400),
        ("/jobs/77/completion", {}, 404),
        ("/jobs/none/completion", {}, 404),
        (f"/jobs/{'9' * 19}/completion", {}, 404),
        ("/jobs/77/completion", {"variables": [1]}, 400),
        ("/process-instances", {}, 400),
        ("/process-instances", {"processDefinitionKey": "7"}, 422),
        ("/process-instances", {"processDefinitionId": "a", "processDefinitionVersion": 7}, 404),
    ],
)
async def test_what_is_wrong_is_a_problem(
    camunda: httpx.AsyncClient, path: str, body: dict[str, Any], status: int
) -> None:
    answer = await camunda.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


async def test_long_numbers_may_be_texts(camunda: httpx.AsyncClient) -> None:
    body = {"processDefinitionId": "pay", "processDefinitionVersion": -1, "requestTimeout": "0"}
    key = (await camunda.post("/process-instances", json=body)).json()["processInstanceKey"]
    [job] = await activate(camunda, timeout="60000", requestTimeout="-1")
    assert job["jobKey"] == key
    failing = {"retries": 1, "retryBackOff": "0"}
    assert (await camunda.post(f"/jobs/{key}/failure", json=failing)).status_code == 204
    change = {"changeset": {"timeout": "100"}}
    await activate(camunda)
    assert (await camunda.patch(f"/jobs/{key}", json=change)).status_code == 204
    wrong = await camunda.post("/jobs/activation", json={**ACTIVATION, "timeout": "1 s"})
    assert (wrong.status_code, "`timeout`" in wrong.json()["detail"]) == (400, True)


async def test_the_topology_is_one_broker(camunda: httpx.AsyncClient) -> None:
    topology = (await camunda.get("/topology")).json()
    assert len(topology["brokers"]) == topology["partitionsCount"] == 1
