"""`gateway_protocol.Gateway`: each of its calls, on both stores."""

import asyncio
import json
from typing import Any

import pytest
from google.protobuf.descriptor import ServiceDescriptor
from grpc import StatusCode, aio

from ojs_server.domain.profile import PROFILES
from ojs_server.grpc.health import NOT_SERVING, SERVING
from ojs_server.http.access.keys import parse_keys
from ojs_server.systems.zeebe.grpc.gateway import BEHAVIOURS, NOT_SERVED, SERVICE
from ojs_server.systems.zeebe.grpc.proto import zeebe_pb2 as pb
from tests.grpc.conftest import Serve, connect
from tests.http.clock import Hands
from tests.http.keys import KEYS
from tests.systems.zeebe.conftest import Gateway
from tests.users_stores import on_one_store

BIG = 9_223_372_036_854_775_807
ODD = "Charge card: ÄÖ / 7"


def names(service: ServiceDescriptor) -> list[str]:
    return sorted(method.name for method in service.methods)


def test_every_call_is_served_or_refused_with_a_sentence() -> None:
    assert sorted(BEHAVIOURS) == names(SERVICE)
    assert NOT_SERVED.keys().isdisjoint(BEHAVIOURS)


async def test_the_topology_is_one_broker_with_a_partition(gate: Gateway) -> None:
    topology = await gate.stub.Topology()
    [broker] = topology.brokers
    assert topology.gatewayVersion == broker.version
    assert broker.version.startswith("8.")
    assert broker.port == gate.server.ports.grpc
    assert [one.role for one in broker.partitions] == [pb.Partition.LEADER]
    assert topology.clusterSize == topology.partitionsCount == topology.replicationFactor == 1


@pytest.mark.parametrize("process", ["pay", "order.pay", ODD, "a b", "X", "kind.x"])
async def test_a_process_is_a_job_whose_type_is_its_id(gate: Gateway, process: str) -> None:
    made = await gate.stub.CreateProcessInstance(bpmnProcessId=process, variables='{"n":1}')
    job = await gate.one(process)
    assert (job.type, job.bpmnProcessId) == (process, process)
    assert job.key == job.processInstanceKey == job.elementInstanceKey == made.processInstanceKey
    assert job.processDefinitionKey == made.processDefinitionKey > 0
    assert (made.bpmnProcessId, made.version, made.tenantId) == (process, 1, "<default>")
    assert (job.worker, job.retries, job.customHeaders) == ("w", 3, "{}")
    assert job.deadline == gate.hands() + 60_000
    assert json.loads(job.variables) == {"n": 1}


async def test_keys_rise(gate: Gateway) -> None:
    keys = [await gate.start() for _ in range(3)]
    assert keys == sorted(set(keys))
    assert [job.key for job in await gate.take()] == keys


async def test_numbers_keep_their_digits(gate: Gateway) -> None:
    text = f'{{"order":{BIG},"deep":{{"list":[{BIG},1.5]}}}}'
    await gate.stub.CreateProcessInstance(bpmnProcessId="pay", variables=text)
    assert (await gate.one()).variables == text


async def test_variables_are_chosen_by_name(gate: Gateway) -> None:
    await gate.start(a=1, b=2)
    job = await gate.one(fetchVariable=["b", "none"])
    assert json.loads(job.variables) == {"b": 2}


async def test_a_waiting_call_is_answered_as_soon_as_there_is_a_job(gate: Gateway) -> None:
    taking = asyncio.ensure_future(gate.take(wait_ms=30_000))
    await gate.waits(1)
    key = await gate.start()
    assert [job.key for job in await taking] == [key]


async def test_a_wait_that_ends_answers_nothing(gate: Gateway) -> None:
    assert await gate.take(wait_ms=1) == []


async def test_a_call_that_was_left_takes_no_job(gate: Gateway) -> None:
    stream = gate.stub.ActivateJobs(
        type="pay", worker="w", timeout=1000, maxJobsToActivate=1, requestTimeout=30_000
    )
    reading = asyncio.ensure_future(stream.read())
    await gate.waits(1)
    stream.cancel()
    await gate.waits(0)
    key = await gate.start()
    assert (await gate.one()).key == key
    with pytest.raises(asyncio.CancelledError):
        await reading


