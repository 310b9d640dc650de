"""kill -9 of a worker under load: another one does its jobs, and each is completed once."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.clients.zeebe.published import ZEEBE_NODE, begin, end
from tests.e2e.node import Node, insist, running, until

pytestmark = [pytest.mark.clients, pytest.mark.long]

JOBS = 200
# Completions after which the first worker is killed.
BEFORE = 60
KEY = "key-of-the-client-1"


async def completed(client: httpx.AsyncClient, node: Node) -> int:
    answer = await client.get(f"{node.url}/ojs/v1/queues/default/stats")
    count: int = answer.json()["stats"]["completed"]
    return count


async def results(client: httpx.AsyncClient, node: Node) -> Mapping[int, Any]:
    """Return the result of each job, by its number."""
    found: dict[int, Any] = {}
    for offset in range(0, JOBS, 100):
        page = {"limit": 100, "offset": offset}
        answer = await client.get(f"{node.url}/ojs/v1/jobs", params=page)
        found |= {job["args"][0]["n"]: job["result"] for job in answer.json()["jobs"]}
    return found


async def completions(client: httpx.AsyncClient, node: Node) -> list[str]:
    """Return the jobs of all events of completions."""
    page: dict[str, Any] = {"types": "job.completed", "limit": 1000}
    answer = (await client.get(f"{node.url}/ojs/v1/events", params=page)).json()
    assert not answer["has_more"]
    return [event["subject"] for event in answer["events"]]


@pytest.mark.parametrize("key", [None, KEY], ids=["without keys", "with keys"])
async def test_the_jobs_of_a_killed_worker_are_completed_once(
    store_url: str, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ZEEBE_NODE.require()
    headers = {}
    if key is not None:
        monkeypatch.setenv("OJS_KEYS", f"client=worker+operator:{key}")
        headers = {"Authorization": f"Bearer {key}"}
    async with (
        running(store_url, "--grpc-port", "0", "--profile", "zeebe") as node,
        httpx.AsyncClient(timeout=30, headers=headers) as client,
    ):
        for number in range(JOBS):
            await insist(client, node, "/ojs/v1/jobs", {"type": "slow", "args": [{"n": number}]})
        command = ZEEBE_NODE.command("zeebe_node_worker.js")
        workers = [await begin(command, [node.grpc, "slow"], key) for _ in range(2)]
        first, second = workers
        outputs = [asyncio.ensure_future(one.stdout.read()) for one in workers if one.stdout]
        try:

            async def enough() -> bool:
                return await completed(client, node) >= BEFORE

            async def all_completed() -> bool:
                return await completed(client, node) == JOBS

            await until(enough, 60)
            first.kill()
            await until(all_completed, 90)
        finally:
            for one in workers:
                await end(one)
        reports = [[int(line) for line in (await output).split()] for output in outputs]
        # A worker that was told of a completion has completed the job, and no other has.
        ended = await results(client, node)
        assert sorted(ended) == list(range(JOBS))
        for process, numbers in zip((first, second), reports, strict=True):
            assert numbers
            assert {ended[number]["by"] for number in numbers} == {process.pid}
        told = [number for numbers in reports for number in numbers]
        assert len(told) == len(set(told))
        events = await completions(client, node)
        assert len(events) == len(set(events)) == JOBS
