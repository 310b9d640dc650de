"""Several servers on one PostgreSQL: each job once, no event lost, a lost LISTEN costs time."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import httpx
import psycopg
import pytest

from tests.e2e.node import Node, running, until

JOBS = 5_000
WORKERS = 16


async def enqueue(client: httpx.AsyncClient, node: Node, count: int) -> None:
    jobs = [{"type": "nodes.test", "args": [index]} for index in range(count)]
    answer = await client.post(f"{node.url}/ojs/v1/jobs/batch", json={"jobs": jobs})
    assert answer.status_code == 201, answer.text


async def drain(node: Node, name: str, seen: Counter[str], *, in_bulk: bool) -> None:
    """Work as our SDK does, or one ACK after the other."""
    async with httpx.AsyncClient(timeout=30) as client:
        while sum(seen.values()) < JOBS:
            body = {"queues": ["default"], "worker_id": name, "count": 10, "wait_ms": 500}
            answer = await client.post(f"{node.url}/ojs/v1/workers/fetch", json=body)
            jobs = answer.json()["jobs"]
            seen.update(job["id"] for job in jobs)
            acks = [{"job_id": job["id"], "attempt": job["attempt"]} for job in jobs]
            if in_bulk:
                results = [{**ack, "outcome": "ack"} for ack in acks]
                await settle(client, node, "settle", {"worker_id": name, "results": results})
                continue
            for ack in acks:
                await settle(client, node, "ack", {"worker_id": name, **ack})


async def settle(client: httpx.AsyncClient, node: Node, call: str, body: dict[str, Any]) -> None:
    done = await client.post(f"{node.url}/ojs/v1/workers/{call}", json=body)
    assert done.status_code == 200, done.text


async def follow(node: Node, completed: Counter[str]) -> None:
    """Read the event log with a cursor while both nodes write to it."""
    cursor = ""
    async with httpx.AsyncClient(timeout=30) as client:
        while sum(completed.values()) < JOBS:
            page = (
                await client.get(
                    f"{node.url}/ojs/v1/events", params={"after": cursor, "limit": 500}
                )
            ).json()
            completed.update(e["subject"] for e in page["events"] if e["type"] == "job.completed")
            cursor = page["cursor"] or ""
            if not page["events"]:
                await asyncio.sleep(0.02)  # nothing new yet; this endpoint does not wait


@pytest.mark.long
async def test_sixteen_workers_on_two_nodes_drain_5000_jobs_once(postgres_store: str) -> None:
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(postgres_store)) for _ in range(2)]
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        seen: Counter[str] = Counter()
        completed: Counter[str] = Counter()
        async with asyncio.timeout(100), asyncio.TaskGroup() as group:
            group.create_task(follow(nodes[1], completed))
            for number in range(WORKERS):
                name, in_bulk = f"worker-{number}", number % 4 > 1
                group.create_task(drain(nodes[number % 2], name, seen, in_bulk=in_bulk))
            for number in range(JOBS // 1000):
                await enqueue(client, nodes[number % 2], 1000)
        assert len(seen) == JOBS
        assert set(seen.values()) == {1}
        assert set(completed) == set(seen)
        assert set(completed.values()) == {1}
        stats = (await client.get(f"{nodes[0].url}/ojs/v1/queues/default/stats")).json()["queue"]
        assert (stats["completed"], stats["available"], stats["active"]) == (JOBS, 0, 0)


async def wait_for_job(node: Node) -> float:
    """Return how long a waiting fetch took."""
    async with httpx.AsyncClient(timeout=30) as client:
        started = time.monotonic()
        body = {"queues": ["default"], "wait_ms": 20_000}
        answer = await client.post(f"{node.url}/ojs/v1/workers/fetch", json=body)
        assert len(answer.json()["jobs"]) == 1, answer.text
        return time.monotonic() - started


async def test_a_job_on_one_node_wakes_a_fetch_on_the_other(postgres_store: str) -> None:
    async with (
        running(postgres_store) as one,
        running(postgres_store) as other,
        httpx.AsyncClient(timeout=30) as client,
    ):
        for listening in (True, False):
            if not listening:
                assert await asyncio.to_thread(kill_listeners, postgres_store) == 2
            waiting = asyncio.create_task(wait_for_job(other))
            await until(lambda: other.holds_waiting(1), 10)
            started = time.monotonic()
            await enqueue(client, one, 1)
            await waiting
            # Generous: without the notification a slow poll finds the job.
            assert time.monotonic() - started < 10

        # The listeners come back by themselves.
        async def listen_again() -> bool:
            return await asyncio.to_thread(listeners, postgres_store) == 2

        await until(listen_again, 20)


_LISTENERS = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


def listeners(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(f"SELECT count(*) {_LISTENERS}").fetchone()
        return int(row[0]) if row else 0


def kill_listeners(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        return len(connection.execute(f"SELECT pg_terminate_backend(pid) {_LISTENERS}").fetchall())
