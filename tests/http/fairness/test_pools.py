"""Pools over HTTP: who takes what, in which order, how many, and what is told of it."""

from collections import Counter
from typing import Any

import httpx
import pytest

from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.tenants.test_administration import put
from tests.users_stores import on_one_store

V1 = "/ojs/v1"
POOLS = f"{V1}/admin/pools"


async def member(client: httpx.AsyncClient, worker: str = "m", **more: Any) -> None:
    body = {"worker_id": worker, "pool": "p", **more}
    assert (await client.post(f"{V1}/workers/register", json=body)).is_success


async def fetch(
    client: httpx.AsyncClient, count: int, worker: str = "m", **more: Any
) -> Counter[str]:
    body = {"queues": ["a", "b", "c"], "count": count, "worker_id": worker, **more}
    response = await client.post(f"{V1}/workers/fetch", json=body)
    assert response.status_code == 200, response.text
    return Counter(job["queue"] for job in response.json()["jobs"])


async def fill(client: httpx.AsyncClient, each: int = 6) -> None:
    for queue in "abc":
        for _ in range(each):
            await put(client, queue=queue)


async def test_a_pool_is_made_shown_and_forgotten(client: httpx.AsyncClient) -> None:
    body = {"queues": {"a": {"weight": 70}, "b": {"weight": 30}}, "strategy": "weighted"}
    made = await client.put(f"{POOLS}/p", json=body)
    assert made.status_code == 201
    assert made.json()["pool"]["weights"] == {"a": 70, "b": 30}
    assert (await client.put(f"{POOLS}/p", json={**body, "concurrency": 9})).status_code == 200
    await put(client, queue="a")
    await member(client)
    await fetch(client, 1)
    shown = (await client.get(f"{POOLS}/p")).json()
    assert (shown["concurrency"], shown["active_workers"], shown["active_jobs"]) == (9, 1, 1)
    listed = (await client.get(POOLS)).json()
    assert listed["items"] == listed["pools"] == [shown["pool"]]
    assert (await client.delete(f"{POOLS}/p")).json() == {"deleted": True, "name": "p"}
    for method in ("GET", "DELETE"):
        assert (await client.request(method, f"{POOLS}/p")).status_code == 404
    bad = await client.put(f"{POOLS}/p", json={"queues": ["a"], "strategy": "random"})
    assert (bad.status_code, bad.json()["error"]["details"]["field"]) == (400, "strategy")


async def test_members_take_from_their_pool_in_its_order(client: httpx.AsyncClient) -> None:
    await fill(client)
    body = {"queues": ["a", "b"], "strategy": "weighted", "weights": {"b": 2}}
    await client.put(f"{POOLS}/p", json=body)
    await member(client)
    # The pool's word counts, whatever the fetch says.
    assert await fetch(client, 6, strategy="strict") == {"a": 2, "b": 4}
    assert await fetch(client, 3, job_types=["t"]) == {"a": 1, "b": 2}
    assert await fetch(client, 9) == {"a": 3}
    assert await fetch(client, 9, "stranger") == {"c": 6}


async def test_turns_go_on_where_the_last_fetch_left_them(client: httpx.AsyncClient) -> None:
    await fill(client, 2)
    await client.put(f"{POOLS}/p", json={"queues": ["a", "b", "c"]})
    await member(client, labels=["pool:p"], pool=None)
    taken = [await fetch(client, 1) for _ in range(6)]
    assert [list(one) for one in taken] == [["a"], ["b"], ["c"]] * 2


async def test_strangers_take_nothing_from_an_isolated_pool(client: httpx.AsyncClient) -> None:
    await fill(client, 1)
    await client.put(f"{POOLS}/p", json={"queues": ["a", "b"], "isolated": True})
    await member(client)
    assert await fetch(client, 9, "stranger") == {"c": 1}
    assert await fetch(client, 9) == {"a": 1, "b": 1}


