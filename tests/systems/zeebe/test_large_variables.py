"""Jobs with many variables end, or wait until somebody has resolved their incident."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from grpc import StatusCode

from tests.systems.zeebe.conftest import Gateway

OF_THE_PROCESS = {"a": "x" * 900_000}
OF_THE_COMPLETION = {"b": "y" * 300_000}
TOO_MANY = json.dumps({"b": "y" * 1_100_000})


async def test_a_completion_counts_by_its_own_variables(gate: Gateway) -> None:
    creating = asyncio.ensure_future(
        gate.stub.CreateProcessInstanceWithResult(
            request={"bpmnProcessId": "pay", "variables": json.dumps(OF_THE_PROCESS)}
        )
    )
    job = await gate.one(wait_ms=10_000)
    await gate.stub.CompleteJob(jobKey=job.key, variables=json.dumps(OF_THE_COMPLETION))
    assert json.loads((await creating).variables) == {**OF_THE_PROCESS, **OF_THE_COMPLETION}


async def test_the_result_of_a_job_is_what_its_completion_brought(
    gate: Gateway, rest: httpx.AsyncClient
) -> None:
    made = await rest.post("/ojs/v1/jobs", json={"type": "pay", "args": [{"a": 1, "b": 1}]})
    job = await gate.one()
    await gate.stub.CompleteJob(jobKey=job.key, variables='{"b":2}')
    shown = (await rest.get(f"/ojs/v1/jobs/{made.json()['job']['id']}")).json()
    assert shown["job"]["result"] == {"b": 2}


async def test_later_steps_have_the_variables_of_all_steps_before(
    gate: Gateway, rest: httpx.AsyncClient
) -> None:
    steps: list[Any] = [{"type": name, "args": []} for name in ("first", "second", "third")]
    await rest.post("/ojs/v1/workflows", json={"type": "chain", "steps": steps})
    for name in ("first", "second"):
        job = await gate.one(name)
        await gate.stub.CompleteJob(jobKey=job.key, variables=json.dumps({name: 1, "last": name}))
    third = await gate.one("third")
    assert json.loads(third.variables) == {"first": 1, "second": 1, "last": "second"}


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_completion_that_is_too_large_is_an_incident(gate: Gateway, is_late: bool) -> None:
    key = await gate.start()
    await gate.one()
    if is_late:
        await gate.later(61)
    status, message = await gate.stub.refused("CompleteJob", jobKey=key, variables=TOO_MANY)
    assert status is StatusCode.RESOURCE_EXHAUSTED
    assert f"job {key} is an incident" in message
    await gate.later(3600)
    assert await gate.take() == []
    again = await gate.stub.refused("CompleteJob", jobKey=key)
    assert again[0] is StatusCode.FAILED_PRECONDITION
    await gate.stub.ResolveIncident(incidentKey=key)
    assert (await gate.one()).key == key
    await gate.stub.CompleteJob(jobKey=key)


async def test_a_job_that_was_never_held_is_no_incident(gate: Gateway) -> None:
    key = await gate.start()
    refused = await gate.stub.refused("CompleteJob", jobKey=key, variables=TOO_MANY)
    assert refused[0] is StatusCode.FAILED_PRECONDITION
    assert (await gate.one()).key == key


async def test_a_completion_of_another_worker_outlasts_one_that_is_too_large(
    gate: Gateway,
) -> None:
    key = await gate.start()
    await gate.one()
    await gate.stub.CompleteJob(jobKey=key)
    refused = await gate.stub.refused("CompleteJob", jobKey=key, variables=TOO_MANY)
    assert refused[0] is StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("name", "members"),
    [("FailJob", {"retries": 3}), ("ThrowError", {"errorCode": "NO_MONEY"})],
)
async def test_a_failure_whose_variables_do_not_fit_is_an_incident(
    gate: Gateway, name: str, members: dict[str, Any]
) -> None:
    key = await gate.start(**OF_THE_PROCESS)
    await gate.one()
    more = json.dumps(OF_THE_COMPLETION)
    status, message = await gate.stub.refused(name, jobKey=key, variables=more, **members)
    assert status is StatusCode.RESOURCE_EXHAUSTED
    assert f"job {key} is an incident" in message
    await gate.later(3600)
    assert await gate.take() == []
    await gate.stub.ResolveIncident(incidentKey=key)
    assert json.loads((await gate.one()).variables) == OF_THE_PROCESS


async def test_camundas_clients_are_told_the_same(gate: Gateway, rest: httpx.AsyncClient) -> None:
    key = await gate.start()
    await gate.one()
    body = {"variables": json.loads(TOO_MANY)}
    answer = await rest.post(f"/v2/jobs/{key}/completion", json=body)
    assert (answer.status_code, answer.json()["title"]) == (413, "MAX_MESSAGE_SIZE_EXCEEDED")
    found = (await rest.post("/v2/incidents/search", json={})).json()["items"]
    assert [(one["jobKey"], one["errorType"]) for one in found] == [
        (str(key), "MESSAGE_SIZE_EXCEEDED")
    ]
