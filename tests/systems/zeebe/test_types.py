"""Types as users of Zeebe spell them, on every road into the queue and out of it."""

from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from tests.grpc.conftest import connect
from tests.http.conftest import Serve
from tests.systems.zeebe.conftest import Gateway
from tests.users_stores import on_one_store

TYPES = ("getCustomer", "Send Email", "Überweisung: 7/8 €", "a@b")
WORKFLOW = "/ojs/v1/workflows"
OJS = pb.DESCRIPTOR.services_by_name["OJSService"]


def requests(kind: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Each road of HTTP, as the path and the body of a request for a job of a type."""
    job = {"type": kind, "args": []}
    chain = {"type": "chain", "steps": [{"type": "before", "args": []}, job]}
    entry = {"name": "daily", "expression": "@daily", "type": kind}
    return {
        "one": ("/ojs/v1/jobs", job),
        "batch": ("/ojs/v1/jobs/batch", {"jobs": [job, {**job, "priority": 1}]}),
        "uniform": ("/ojs/v1/jobs/batch", {"jobs": [job, job]}),
        "bulk": ("/ojs/v1/jobs/bulk", {"jobs": [job]}),
        "group": (WORKFLOW, {"type": "group", "jobs": [job]}),
        "chain": (WORKFLOW, chain),
        "cron": ("/ojs/v1/cron", entry),
    }


async def fetch(rest: httpx.AsyncClient, kind: str) -> list[dict[str, Any]]:
    """Return the jobs of a FETCH."""
    answer = await rest.post("/ojs/v1/workers/fetch", json={"job_types": [kind], "count": 9})
    assert answer.status_code == 200, answer.text
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


async def settle(rest: httpx.AsyncClient, job_id: str) -> None:
    answer = await rest.post("/ojs/v1/workers/ack", json={"job_id": job_id, "result": {}})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("kind", TYPES)
async def test_every_road_leads_to_both_kinds_of_workers(
    gate: Gateway, rest: httpx.AsyncClient, kind: str
) -> None:
    for road, (path, body) in requests(kind).items():
        answer = await rest.post(path, json=body)
        assert answer.is_success, (road, answer.text)
        if road == "chain":
            [job] = await fetch(rest, "before")
            await settle(rest, job["id"])
        if road == "cron":
            await rest.post("/ojs/v1/cron/daily/trigger")
        jobs = await fetch(rest, kind)
        assert {job["type"] for job in jobs} == {kind}, road
        for job in jobs:
            await rest.post("/ojs/v1/workers/nack", json={"job_id": job["id"], "requeue": True})
        activated = await gate.take(kind)
        assert len(activated) == len(jobs) > 0, road
        assert {one.type for one in activated} == {kind}
        for one in activated:
            await gate.stub.CompleteJob(jobKey=one.key)
    key = await gate.start(kind)
    [job] = await fetch(rest, kind)
    assert (job["type"], await gate.take(kind)) == (kind, [])
    await settle(rest, job["id"])
    shown = (await rest.get("/ojs/v1/jobs", params={"type": kind})).json()["jobs"]
    assert {job["type"] for job in shown} == {kind}
    assert (await gate.stub.refused("CompleteJob", jobKey=key))[0].name == "NOT_FOUND"


async def test_ojs_over_grpc_takes_them(gate: Gateway, rest: httpx.AsyncClient) -> None:
    async with connect(gate.server, OJS) as ojs:
        for kind in TYPES:
            made = await ojs.Enqueue(type=kind)
            [job] = await fetch(rest, kind)
            assert (job["id"], job["type"]) == (made.job.id, kind)


async def test_a_version_behind_a_type_is_one_to_ojs_alone(
    gate: Gateway, rest: httpx.AsyncClient
) -> None:
    await rest.post("/ojs/v1/jobs", json={"type": "pay@2.0", "args": []})
    key = await gate.start("pay@2.0")
    [whole] = await gate.take("pay@2.0")
    assert whole.key == key
    [named] = await gate.take("pay")
    assert named.key != key
    manifest = (await rest.get("/ojs/manifest")).json()
    assert manifest["capabilities"]["any_job_type"] is True
    assert "type@version" in manifest["extensions_detail"]["urn:ojs-server:ext:zeebe"]


@on_one_store
@pytest.mark.parametrize("kind", ["", "  ", "a\tb", "x" * 256, "a\0b"])
async def test_what_cannot_be_printed_is_no_type(rest: httpx.AsyncClient, kind: str) -> None:
    for road, (path, body) in requests(kind).items():
        answer = await rest.post(path, json=body)
        # A bulk request answers each of its jobs.
        if road == "bulk":
            assert answer.json()["failed"] == 1, answer.text
        else:
            assert answer.status_code == 400, (road, answer.text)


@on_one_store
async def test_other_profiles_keep_the_rule_of_names(serve: Serve) -> None:
    async with serve(profile=PROFILES["ojs"]) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for kind in TYPES:
                for road, (path, body) in requests(kind).items():
                    answer = await client.post(path, json=body)
                    refused = answer.json().get("failed") == 1 or answer.status_code == 400
                    assert refused, (road, answer.text)
                body = {"job_types": [kind]}
                assert (await client.post("/ojs/v1/workers/fetch", json=body)).status_code == 400
            manifest = (await client.get("/ojs/manifest")).json()
            assert "any_job_type" not in manifest["capabilities"]
