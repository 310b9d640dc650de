"""kill -9 during workflows: each goes on from its last step, and no step runs twice."""

import asyncio
import random
from collections import Counter, defaultdict
from typing import Any

import httpx
import msgspec
import pytest

from tests.e2e.node import Node, insist, running, until

FLOWS = "/ojs/v1/workflows"
KILLS = 6
COUNT = 12
WORKERS = 3
LIMIT_S = 60


def job(kind: str) -> dict[str, Any]:
    return {"type": kind, "args": [], "options": {"queue": "q"}}


def request(number: int) -> dict[str, Any]:
    """A chain of a step, a batch with callbacks, a graph, and a step."""
    batch = {
        "type": "batch",
        "jobs": [job("b1"), job("b2"), job("bad")],
        "callbacks": {
            "on_complete": job("always"),
            "on_failure": job("sorry"),
            "on_success": job("never"),
        },
    }
    graph = {
        "steps": [
            {**job("g1"), "id": "g1"},
            {**job("g2"), "id": "g2", "depends_on": ["g1"]},
            {**job("g3"), "id": "g3", "depends_on": ["g1"]},
            {**job("g4"), "id": "g4", "depends_on": ["g2", "g3"]},
        ]
    }
    return {
        "id": f"0190a0f0-0000-7000-8000-{number:012}",
        "type": "chain",
        "steps": [job("first"), batch, graph, job("last")],
    }


RUN = {"first", "b1", "b2", "bad", "always", "sorry", "g1", "g2", "g3", "g4", "last"}


class Seen(msgspec.Struct):
    """The jobs of each step of each workflow."""

    jobs: dict[tuple[str, str], set[str]] = msgspec.field(default_factory=lambda: defaultdict(set))
    last: dict[str, list[Any]] = {}
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


async def work(node: Node, seen: Seen, name: str) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        number = 0
        while not seen.stop.is_set():
            number += 1
            body = {
                "queues": ["q"],
                "worker_id": name,
                "count": 2,
                "fetch_id": f"{name}-{number}",
                "wait_ms": 200,
            }
            answer = await insist(client, node, "/ojs/v1/workers/fetch", body)
            for fetched in answer.json()["jobs"]:
                await settle(client, node, seen, name, fetched)


async def settle(
    client: httpx.AsyncClient, node: Node, seen: Seen, name: str, fetched: dict[str, Any]
) -> None:
    seen.jobs[fetched["workflow_id"], fetched["type"]].add(fetched["id"])
    if fetched["type"] == "last":
        seen.last[fetched["workflow_id"]] = fetched["parent_results"]
    body = {"job_id": fetched["id"], "worker_id": name, "attempt": fetched["attempt"]}
    if fetched["type"] == "bad":
        error = {"code": "broken", "message": "no", "retryable": False}
        answer = await insist(client, node, "/ojs/v1/workers/nack", {**body, "error": error})
    else:
        body["result"] = fetched["type"]
        answer = await insist(client, node, "/ojs/v1/workers/ack", body)
    # 409: an earlier try was committed, and its answer was lost.
    assert answer.status_code in (200, 409), answer.text


@pytest.mark.timeout(240)
async def test_workflows_go_on_after_every_kill(store_url: str) -> None:
    luck = random.Random(8)
    seen = Seen()
    async with (
        running(store_url, "--log-level", "error") as node,
        httpx.AsyncClient(timeout=10) as client,
        asyncio.TaskGroup() as workers,
    ):
        for number in range(COUNT):
            answer = await insist(client, node, FLOWS, request(number))
            assert answer.status_code == 201, answer.text
        for number in range(WORKERS):
            workers.create_task(work(node, seen, f"worker-{number}"))
        for _ in range(KILLS):
            await asyncio.sleep(luck.uniform(0.05, 0.25))  # at any moment
            await node.kill()
            await node.start()

        async def ended() -> bool:
            query = {"state": "running"}
            left = await client.get(node.url + FLOWS, params=query)
            return bool(left.json()["pagination"]["total"] == 0)

        await until(ended, LIMIT_S)
        seen.stop.set()
        await check(client, node, seen)


async def check(client: httpx.AsyncClient, node: Node, seen: Seen) -> None:
    assert Counter(len(jobs) for jobs in seen.jobs.values()) == {1: COUNT * len(RUN)}
    for number in range(COUNT):
        flow = request(number)["id"]
        assert {kind for owner, kind in seen.jobs if owner == flow} == RUN
        shown = (await client.get(f"{node.url}{FLOWS}/{flow}")).json()["workflow"]
        assert (shown["state"], shown["steps_completed"]) == ("completed", 4)
        first, batch, graph = seen.last[flow]
        assert (first, batch["0"], batch["1"]) == ("first", "b1", "b2")
        assert batch["2"]["error"]["code"] == "broken"
        assert graph == {"0": "g1", "1": "g2", "2": "g3", "3": "g4"}
