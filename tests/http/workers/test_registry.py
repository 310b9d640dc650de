"""Workers: coming, going, and what is seen of them."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import (
    BEAT,
    PROFILE,
    V1,
    WORKERS,
    Json,
    active_job,
    beat,
    body,
    error_of,
    fetch,
    read,
    refused,
    worker,
)

ADMIN = f"{V1}/admin/workers"


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


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/deregister"), ("POST", "/worker-1/unregister")],
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
        swept = await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        assert swept.dead == 1
        stored = await read(client, job["id"])
        assert (stored["state"], stored["error"]["type"]) == ("available", "worker_death")
        assert (await worker(client))["state"] == "terminated"
        answer = await beat(client, active_job_ids=[job["id"]])
        assert answer["jobs_lost"] == [job["id"]]
        assert (await worker(client))["incarnation"] == 2
        # The second time it does no more than ask for jobs.
        hands.turn(seconds=31)
        assert (await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))).dead == 1
        (found,) = await fetch(client, worker_id="worker-1")
        assert (found["id"], found["attempt"]) == (job["id"], 2)
        shown = await worker(client)
        assert (shown["state"], shown["incarnation"]) == ("running", 3)
        assert shown["last_heartbeat_at"] < shown["last_seen_at"]


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


async def test_a_strict_server_refuses_unknown_members(strict_client: httpx.AsyncClient) -> None:
    for path in (BEAT, f"{WORKERS}/register", f"{WORKERS}/deregister"):
        response = await strict_client.post(path, json={"worker_id": "a", "worker": "a"})
        refused(response, 422, "validation_error", "worker")
