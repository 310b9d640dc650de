"""kill -9 of the server under the published clients: no job is lost, and none is held for longer
than its timeout."""

import asyncio
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.clients.zeebe.published import CAMUNDA_SDK, PYZEEBE, ZEEBE_NODE, begin, end
from tests.e2e.node import Node, insist, running, until

pytestmark = [pytest.mark.clients, pytest.mark.long]

JOBS = 60
WORKERS = {
    "zeebe-node": (ZEEBE_NODE, "zeebe_node_worker.js"),
    "pyzeebe": (PYZEEBE, "pyzeebe_worker.py"),
    "@camunda8/sdk": (CAMUNDA_SDK, "camunda_sdk_worker.js"),
}


async def counts(client: httpx.AsyncClient, node: Node) -> dict[str, Any]:
    answer = await client.get(f"{node.url}/ojs/v1/queues/default/stats")
    stats: dict[str, Any] = answer.json()["stats"]
    return stats


@pytest.mark.parametrize("name", WORKERS)
async def test_a_killed_server_loses_no_job(store_url: str, name: str) -> None:
    program, worker = WORKERS[name]
    program.require()
    async with (
        running(store_url, "--grpc-port", "0", "--profile", "zeebe") as node,
        httpx.AsyncClient(timeout=30) as client,
    ):
        for number in range(JOBS):
            await insist(client, node, "/ojs/v1/jobs", {"type": "slow", "args": [{"n": number}]})
        address = node.url if program is CAMUNDA_SDK else node.grpc
        process = await begin(program.command(worker), [address, "slow"])
        done: Counter[str] = Counter()
        assert process.stdout is not None
        try:
            for _ in range(2):
                while len(done) % (JOBS // 3) != JOBS // 3 - 1:
                    done[(await process.stdout.readline()).decode().strip()] += 1
                done[(await process.stdout.readline()).decode().strip()] += 1
                await node.kill()
                await node.start()

            async def all_completed() -> bool:
                stats = await counts(client, node)
                return bool(stats["completed"] == JOBS)

            reading = asyncio.ensure_future(process.stdout.read())
            await until(all_completed, 60)
            reading.cancel()
        finally:
            await end(process)
        stats = await counts(client, node)
        assert (stats["completed"], stats["active"], stats["available"]) == (JOBS, 0, 0)