async def test_no_more_jobs_of_a_pool_run_than_it_may(client: httpx.AsyncClient) -> None:
    await fill(client, 2)
    await client.put(f"{POOLS}/p", json={"queues": ["a", "b"], "concurrency": 3})
    await member(client)
    assert sum((await fetch(client, 9)).values()) == 3
    assert not await fetch(client, 9)
    (job,) = (await client.get(f"{V1}/jobs?state=active&limit=1")).json()["jobs"]
    await client.post(f"{V1}/workers/ack", json={"job_id": job["id"], "worker_id": "m"})
    assert sum((await fetch(client, 9)).values()) == 1


async def test_a_limited_queue_stays_limited_in_a_pool(client: httpx.AsyncClient) -> None:
    await fill(client, 3)
    await client.put(f"{V1}/queues/a/config", json={"concurrency": 1})
    await client.put(f"{POOLS}/p", json={"queues": ["a", "b"]})
    await member(client)
    assert await fetch(client, 9) == {"a": 1, "b": 3}


async def test_a_fetch_may_say_how_queues_follow(client: httpx.AsyncClient) -> None:
    await fill(client)
    assert await fetch(client, 6, strategy="round-robin") == {"a": 2, "b": 2, "c": 2}
    assert await fetch(client, 6, weights={"a": 4, "b": 1, "c": 1}) == {"a": 4, "b": 1, "c": 1}
    assert await fetch(client, 2, strategy="strict") == {"b": 2}


@on_one_store
@pytest.mark.parametrize(
    "terms", [{"strategy": "fair"}, {"weights": {"a": -1}}, {"weights": {"A": 1}}]
)
async def test_a_bad_wish_is_refused(client: httpx.AsyncClient, terms: dict[str, Any]) -> None:
    response = await client.post(f"{V1}/workers/fetch", json={"queues": ["a"], **terms})
    assert response.status_code == 400


async def test_what_was_dispatched_is_counted(client: httpx.AsyncClient) -> None:
    empty = (await client.get(f"{V1}/admin/scheduling/stats")).json()
    nothing = {"queues": [], "window": "PT1M"}
    assert empty == {"stats": nothing, "strategy": "round-robin", **nothing}
    await fill(client, 1)
    waiting = (await client.get(f"{V1}/admin/scheduling/stats")).json()["queues"]
    assert {(one["dispatched"], one["starved"]) for one in waiting} == {(0, True)}
    body = {"starvation_prevention": {"enabled": True, "min_dispatch_ratio": 1}}
    await client.put(f"{POOLS}/p", json={"queues": ["a", "b"], "strategy": "strict", **body})
    await put(client, queue="a")
    await member(client)
    assert await fetch(client, 2) == {"a": 1, "b": 1}
    shown = {
        q["name"]: q for q in (await client.get(f"{V1}/admin/scheduling/stats")).json()["queues"]
    }
    assert [shown[q]["dispatch_count_1m"] for q in "abc"] == [1, 1, 0]
    assert [shown[q]["dispatch_ratio_1m"] for q in "abc"] == [0.5, 0.5, 0]
    assert shown["a"]["avg_wait_ms"] >= 0
    assert shown["c"]["avg_wait_ms"] is None
    told = (await client.get(f"{V1}/events?types=scheduling.queue_starved")).json()["events"]
    assert [event["data"] for event in told] == [{"queue": "b", "pool": "p"}]


async def test_the_numbers_of_dispatches_are_whole(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await fill(client, 4)
        await fetch(client, 4, weights={"a": 3, "b": 1, "c": 0})
        # Half of the minute before the present one counts.
        hands.turn(seconds=90)
        queues = (await client.get(f"{V1}/admin/scheduling/stats")).json()["queues"]
        shown = {queue["name"]: (queue["dispatched"], queue["starved"]) for queue in queues}
        assert shown == {"a": (2, False), "b": (1, False), "c": (0, True)}
        assert all(type(queue["dispatch_count_1m"]) is int for queue in queues)
        assert [queue["dispatch_ratio_1m"] for queue in queues] == [0.75, 0.25, 0]
