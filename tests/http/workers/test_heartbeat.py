"""BEAT: it extends leases, and its answer has directives for the worker."""

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    BEAT,
    JOBS,
    PROFILE,
    V1,
    WORKERS,
    Json,
    active_job,
    beat,
    body,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
    worker,
)

ADMIN = f"{V1}/admin/workers"


@pytest.mark.parametrize("path", [BEAT, f"{WORKERS}/beat"])
async def test_a_beat_of_a_stranger_is_welcome(client: httpx.AsyncClient, path: str) -> None:
    request = {"worker_id": "worker-1", "state": "running", **PROFILE}
    answer = body(await client.post(path, json=request))
    assert answer.pop("server_time") == answer.pop("last_heartbeat_at")
    assert answer == {
        "acknowledged": True,
        "worker_id": "worker-1",
        "state": "running",
        "directive": "",
        "visibility_timeout": 1800,
        "visibility_timeout_ms": 1_800_000,
        "jobs_extended": [],
        "jobs_lost": [],
        "cancelled_jobs": [],
        "registered": False,
    }
    assert (await beat(client))["registered"] is True
    shown = await worker(client)
    assert {name: shown[name] for name in PROFILE} == PROFILE


@pytest.mark.parametrize("member", ["active_job_ids", "active_jobs", "job_id"])
async def test_a_beat_keeps_the_jobs_that_it_lists(serve: Serve, member: str) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await active_job(client, visibility_timeout=60)
        hands.turn(seconds=50)
        listed: Json = {member: job["id"] if member == "job_id" else [job["id"]]}
        answer = await beat(client, **listed)
        assert answer["jobs_extended"] == [job["id"]]
        hands.turn(seconds=25)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        stored = await read(client, job["id"])
        assert stored["state"] == "active"
        assert stored["lease_expires_at"] == "2030-01-31T09:01:50Z"


