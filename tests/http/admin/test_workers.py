"""Workers in the admin form: the list with its sums, stale workers, and their removal."""

from collections.abc import Mapping

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, active_job, beat, body, error_of, read, refused
from tests.users_stores import on_one_store

WORKERS = f"{V1}/admin/workers"
# Longer than the heartbeat timeout, and shorter than it takes to be unreachable.
SILENCE_S = 40


async def listed(client: httpx.AsyncClient, query: str = "") -> dict[str, str]:
    """Return the listed workers with their states; the summary has to agree with all rows."""
    page = body(await client.get(f"{WORKERS}?{query}"))
    if not query:
        states = [item["state"] for item in page["items"]]
        quiet = sum(states.count(state) for state in ("quiet", "terminate"))
        assert page["summary"] == {
            "total": len(states),
            "running": states.count("running"),
            "quiet": quiet,
            "stale": states.count("stale"),
        }
    return {item["id"]: item["state"] for item in page["items"]}


async def leave(client: httpx.AsyncClient, worker_id: str) -> None:
    answer = await client.post(f"{V1}/workers/deregister", json={"worker_id": worker_id})
    assert answer.status_code == 200


async def silent(server: Server, hands: Hands) -> None:
    """Let the workers be silent until they are declared dead."""
    hands.turn(seconds=SILENCE_S)
    await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))


async def test_workers_are_summed_up(client: httpx.AsyncClient) -> None:
    assert await listed(client) == {}
    await beat(client, "w1", hostname="node-7", queues=["email"])
    await beat(client, "w2", state="quiet")
    await beat(client, "w3", state="terminate")
    assert await listed(client) == {"w1": "running", "w2": "quiet", "w3": "terminate"}
    page = body(await client.get(WORKERS))
    queues = {item["id"]: item["queues"] for item in page["items"]}
    assert queues == {"w1": ["email"], "w2": [], "w3": []}
    assert body(await client.get(f"{WORKERS}/w1"))["hostname"] == "node-7"
    error_of(await client.get(f"{WORKERS}/w9"), 404, "not_found")


async def test_a_worker_that_left_is_not_listed(client: httpx.AsyncClient) -> None:
    await beat(client, "w1")
    await beat(client, "w2")
    await leave(client, "w2")
    assert await listed(client) == {"w1": "running"}
    assert await listed(client, "state=terminated") == {"w2": "terminated"}
    assert body(await client.get(f"{WORKERS}/w2"))["state"] == "terminated"
    assert body(await client.get(f"{V1}/admin/stats"))["workers"] == 1
    error_of(await client.delete(f"{WORKERS}/w2"), 409, "conflict")
    error_of(await client.delete(f"{WORKERS}/w9"), 404, "not_found")


async def test_silent_workers_are_stale_until_they_are_removed(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        # A worker that only fetches is never declared dead by itself.
        job = await active_job(client, "fetches")
        await beat(client, "beats")
        hands.turn(seconds=SILENCE_S)
        await beat(client, "well")
        states = {"fetches": "stale", "beats": "stale", "well": "running"}
        assert await listed(client) == states
        assert await listed(client, "state=stale") == {"fetches": "stale", "beats": "stale"}
        assert await listed(client, "state=running") == {"well": "running"}
        assert body(await client.get(f"{WORKERS}/beats"))["state"] == "stale"
        assert body(await client.get(f"{V1}/admin/stats"))["workers"] == 1
        figures = body(await client.get(f"{V1}/health/detail"))["workers"]
        assert figures == {"total": 3, "active": 1, "stale": 2}
        for worker_id in ("fetches", "beats"):
            answer = body(await client.delete(f"{WORKERS}/{worker_id}"))
            assert answer == {"deleted": True, "worker_id": worker_id}
        assert await listed(client) == {"well": "running"}
        assert (await read(client, job["id"]))["state"] == "available"
        error_of(await client.delete(f"{WORKERS}/beats"), 404, "not_found")


async def test_a_worker_that_was_declared_dead_is_stale(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await beat(client, "dies")
        await active_job(client, "dies")
        await silent(server, hands)
        assert body(await client.get(f"{V1}/workers/dies"))["worker"]["state"] == "terminated"
        assert await listed(client) == {"dies": "stale"}
        await client.delete(f"{WORKERS}/dies")
        assert await listed(client) == {}


async def test_a_removed_worker_may_come_back(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await beat(client, "w1")
        hands.turn(seconds=SILENCE_S)
        await client.delete(f"{WORKERS}/w1")
        await beat(client, "w1")
        assert await listed(client) == {"w1": "running"}


async def test_a_dead_worker_that_deregisters_has_left(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await beat(client, "w1")
        await silent(server, hands)
        assert await listed(client) == {"w1": "stale"}
        await leave(client, "w1")
        assert await listed(client) == {}


async def test_a_worker_that_is_heard_of_stays(client: httpx.AsyncClient) -> None:
    await active_job(client, "w1")
    error_of(await client.delete(f"{WORKERS}/w1"), 409, "conflict")
    assert await listed(client) == {"w1": "running"}


@on_one_store
@pytest.mark.parametrize("query", [{"state": "lost"}, {"presence": "stale"}])
async def test_an_unknown_state_is_refused(
    client: httpx.AsyncClient, query: Mapping[str, str]
) -> None:
    (name,) = query
    refused(await client.get(WORKERS, params=query), 400, "invalid_request", name)


@on_one_store
async def test_the_list_of_the_worker_protocol_knows_no_stale_ones(
    client: httpx.AsyncClient,
) -> None:
    refused(await client.get(f"{V1}/workers?state=stale"), 400, "invalid_request", "state")
