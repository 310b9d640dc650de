"""Equal unique jobs sent at once to real servers make one job, on one node and on two."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from tests.e2e.node import Node, running

MANY = 32
ROUNDS = 5
MODES = {"reject": 409, "ignore": 200}


async def send(client: httpx.AsyncClient, node: Node, job: dict[str, Any]) -> httpx.Response:
    return await client.post(f"{node.url}/ojs/v1/jobs", json=job)


async def compete(client: httpx.AsyncClient, nodes: list[Node], mode: str) -> None:
    """Send equal jobs to all nodes at once, some rounds long."""
    for number in range(ROUNDS):
        job = {
            "type": "unique.test",
            "args": [{"order": number}],
            "options": {"unique": {"keys": ["args"], "on_conflict": mode}},
        }
        answers = await asyncio.gather(
            *(send(client, nodes[place % len(nodes)], job) for place in range(MANY))
        )
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses == {201: 1, MODES[mode]: MANY - 1}, [answer.text for answer in answers]
        (winner,) = (answer.json()["id"] for answer in answers if answer.status_code == 201)
        if mode == "ignore":
            assert {answer.json()["id"] for answer in answers} == {winner}
        else:
            lost = (answer.json()["error"] for answer in answers if answer.status_code == 409)
            assert {error["details"]["existing_job_id"] for error in lost} == {winner}
    counts = (await client.get(f"{nodes[0].url}/ojs/v1/queues/default")).json()["queue"]["counts"]
    assert sum(counts.values()) == counts["available"] == ROUNDS


@pytest.mark.parametrize("mode", MODES)
async def test_equal_jobs_at_once_make_one(store_url: str, mode: str) -> None:
    async with running(store_url) as node, httpx.AsyncClient(timeout=30) as client:
        await compete(client, [node], mode)


@pytest.mark.parametrize("mode", MODES)
async def test_equal_jobs_at_once_make_one_on_two_nodes(postgres_store: str, mode: str) -> None:
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(postgres_store)) for _ in range(2)]
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        await compete(client, nodes, mode)


async def test_jobs_that_replace_each_other_on_two_nodes_leave_one(postgres_store: str) -> None:
    job = {"type": "unique.test", "args": [], "unique": {"on_conflict": "replace"}}
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(postgres_store)) for _ in range(2)]
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        for _ in range(ROUNDS):
            answers = await asyncio.gather(
                *(send(client, nodes[place % 2], job) for place in range(MANY))
            )
            assert [answer.text for answer in answers if answer.status_code != 201] == []
        stats = await client.get(f"{nodes[0].url}/ojs/v1/queues/default")
        counts = stats.json()["queue"]["counts"]
        assert (counts["available"], counts["cancelled"]) == (1, ROUNDS * MANY - 1)