async def test_a_beat_may_ask_for_another_duration(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        job = await active_job(client, visibility_timeout=60)
        await beat(client, active_job_ids=[job["id"]], visibility_timeout_ms=600_000)
        stored = await read(client, job["id"])
        assert stored["lease_expires_at"] == "2030-01-31T09:10:00Z"


async def test_a_count_of_jobs_is_no_list(client: httpx.AsyncClient) -> None:
    job = await active_job(client)
    answer = await beat(client, active_jobs=1, active_job_ids=[job["id"]])
    assert answer["jobs_extended"] == [job["id"]]
    assert (await beat(client, active_jobs=1))["jobs_extended"] == []


async def test_strange_and_cancelled_jobs_are_told_apart(client: httpx.AsyncClient) -> None:
    mine = await active_job(client, worker_id="worker-1")
    foreign = await active_job(client, worker_id="worker-2")
    cancelled = await active_job(client, worker_id="worker-1")
    await client.delete(f"{JOBS}/{cancelled['id']}")
    odd = ["", "no-uuid", "nul\0", "x" * 5000]
    listed = [mine["id"], foreign["id"], cancelled["id"], job_id(9), *odd]
    answer = await beat(client, active_job_ids=listed)
    assert answer["jobs_extended"] == [mine["id"]]
    assert answer["cancelled_jobs"] == [cancelled["id"]]
    assert answer["jobs_lost"] == [foreign["id"], job_id(9), *odd[:3], "x" * 100]


BAD_BEATS: list[tuple[Json, str]] = [
    ({}, "worker_id"),
    ({"worker_id": None}, "worker_id"),
    ({"worker_id": "a", "state": "resting"}, "state"),
    ({"worker_id": "a", "state": 5}, "state"),
    ({"worker_id": "a", "active_job_ids": "a"}, "active_job_ids"),
    ({"worker_id": "a", "active_job_ids": [5]}, "active_job_ids[0]"),
    ({"worker_id": "a", "active_job_ids": ["a"] * 10_001}, "active_job_ids"),
    ({"worker_id": "a", "active_jobs": -1}, "active_jobs"),
    ({"worker_id": "a", "active_jobs": "2"}, "active_jobs"),
    ({"worker_id": "a", "job_id": 5}, "job_id"),
    ({"worker_id": "a", "visibility_timeout_ms": -1}, "visibility_timeout_ms"),
    ({"worker_id": "a", "visibility_timeout_ms": 2**53}, "visibility_timeout_ms"),
    ({"worker_id": "a", "shutdown": "yes"}, "shutdown"),
]


async def test_a_bad_beat_names_its_field(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for request_body, field in BAD_BEATS:
        with subtests.test(request_body=request_body, field=field):
            refused(await client.post(BEAT, json=request_body), 400, "invalid_request", field)
            assert body(await client.get(WORKERS))["workers"] == []


@pytest.mark.parametrize(
    ("reported", "shutdown", "state"),
    [
        ("quiet", False, "quiet"),
        ("terminate", False, "terminate"),
        ("drain", False, "quiet"),
        ("draining", True, "terminate"),
        ("active", False, "running"),
        (None, None, "running"),
    ],
)
async def test_a_reported_state_is_answered_in_our_words(
    client: httpx.AsyncClient, reported: str | None, shutdown: bool | None, state: str
) -> None:
    answer = await beat(client, state=reported, shutdown=shutdown)
    assert answer["state"] == state
    assert answer["directive"] == ("" if state == "running" else state)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_ping_is_a_beat_for_workers_that_are_known(
    client: httpx.AsyncClient, method: str
) -> None:
    path = f"{WORKERS}/worker-1" + ("/ping" if method == "POST" else "")
    error = error_of(await client.request(method, path), 404, "not_found")
    assert error["details"] == {"resource_type": "worker", "resource_id": "worker-1"}
    await beat(client)
    answer = body(await client.request(method, path, json={"state": "quiet"}))
    assert answer["state"] == "quiet"
    request = {"worker_id": "worker-2"}
    response = await client.request(method, path, json=request)
    refused(response, 400, "invalid_request", "worker_id")


@pytest.mark.parametrize("word", ["quiet", "terminate"])
async def test_a_directive_reaches_the_worker_with_its_next_beat(
    client: httpx.AsyncClient, word: str
) -> None:
    await beat(client)
    answer = body(await client.post(f"{ADMIN}/worker-1/{word}"))
    assert answer == {"worker_id": "worker-1", "directive": word, "updated": 1}
    await enqueue(client)
    assert await fetch(client, worker_id="worker-1") == []
    assert (await beat(client))["state"] == word
    assert (await beat(client, state=word))["directive"] == word
    assert (await worker(client))["directive"] == word


async def test_only_resume_answers_running_to_a_quiet_worker(client: httpx.AsyncClient) -> None:
    assert (await beat(client, state="quiet"))["state"] == "quiet"
    await client.post(f"{ADMIN}/worker-1/resume", json={})
    assert (await beat(client, state="quiet"))["state"] == "running"
    assert (await beat(client, state="running"))["state"] == "running"
    assert (await worker(client))["directive"] is None


async def test_all_workers_are_told_at_once(client: httpx.AsyncClient) -> None:
    for name in ("worker-1", "worker-2", "worker-3"):
        await beat(client, name)
    await client.post(f"{WORKERS}/deregister", json={"worker_id": "worker-3"})
    answer = body(await client.post(f"{ADMIN}/directive", json={"directive": "quiet"}))
    assert answer == {"directive": "quiet", "updated": 2}
    assert (await beat(client, "worker-2"))["state"] == "quiet"


async def test_one_of_all_workers_is_told_by_its_id(client: httpx.AsyncClient) -> None:
    for name in ("worker-1", "worker-2"):
        await beat(client, name)
    one = {"directive": "quiet", "worker_id": "worker-1"}
    for more, state in (({"dry_run": True}, "running"), ({}, "quiet")):
        answer = body(await client.post(f"{ADMIN}/directive", json={**one, **more}))
        assert answer == {"directive": "quiet", "updated": 1, **more}
        assert (await beat(client, "worker-1"))["state"] == state
    assert (await beat(client, "worker-2"))["state"] == "running"
    for more in ({}, {"dry_run": True}):
        nobody = {**one, "worker_id": "nobody", **more}
        error_of(await client.post(f"{ADMIN}/directive", json=nobody), 404, "not_found")


@pytest.mark.parametrize("request_body", [{}, {"directive": None}, {"directive": "quite"}])
async def test_a_bad_directive_is_named(client: httpx.AsyncClient, request_body: Json) -> None:
    response = await client.post(f"{ADMIN}/directive", json=request_body)
    error = refused(response, 400, "invalid_request", "directive")
    if request_body.get("directive"):
        assert 'did you mean "quiet"?' in error["message"]


@pytest.mark.parametrize("word", ["quiet", "resume", "terminate"])
async def test_a_stranger_cannot_be_told_anything(client: httpx.AsyncClient, word: str) -> None:
    error_of(await client.post(f"{ADMIN}/nobody/{word}"), 404, "not_found")
    response = await client.post(f"{ADMIN}/a%0Ab/{word}")
    refused(response, 400, "invalid_request", "worker_id")


async def test_a_test_directive_lasts_for_one_beat_and_only_in_conformance_runs(
    serve: Serve,
) -> None:
    for conformance in (True, False):
        async with serve(conformance=conformance) as server, connect(server) as client:
            job = await enqueue(client, queue="q", meta={"test_directive": "quiet"})
            await fetch(client, ("q",), worker_id="worker-1")
            state = (await beat(client, active_job_ids=[job["id"]]))["state"]
            assert state == ("quiet" if conformance else "running")
            await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
            assert (await beat(client))["state"] == "running"