@on_one_store
@pytest.mark.parametrize(
    "wrong",
    [
        {"type": ""},
        {"type": "  "},
        {"worker": ""},
        {"timeout": 0},
        {"timeout": -1},
        {"maxJobsToActivate": 0},
        {"tenantIds": ["other"]},
    ],
    ids=str,
)
async def test_a_wrong_activation_is_refused(gate: Gateway, wrong: dict[str, Any]) -> None:
    right = {"type": "pay", "worker": "w", "timeout": 1000, "maxJobsToActivate": 1}
    status, message = await gate.stub.refused("ActivateJobs", **{**right, **wrong})
    assert status is StatusCode.INVALID_ARGUMENT
    assert next(iter(wrong)) in message


async def test_workers_have_any_name(gate: Gateway) -> None:
    await gate.start()
    job = await gate.one(worker="a/b ü\n")
    assert job.worker == "a/b ü\n"


async def test_a_completion_merges_variables(gate: Gateway) -> None:
    creating = asyncio.ensure_future(
        gate.stub.CreateProcessInstanceWithResult(
            request=pb.CreateProcessInstanceRequest(
                bpmnProcessId="pay", variables=f'{{"a":{BIG},"b":1}}'
            ),
            requestTimeout=10_000,
        )
    )
    job = await gate.one(wait_ms=10_000)
    await gate.stub.CompleteJob(jobKey=job.key, variables='{"b":2,"c":3}')
    answer = await creating
    assert answer.variables == f'{{"a":{BIG},"b":2,"c":3}}'
    assert answer.processInstanceKey == job.key
    again = await gate.stub.refused("CompleteJob", jobKey=job.key)
    assert again[0] is StatusCode.NOT_FOUND


async def test_a_result_is_waited_for_within_its_time(gate: Gateway) -> None:
    request = pb.CreateProcessInstanceRequest(bpmnProcessId="pay")
    status, message = await gate.stub.refused(
        "CreateProcessInstanceWithResult", request=request, requestTimeout=1
    )
    assert status is StatusCode.DEADLINE_EXCEEDED
    assert "has not ended" in message


async def test_results_are_chosen_by_name(gate: Gateway) -> None:
    request = pb.CreateProcessInstanceRequest(bpmnProcessId="pay", variables='{"a":1,"b":2}')
    creating = asyncio.ensure_future(
        gate.stub.CreateProcessInstanceWithResult(request=request, fetchVariables=["b"])
    )
    job = await gate.one(wait_ms=10_000)
    await gate.stub.CompleteJob(jobKey=job.key)
    assert json.loads((await creating).variables) == {"b": 2}


async def test_a_late_completion_counts_while_nobody_elses_does(gate: Gateway) -> None:
    key = await gate.start()
    await gate.one(worker="first")
    await gate.later(61)
    second = await gate.one(worker="second")
    # The end of a timeout costs no retry.
    assert (second.key, second.retries) == (key, 3)
    await gate.later(61)
    await gate.stub.CompleteJob(jobKey=key)
    assert (await gate.stub.refused("CompleteJob", jobKey=key))[0] is StatusCode.NOT_FOUND


async def test_a_late_failure_is_refused(gate: Gateway) -> None:
    key = await gate.start()
    await gate.one()
    await gate.later(61)
    status, message = await gate.stub.refused("FailJob", jobKey=key, retries=1)
    assert status is StatusCode.FAILED_PRECONDITION
    assert "not activated any more" in message


async def test_a_failure_sets_the_retries(gate: Gateway) -> None:
    key = await gate.start(a=1)
    await gate.one()
    await gate.stub.FailJob(jobKey=key, retries=7, errorMessage="no", variables='{"b":2}')
    await gate.later(0)
    job = await gate.one()
    assert (job.key, job.retries) == (key, 7)
    assert json.loads(job.variables) == {"a": 1, "b": 2}


async def test_a_failure_backs_off(gate: Gateway) -> None:
    key = await gate.start()
    await gate.one()
    await gate.stub.FailJob(jobKey=key, retries=1, retryBackOff=5000)
    await gate.later(4.9)
    assert await gate.take() == []
    await gate.later(0.2)
    assert (await gate.one()).retries == 1


