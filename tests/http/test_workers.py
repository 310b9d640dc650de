"""Workers: register, BEAT, directives, goodbye, and what is seen of them."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    JOBS,
    V1,
    WORKERS,
    Json,
    active_job,
    body,
    enqueue,
    error_of,
    fetch,
    job_id,
    read,
    refused,
)

BEAT = f"{WORKERS}/heartbeat"
ADMIN = f"{V1}/admin/workers"
PROFILE: Json = {
    "hostname": "node-7",
    "pid": 4711,
    "queues": ["critical", "email"],
    "concurrency": 10,
    "labels": ["region:us-east-1", "canary"],
    "job_types": ["email.send"],
    "version": "2.1.0",
    "started_at": "2030-01-31T08:59:00Z",
    "metadata": {"zone": "b", "nul": "\0", "deep": [{}]},
}


async def beat(client: httpx.AsyncClient, worker_id: str = "worker-1", **more: Any) -> Json:
    response = await client.post(BEAT, json={"worker_id": worker_id, **more})
    assert response.status_code == 200, response.text
    return body(response)


async def worker(client: httpx.AsyncClient, worker_id: str = "worker-1") -> Json:
    response = await client.get(f"{WORKERS}/{worker_id}")
    assert response.status_code == 200, response.text
    shown: Json = body(response)["worker"]
    return shown


async def test_registering_answers_the_intervals(client: httpx.AsyncClient) -> None:
    response = await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1", **PROFILE})
    answer = body(response)
    assert answer.pop("server_time")
    assert answer == {
        "ok": True,
        "worker_id": "worker-1",
        "state": "running",
        "heartbeat_interval": 5,
        "heartbeat_timeout": 30,
        "visibility_timeout_default": 1800,
    }
    # Clients in typed languages decode these as integers.
    assert '"visibility_timeout_default":1800}' in response.text
    shown = await worker(client)
    assert {name: shown[name] for name in PROFILE} == PROFILE
    assert shown["incarnation"] == 1
    assert shown["presence"] == "online"
    assert shown["registered"] is True
    assert shown["last_heartbeat_at"] is None


async def test_a_worker_without_an_id_gets_one(client: httpx.AsyncClient) -> None:
    ids = {body(await client.post(f"{WORKERS}/register", json={}))["worker_id"] for _ in range(2)}
    assert len(ids) == 2
    assert {one["id"] for one in body(await client.get(WORKERS))["workers"]} == ids


async def test_registering_again_starts_over(client: httpx.AsyncClient) -> None:
    await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1", **PROFILE})
    await client.post(f"{ADMIN}/worker-1/terminate")
    await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1", "pid": 1})
    shown = await worker(client)
    assert shown["incarnation"] == 2
    assert shown["directive"] is None
    assert shown["pid"] == 1
    assert "hostname" not in shown


BAD_PROFILES: list[tuple[str, Any]] = [
    ("worker_id", ""),
    ("worker_id", "a\0b"),
    ("worker_id", "a\nb"),
    ("worker_id", "a/b"),
    ("worker_id", "\u200b"),
    ("worker_id", "w" * 256),
    ("worker_id", "fetch"),
    ("worker_id", 5),
    ("hostname", "h" * 256),
    ("hostname", 5),
    ("pid", -1),
    ("pid", 2**64 - 1),
    ("pid", "1"),
    ("queues", "email"),
    ("queues", ["a"] * 101),
    ("concurrency", -1),
    ("concurrency", 1.5),
    ("labels", {"a": "b"}),
    ("labels", ["l"] * 101),
    ("job_types", 5),
    ("version", "v" * 256),
    ("started_at", 5),
    ("metadata", []),
]


async def test_a_bad_profile_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for member, value in BAD_PROFILES:
        with subtests.test(member=member, value=value):
            for path in (f"{WORKERS}/register", BEAT):
                response = await client.post(path, json={"worker_id": "worker-1", member: value})
                refused(response, 400, "invalid_request", member)
            assert body(await client.get(WORKERS))["workers"] == []


async def test_items_and_metadata_are_bounded(client: httpx.AsyncClient) -> None:
    for member in ("queues", "labels", "job_types"):
        request = {"worker_id": "worker-1", member: ["a", "l" * 256]}
        refused(await client.post(BEAT, json=request), 400, "invalid_request", f"{member}[1]")
    large: Json = {"worker_id": "worker-1", "metadata": {"a": "x" * 65_536}}
    refused(await client.post(BEAT, json=large), 413, "payload_too_large", "metadata")
    assert body(await client.get(WORKERS))["workers"] == []


@pytest.mark.parametrize(
    "worker_id", ["w", "ünïcode-😀", "host:1/2".replace("/", "|"), "a b", "'\""]
)
async def test_any_printable_id_is_kept(client: httpx.AsyncClient, worker_id: str) -> None:
    assert (await beat(client, worker_id))["worker_id"] == worker_id
    job = await active_job(client, worker_id=worker_id)
    assert job["worker_id"] == worker_id
    (shown,) = body(await client.get(WORKERS))["workers"]
    assert shown["id"] == worker_id
    assert shown["active_job_ids"] == [job["id"]]


async def test_a_profile_with_nul_characters_is_kept(client: httpx.AsyncClient) -> None:
    odd: Json = {"hostname": "a\0b", "labels": ["\0"], "queues": ["\0"], "version": "\0"}
    await beat(client, **odd)
    shown = await worker(client)
    assert {name: shown[name] for name in odd} == odd


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
        await server.engine.run(Sweep(judged_since=0, asked_at=hands()))
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


@pytest.mark.parametrize("request_body", [{}, {"directive": None}, {"directive": "quite"}])
async def test_a_bad_directive_is_named(client: httpx.AsyncClient, request_body: Json) -> None:
    response = await client.post(f"{ADMIN}/directive", json=request_body)
    error = refused(response, 400, "invalid_request", "directive")
    if request_body.get("directive"):
        assert 'did you mean "quiet"?' in error["message"]


@pytest.mark.parametrize("word", ["quiet", "resume", "terminate"])
async def test_a_stranger_cannot_be_told_anything(client: httpx.AsyncClient, word: str) -> None:
    error_of(await client.post(f"{ADMIN}/nobody/{word}"), 404, "not_found")
    response = await client.post(f"{ADMIN}/a%00b/{word}")
    refused(response, 400, "invalid_request", "worker_id")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/deregister"), ("POST", "/worker-1/unregister"), ("DELETE", "/worker-1")],
)
async def test_goodbye_gives_the_jobs_back(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    await beat(client)
    job = await active_job(client, worker_id="worker-1")
    request = {"worker_id": "worker-1", "reason": "shutdown\0"}
    response = await client.request(method, WORKERS + path, json=request)
    answer = body(response)
    assert (answer["worker_id"], answer["state"]) == ("worker-1", "terminated")
    stored = await read(client, job["id"])
    assert stored["state"] == "available"
    assert stored["error"]["type"] == "shutdown"
    shown = await worker(client)
    assert (shown["state"], shown["presence"]) == ("terminated", "offline")
    assert shown["terminated_at"] is not None
    again = await client.request(method, WORKERS + path, json=request)
    assert again.status_code == 200


async def test_a_stranger_cannot_say_goodbye(client: httpx.AsyncClient) -> None:
    request = {"worker_id": "nobody"}
    error_of(await client.post(f"{WORKERS}/deregister", json=request), 404, "not_found")
    refused(
        await client.post(f"{WORKERS}/deregister", json={}), 400, "invalid_request", "worker_id"
    )


async def test_a_silent_worker_is_taken_for_dead_and_may_come_back(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await beat(client)
        job = await active_job(client, worker_id="worker-1")
        hands.turn(seconds=31)
        swept = await server.engine.run(Sweep(judged_since=0, asked_at=hands()))
        assert swept.dead == 1
        stored = await read(client, job["id"])
        assert (stored["state"], stored["error"]["type"]) == ("available", "worker_death")
        assert (await worker(client))["state"] == "terminated"
        answer = await beat(client, active_job_ids=[job["id"]])
        assert answer["jobs_lost"] == [job["id"]]
        assert (await worker(client))["incarnation"] == 2


async def test_workers_are_listed_newest_first_and_filtered(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        profiles: list[Json] = [{}, {"state": "quiet"}, {"labels": ["x"], "queues": ["q"]}]
        for number, more in enumerate(profiles):
            await beat(client, f"worker-{number}", **more)
            hands.turn(seconds=1)

        async def listed(query: str) -> list[str]:
            answer = body(await client.get(f"{WORKERS}?{query}"))
            return [one["id"] for one in answer["workers"]]

        assert await listed("") == ["worker-2", "worker-1", "worker-0"]
        assert await listed("state=quiet") == ["worker-1"]
        assert await listed("state=&queue=&label=&presence=") == [
            "worker-2",
            "worker-1",
            "worker-0",
        ]
        assert await listed("label=x") == await listed("queue=q") == ["worker-2"]
        assert await listed("queue=%00") == []
        assert await listed("presence=online&limit=1&offset=1") == ["worker-1"]
        hands.turn(seconds=121)
        assert await listed("presence=unreachable&per_page=2&page=2") == ["worker-0"]
        assert await listed("presence=online") == []


@pytest.mark.parametrize(
    ("query", "field"), [("state=runing", "state"), ("presence=here", "presence")]
)
async def test_an_unknown_filter_word_is_named(
    client: httpx.AsyncClient, query: str, field: str
) -> None:
    refused(await client.get(f"{WORKERS}?{query}"), 400, "invalid_request", field)


UNKNOWN: list[str] = ["nobody", "%00", "a%0Ab", "w" * 5000, "%ff"]


async def test_an_unknown_worker_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in UNKNOWN:
        with subtests.test(given=given):
            for suffix in ("", "/health"):
                error_of(await client.get(f"{WORKERS}/{given}{suffix}"), 404, "not_found")


async def test_the_health_of_a_worker_is_its_status(client: httpx.AsyncClient) -> None:
    await beat(client)
    answer = await client.get(f"{WORKERS}/worker-1/health")
    assert (answer.status_code, body(answer)["status"]) == (200, "ok")
    await beat(client, state="drain")
    answer = await client.get(f"{WORKERS}/worker-1/health")
    assert answer.status_code == 503
    assert body(answer)["status"] == "unavailable"
    assert body(answer)["state"] == "draining"


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


async def test_a_strict_server_refuses_unknown_members(strict_client: httpx.AsyncClient) -> None:
    for path in (BEAT, f"{WORKERS}/register", f"{WORKERS}/deregister"):
        response = await strict_client.post(path, json={"worker_id": "a", "worker": "a"})
        refused(response, 422, "validation_error", "worker")
