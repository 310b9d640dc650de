"""Each error below /v2 is answered as a problem, with the titles that clients compare."""

import asyncio
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import parse_keys
from ojs_server.systems.zeebe.grpc.gateway import NOT_SERVED
from tests.http.conftest import Serve
from tests.http.keys import KEYS
from tests.systems.zeebe.conftest import Gateway
from tests.users_stores import on_one_store

pytestmark = on_one_store
PROBLEM = "application/problem+json"
ACTIVATION: dict[str, Any] = {"type": "pay", "timeout": 1000, "maxJobsToActivate": 1}
# Calls that are not served, with the call of the gateway that is refused by the same sentence.
SAME = [
    ("POST", "/deployments", "DeployResource"),
    ("POST", "/resources/7/deletion", "DeleteResource"),
    ("POST", "/messages/publication", "PublishMessage"),
    ("POST", "/messages/correlation", "PublishMessage"),
    ("POST", "/signals/broadcast", "BroadcastSignal"),
    ("POST", "/decision-definitions/evaluation", "EvaluateDecision"),
    ("POST", "/process-instances/7/modification", "ModifyProcessInstance"),
    ("POST", "/process-instances/7/migration", "MigrateProcessInstance"),
]
OTHERS = [
    ("POST", "/user-tasks/search"),
    ("GET", "/user-tasks/7"),
    ("PATCH", "/user-tasks/7/update"),
    ("POST", "/process-definitions/search"),
    ("POST", "/element-instances/search"),
    ("POST", "/variables/search"),
    ("GET", "/incidents/7"),
    ("POST", "/users/search"),
    ("GET", "/license"),
    ("GET", "/status"),
    ("PUT", "/clock"),
    ("POST", "/documents"),
]


def problem(answer: httpx.Response, status: int, title: str) -> str:
    """Require a problem, and return what it says."""
    assert answer.headers["content-type"] == PROBLEM, answer.text
    body = answer.json()
    assert (answer.status_code, body["status"], body["title"]) == (status, status, title)
    assert (body["type"], body["detail"] != "") == ("about:blank", True)
    detail: str = body["detail"]
    return detail


@pytest.mark.parametrize(("method", "path", "call"), SAME)
async def test_what_is_not_served_is_refused_as_by_the_gateway(
    rest: httpx.AsyncClient, method: str, path: str, call: str
) -> None:
    answer = await rest.request(method, f"/v2{path}", content=b"--x\r\n")
    assert problem(answer, 501, "UNIMPLEMENTED") == NOT_SERVED[call]


@pytest.mark.parametrize(("method", "path"), OTHERS)
async def test_what_else_is_not_served_says_what_to_use(
    rest: httpx.AsyncClient, method: str, path: str
) -> None:
    answer = await rest.request(method, f"/v2{path}")
    assert len(problem(answer, 501, "UNIMPLEMENTED").split()) > 3


@pytest.mark.parametrize("path", ["/v2", "/v2/", "/v2/none", "/v2/jobs/7/none", "/v2/topology/"])
async def test_an_unknown_path_is_a_problem(rest: httpx.AsyncClient, path: str) -> None:
    problem(await rest.get(path), 404, "NOT_FOUND")


async def test_a_wrong_method_is_a_problem(rest: httpx.AsyncClient) -> None:
    answer = await rest.get("/v2/jobs/activation")
    problem(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/v1/none", "/ojs/v1/none", "/v20"])
async def test_other_paths_keep_their_form(rest: httpx.AsyncClient, path: str) -> None:
    answer = await rest.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_without_the_profile_there_is_no_such_form(serve: Serve) -> None:
    async with serve(profile=PROFILES["ojs"]) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for path in ("/v2/jobs/activation", "/v2/license"):
                assert (await client.get(path)).json()["error"]["code"] == "not_found"


async def test_what_comes_before_the_handler_is_a_problem(serve: Serve) -> None:
    keys = parse_keys("", KEYS)
    async with serve(profile=PROFILES["zeebe"], keys=keys, max_body_bytes=1000) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            path = "/v2/jobs/activation"
            problem(await client.post(path, json=ACTIVATION), 401, "UNAUTHORIZED")
            own = {"Authorization": f"Bearer {KEYS['producer']}"}
            problem(await client.post(path, json=ACTIVATION, headers=own), 403, "FORBIDDEN")
            own = {"Authorization": f"Bearer {KEYS['worker']}"}
            large = {**ACTIVATION, "worker": "w" * 1000}
            answer = await client.post(path, json=large, headers=own)
            problem(answer, 413, "MAX_MESSAGE_SIZE_EXCEEDED")
            answer = await client.post(path, content=b"{", headers=own)
            problem(answer, 400, "INVALID_ARGUMENT")
            answer = await client.post(path, json={}, headers={**own, "Content-Type": "text/plain"})
            problem(answer, 400, "INVALID_ARGUMENT")
            # Calls that are not served need no key, as in the gateway.
            problem(await client.get("/v2/license"), 501, "UNIMPLEMENTED")


async def test_too_many_waiting_activations_are_back_pressure(
    serve_grpc: Any,
) -> None:
    async with serve_grpc(profile=PROFILES["zeebe"], max_streams=1) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            path = "/v2/jobs/activation"
            body = {**ACTIVATION, "requestTimeout": 30_000}
            waiting = asyncio.ensure_future(client.post(path, json=body))
            async with asyncio.timeout(10):
                while len(server.engine.wakeups) != 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            answer = await client.post(path, json=body)
            problem(answer, 503, "RESOURCE_EXHAUSTED")
            assert answer.headers["retry-after"] == "1"
            await client.post("/v2/process-instances", json={"processDefinitionId": "pay"})
            assert len((await waiting).json()["jobs"]) == 1


async def test_a_worker_needs_no_name(gate: Gateway, rest: httpx.AsyncClient) -> None:
    await gate.start()
    answer = await rest.post("/v2/jobs/activation", json=ACTIVATION)
    [job] = answer.json()["jobs"]
    assert (job["worker"], job["kind"], job["listenerEventType"]) == (
        "",
        "BPMN_ELEMENT",
        "UNSPECIFIED",
    )


async def test_all_versions_are_one(gate: Gateway, rest: httpx.AsyncClient) -> None:
    shown = (await rest.get("/v2/topology")).json()
    topology = await gate.stub.Topology()
    assert {
        shown["gatewayVersion"],
        shown["brokers"][0]["version"],
        topology.gatewayVersion,
        topology.brokers[0].version,
    } == {topology.gatewayVersion}