@pytest.mark.parametrize("retries", [0, -1])
async def test_without_retries_it_is_an_incident(gate: Gateway, retries: int) -> None:
    key = await gate.start()
    await gate.one()
    await gate.stub.FailJob(jobKey=key, retries=retries, errorMessage="no card")
    await gate.later(600)
    assert await gate.take() == []
    status, message = await gate.stub.refused("CompleteJob", jobKey=key)
    assert status is StatusCode.FAILED_PRECONDITION
    assert "incident" in message
    await gate.stub.UpdateJobRetries(jobKey=key, retries=2)
    await gate.stub.ResolveIncident(incidentKey=key)
    job = await gate.one()
    assert (job.key, job.retries) == (key, 2)


async def test_an_error_of_the_business_is_an_incident_with_its_code(gate: Gateway) -> None:
    key = await gate.start()
    await gate.one()
    await gate.stub.ThrowError(jobKey=key, errorCode="NO_MONEY", errorMessage="broke")
    page = await gate.server.engine.read(lambda reader: reader.job_numbered(key))
    assert page is not None
    found = await gate.server.engine.read(lambda reader: reader.job(page))
    assert found is not None
    error = json.loads(found[0].job.error or b"{}")
    assert (error["code"], error["message"], error["retryable"]) == ("NO_MONEY", "broke", False)
    status, _ = await gate.stub.refused("ThrowError", jobKey=key, errorCode="X")
    assert status is StatusCode.FAILED_PRECONDITION
    await gate.stub.ResolveIncident(incidentKey=key)
    assert (await gate.one()).key == key


async def test_a_timeout_counts_from_now(gate: Gateway) -> None:
    key = await gate.start()
    await gate.one()
    await gate.later(50)
    await gate.stub.UpdateJobTimeout(jobKey=key, timeout=60_000)
    await gate.later(50)
    assert await gate.take() == []
    await gate.later(11)
    assert (await gate.one()).key == key


async def test_retries_are_set_while_the_job_waits(gate: Gateway) -> None:
    key = await gate.start()
    await gate.stub.UpdateJobRetries(jobKey=key, retries=9)
    assert (await gate.one()).retries == 9


async def test_variables_are_set_for_the_next_delivery(gate: Gateway) -> None:
    key = await gate.start(a=1, b=1)
    answer = await gate.stub.SetVariables(elementInstanceKey=key, variables='{"b":2}')
    assert answer.key == key
    assert json.loads((await gate.one()).variables) == {"a": 1, "b": 2}


async def test_an_instance_is_cancelled(gate: Gateway) -> None:
    key = await gate.start()
    await gate.stub.CancelProcessInstance(processInstanceKey=key)
    assert await gate.take() == []
    status, _ = await gate.stub.refused("CancelProcessInstance", processInstanceKey=key)
    assert status is StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("CompleteJob", {"jobKey": 77}),
        ("CompleteJob", {"jobKey": -5}),
        ("FailJob", {"jobKey": BIG, "retries": 1}),
        ("ThrowError", {"jobKey": 77, "errorCode": "x"}),
        ("UpdateJobRetries", {"jobKey": 77, "retries": 1}),
        ("UpdateJobTimeout", {"jobKey": 77, "timeout": 1}),
        ("ResolveIncident", {"incidentKey": 77}),
        ("CancelProcessInstance", {"processInstanceKey": 77}),
        ("SetVariables", {"elementInstanceKey": 77, "variables": "{}"}),
        ("CreateProcessInstance", {"bpmnProcessId": "pay", "version": 9}),
    ],
)
async def test_what_is_not_there_is_not_found(
    gate: Gateway, name: str, members: dict[str, Any]
) -> None:
    assert (await gate.stub.refused(name, **members))[0] is StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("CompleteJob", {"variables": '{"a":'}),
        ("CompleteJob", {"variables": "[1]"}),
        ("FailJob", {"retries": 1, "variables": "nope"}),
        ("FailJob", {"retries": 1, "retryBackOff": -1}),
        ("FailJob", {"retries": 100_000}),
        ("ThrowError", {"errorCode": "x", "variables": '{"a":18446744073709551616}'}),
        ("ThrowError", {}),
        ("UpdateJobRetries", {"retries": 0}),
        ("UpdateJobTimeout", {"timeout": 0}),
    ],
)
async def test_what_is_wrong_is_refused_and_changes_nothing(
    gate: Gateway, name: str, members: dict[str, Any]
) -> None:
    key = await gate.start()
    await gate.one()
    status, message = await gate.stub.refused(name, jobKey=key, **members)
    assert status is StatusCode.INVALID_ARGUMENT
    assert "`" in message
    await gate.stub.CompleteJob(jobKey=key)


