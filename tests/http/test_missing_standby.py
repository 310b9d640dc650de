"""A primary whose synchronous standby is missing: reads work, and no commit ends."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from ojs_server.app import Server as Node
from ojs_server.settings import Settings
from ojs_server.store.postgres.store import PostgresStore
from tests.http.conftest import connect
from tests.http.steps import JOBS, V1, body
from tests.postgres import Server

LIMIT_S = 60


@pytest.fixture
async def node(durable_postgres: Server) -> AsyncIterator[Node]:
    store = PostgresStore(durable_postgres.url, node="a", answer_s=1, patience_s=1)
    node = Node(Settings(), store)
    async with node.running():
        yield node


async def until_ready(client: httpx.AsyncClient, status: int) -> dict[str, object]:
    async with asyncio.timeout(LIMIT_S):
        while (answer := await client.get("/ready")).status_code != status:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return body(answer)


@pytest.mark.long
async def test_a_primary_without_its_standby_is_not_ready(
    node: Node, durable_postgres: Server
) -> None:
    async with connect(node) as client:
        await until_ready(client, 200)
        await asyncio.to_thread(durable_postgres.require_standby, "nobody")
        # The node notices by its own writes alone.
        assert (await until_ready(client, 503))["status"] == "degraded"
        async with asyncio.timeout(LIMIT_S):
            answer = await client.post(JOBS, json={"type": "a", "args": []})
        assert answer.status_code == 503
        assert (await client.get(f"{V1}/queues")).status_code == 200
        assert (await client.get("/ready")).status_code == 503
        await asyncio.to_thread(durable_postgres.require_standby, "")
        await until_ready(client, 200)
        answer = await client.post(JOBS, json={"type": "a", "args": []})
        assert answer.status_code == 201
