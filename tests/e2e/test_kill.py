"""kill -9 under traffic: nothing that was confirmed is lost, nothing runs twice."""

import asyncio
import random
from collections import Counter, defaultdict
from typing import Any

import httpx
import msgspec
import pytest

from ojs_wire.values import uuid7
from tests.e2e.node import Node, insist, running, until

KILLS = 20
PRODUCERS = 4
WORKERS = 4
LIMIT_S = 300


class Traffic(msgspec.Struct):
    """The answers that the clients of one run got."""

    answered: set[str] = set()
    acknowledged: set[str] = set()
    deliveries: dict[str, set[tuple[str, int]]] = msgspec.field(
        default_factory=lambda: defaultdict(set)
    )
    stop: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    done: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _awaited: int = 0
    _reached: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def note_answer(self, job_id: str) -> None:
        """Count a job whose enqueue was answered."""
        self.answered.add(job_id)
        if len(self.answered) >= self._awaited:
            self._reached.set()

    async def more_answers(self, count: int) -> None:
        """Wait until so many more enqueues are answered, however long the machine needs."""
        self._awaited = len(self.answered) + count
        self._reached.clear()
        await self._reached.wait()


async def produce(node: Node, traffic: Traffic, luck: random.Random) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        while not traffic.stop.is_set():
            job_id = uuid7(luck.getrandbits(40), luck.getrandbits)
            body = {"type": "crash.test", "args": [job_id], "id": job_id}
            answer = await insist(client, node, "/ojs/v1/jobs", body)
            # 200: the answer to an earlier try was lost, the job was not.
            assert answer.status_code in (200, 201), answer.text
            traffic.note_answer(job_id)


async def work(node: Node, traffic: Traffic, name: str) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        number = 0
        while not traffic.done.is_set():
            number += 1
            body = {
                "queues": ["default"],
                "worker_id": name,
                "count": 3,
                "fetch_id": f"{name}-{number}",
                "wait_ms": 200,
            }
            answer = await insist(client, node, "/ojs/v1/workers/fetch", body)
            assert answer.status_code == 200, answer.text
            for job in answer.json()["jobs"]:
                traffic.deliveries[job["id"]].add((name, job["attempt"]))
                await acknowledge(client, node, traffic, name, job)


async def acknowledge(
    client: httpx.AsyncClient, node: Node, traffic: Traffic, name: str, job: dict[str, Any]
) -> None:
    body = {"job_id": job["id"], "worker_id": name, "attempt": job["attempt"], "result": name}
    answer = await insist(client, node, "/ojs/v1/workers/ack", body)
    # Also where an earlier try was committed and its answer lost.
    assert answer.status_code == 200, answer.text
    traffic.acknowledged.add(job["id"])


async def completed_all(node: Node, count: int) -> None:
    async with httpx.AsyncClient() as client:

        async def drained() -> bool:
            stats = (await client.get(f"{node.url}/ojs/v1/queues/default/stats")).json()["queue"]
            return bool(stats["completed"] == count and stats["available"] == stats["active"] == 0)

        await until(drained, LIMIT_S)


@pytest.mark.long
@pytest.mark.timeout(900)  # for a hang; a loaded machine may take minutes
async def test_twenty_kills_lose_nothing_and_run_nothing_twice(store_url: str) -> None:
    luck = random.Random(20)
    traffic = Traffic()
    async with running(store_url, "--log-level", "error") as node, asyncio.TaskGroup() as clients:
        for number in range(PRODUCERS):
            clients.create_task(produce(node, traffic, random.Random(number)))
        for number in range(WORKERS):
            clients.create_task(work(node, traffic, f"worker-{number}"))
        for _ in range(KILLS):
            await traffic.more_answers(luck.randint(1, 60))
            await node.kill()
            await node.start()
        traffic.stop.set()
        await settled(traffic, node)
        await check(node, traffic)


async def settled(traffic: Traffic, node: Node) -> None:
    """All answered jobs are acknowledged; then the workers may go."""

    async def acknowledged() -> bool:
        return traffic.acknowledged >= traffic.answered

    await until(acknowledged, LIMIT_S)
    traffic.done.set()
    await completed_all(node, len(traffic.answered))


async def check(node: Node, traffic: Traffic) -> None:
    assert len(traffic.answered) >= KILLS
    twice = {job: seen for job, seen in traffic.deliveries.items() if len(seen) > 1}
    assert not twice, f"handed out more than once while held: {twice}"
    completions: Counter[str] = Counter()
    async with httpx.AsyncClient() as client:
        cursor = ""
        while True:
            page = (
                await client.get(
                    f"{node.url}/ojs/v1/events",
                    params={"after": cursor, "types": "job.completed", "limit": 1000},
                )
            ).json()
            completions.update(event["subject"] for event in page["events"])
            cursor = page["cursor"]
            if not page["has_more"]:
                break
        for job_id in traffic.answered:
            job = (await client.get(f"{node.url}/ojs/v1/jobs/{job_id}")).json()["job"]
            assert job["state"] == "completed", job
            assert job["attempt"] == 1, job
    assert set(completions) == traffic.answered
    assert set(completions.values()) == {1}
