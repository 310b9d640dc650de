"""Cron on real processes: a due time fires once, through kill -9 and on two nodes at once."""

import asyncio
import random
from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import Any

import httpx

from tests.e2e.node import Node, running, until

KILLS = 6
TICKS = 6
EVERY_SECOND = {
    "name": "tick",
    "expression": "* * * * * *",
    "overlap_policy": "allow",
    "type": "tick",
    "queue": "ticks",
}


async def register(node: Node) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{node.url}/ojs/v1/cron", json=EVERY_SECOND)
        assert answer.status_code == 201, answer.text


async def history(node: Node) -> list[dict[str, Any]]:
    """All runs of the entry, newest first."""
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{node.url}/ojs/v1/cron/tick/history?limit=1000")
        runs: list[dict[str, Any]] = answer.json()["history"]
        return runs


async def fired(node: Node, count: int) -> None:
    """Until the entry has fired this many times."""

    async def enough() -> bool:
        return len(await history(node)) >= count

    await until(enough, 30)


async def jobs_by_due_time(node: Node) -> Counter[str]:
    """Count the jobs of each due time, by their own `meta`."""
    found: Counter[str] = Counter()
    async with httpx.AsyncClient() as client:
        while True:
            body = {"queues": ["ticks"], "count": 100}
            answer = await client.post(f"{node.url}/ojs/v1/workers/fetch", json=body)
            jobs = answer.json()["jobs"]
            if not jobs:
                return found
            found.update(job["meta"]["cron_scheduled_at"] for job in jobs)


async def pause(node: Node) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.patch(f"{node.url}/ojs/v1/cron/tick", json={"enabled": False})
        assert answer.status_code == 200, answer.text


async def test_no_due_time_fires_twice_through_kills(store_url: str) -> None:
    luck = random.Random(6)
    async with running(store_url, "--log-level", "error") as node:
        await register(node)
        for number in range(KILLS):
            await fired(node, number + 1)
            # Around the full second: before, inside or after the commit of a firing.
            rest = 1 - datetime.now().astimezone().microsecond / 1e6
            await asyncio.sleep(rest + luck.uniform(-0.02, 0.02))
            await node.kill()
            await node.start()
        await fired(node, KILLS + 2)
        await pause(node)
        runs = await history(node)
        jobs = await jobs_by_due_time(node)
        assert set(jobs.values()) == {1}
        # The history, the jobs and the events tell the same story.
        assert sorted(run["scheduled_at"] for run in runs) == sorted(jobs)
        async with httpx.AsyncClient() as client:
            page = await client.get(f"{node.url}/ojs/v1/events?types=cron.triggered&limit=1000")
        told = [event["data"]["scheduled_at"] for event in page.json()["events"]]
        assert told == sorted(jobs)


async def test_two_nodes_fire_each_due_time_once(postgres_store: str) -> None:
    async with running(postgres_store) as one, running(postgres_store) as other:
        await register(one)
        await fired(other, TICKS)
        await pause(other)
        jobs = await jobs_by_due_time(other)
        assert set(jobs.values()) == {1}
        times = sorted(datetime.fromisoformat(at) for at in jobs)
        steps = {(after - before).total_seconds() for before, after in pairwise(times)}
        # None was left out either.
        assert steps == {1.0}