@on_one_store
@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({}, StatusCode.INVALID_ARGUMENT),
        ({"bpmnProcessId": "a", "variables": "x"}, StatusCode.INVALID_ARGUMENT),
        ({"processDefinitionKey": 7}, StatusCode.FAILED_PRECONDITION),
    ],
)
async def test_a_process_that_cannot_be_started_is_refused(
    gate: Gateway, members: dict[str, Any], status: StatusCode
) -> None:
    assert (await gate.stub.refused("CreateProcessInstance", **members))[0] is status


async def test_a_stream_pushes_jobs_until_it_is_left(gate: Gateway) -> None:
    first = await gate.start()
    stream = gate.stub.StreamActivatedJobs(type="pay", worker="w", timeout=60_000)
    assert (await stream.read()).key == first
    second = await gate.start()
    assert (await stream.read()).key == second
    await gate.waits(1)
    stream.cancel()
    await gate.waits(0)
    third = await gate.start()
    assert (await gate.one()).key == third


async def test_a_stop_ends_what_waits(gate: Gateway) -> None:
    taking = asyncio.ensure_future(gate.take(wait_ms=30_000))
    stream = gate.stub.StreamActivatedJobs(type="pay", worker="w", timeout=1000)
    pushed = asyncio.ensure_future(stream.read())
    await gate.waits(2)
    gate.server.begin_stop()
    assert await taking == []
    with pytest.raises(aio.AioRpcError) as caught:
        await pushed
    assert caught.value.code() is StatusCode.UNAVAILABLE


async def test_calls_that_wait_beyond_the_limit_are_refused(serve_grpc: Serve) -> None:
    async with (
        serve_grpc(profile=PROFILES["zeebe"], max_streams=1) as server,
        connect(server, SERVICE) as stub,
    ):
        gate = Gateway(server, stub, Hands())
        taking = asyncio.ensure_future(gate.take(wait_ms=30_000))
        await gate.waits(1)
        status, message = await stub.refused(
            "ActivateJobs", type="pay", worker="w", timeout=1000, maxJobsToActivate=1
        )
        assert status is StatusCode.RESOURCE_EXHAUSTED
        assert "wait here already" in message
        taking.cancel()


@on_one_store
@pytest.mark.parametrize("name", NOT_SERVED)
async def test_what_needs_an_engine_says_what_to_use_instead(gate: Gateway, name: str) -> None:
    async with aio.insecure_channel(f"127.0.0.1:{gate.server.ports.grpc}") as channel:
        call: Any = channel.unary_unary(f"/{SERVICE.full_name}/{name}")
        with pytest.raises(aio.AioRpcError) as caught:
            await call(b"\x0a\x01x")
    assert caught.value.code() is StatusCode.UNIMPLEMENTED
    assert "BPMN engine" in (caught.value.details() or "")


async def test_keys_and_tenants_are_those_of_http(serve_grpc: Serve) -> None:
    async with serve_grpc(profile=PROFILES["zeebe"], keys=parse_keys("", KEYS)) as server:
        async with connect(server, SERVICE) as stub:
            assert (await stub.Topology()).clusterSize == 1
            refused = await stub.refused("CompleteJob", jobKey=1)
            assert refused[0] is StatusCode.UNAUTHENTICATED
        admin = f"Bearer {KEYS['admin']}"
        async with connect(server, SERVICE, authorization=admin) as stub:
            key = await Gateway(server, stub, Hands()).start()
        other = {"x-ojs-tenant": "acme", "authorization": admin}
        async with connect(server, SERVICE, **other) as stub:
            refused = await stub.refused("CancelProcessInstance", processInstanceKey=key)
            assert refused[0] is StatusCode.NOT_FOUND
            assert await Gateway(server, stub, Hands()).take() == []


async def test_health_tells_whether_the_server_takes_work(gate: Gateway) -> None:
    async with aio.insecure_channel(f"127.0.0.1:{gate.server.ports.grpc}") as channel:
        check: Any = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert await check(b"") == SERVING
        gate.server.begin_stop()
        assert await check(b"\x0a\x01x") == NOT_SERVING
