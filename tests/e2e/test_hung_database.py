"""PostgreSQL that hangs but still acknowledges packets: every call is answered."""

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.node import Node, running, until
from tests.store.postgres.proxy import Proxy, proxy_before

V1 = "/ojs/v1"
# The server promises two seconds; the rest is for a busy machine.
HEALTH_S = 10
# For an answer 5 s, and two more for a look whether it answers at all; the rest as above.
CALL_S = 60
READS, WRITES = 30, 30


@pytest.fixture
def proxy(postgres_store: str) -> Iterator[Proxy]:
    with proxy_before(postgres_store) as proxy:
        yield proxy


@pytest.mark.long
async def test_a_database_that_hangs_hangs_nobody(proxy: Proxy) -> None:
    limits = httpx.Limits(max_connections=None)
    async with (
        running(f"{proxy.url}&connect_timeout=2") as node,
        httpx.AsyncClient(timeout=2 * CALL_S, limits=limits) as client,
    ):
        assert (await enqueue(client, node)).status_code == 201
        proxy.freeze()
        begun = time.monotonic()
        calls = [
            *(asyncio.create_task(enqueue(client, node)) for _ in range(WRITES)),
            *(asyncio.create_task(client.get(f"{node.url}{V1}/queues")) for _ in range(READS)),
        ]
        waiting = asyncio.gather(*calls)
        looks = 0
        while not waiting.done():
            for path in (f"{V1}/health", "/ready"):
                looked = time.monotonic()
                answer = await client.get(node.url + path)
                assert time.monotonic() - looked < HEALTH_S
                assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
                looks += 1
            await asyncio.wait([waiting], timeout=0.5)
        assert {answer.status_code for answer in await waiting} == {503}
        assert time.monotonic() - begun < CALL_S
        assert looks > 2
        assert [one.text for one in await waiting if "127.0.0.1" in one.text] == []
        proxy.thaw()

        async def works() -> bool:
            return (await enqueue(client, node)).status_code == 201

        await until(works, CALL_S)

        async def is_ready() -> bool:
            return (await client.get(f"{node.url}/ready")).status_code == 200

        await until(is_ready, CALL_S)

        async def is_told() -> bool:
            return any("the store is back" in line for line in node.output)

        await until(is_told, CALL_S)
    lines = [line for line in node.output if "the store is" in line]
    assert ["lost" in line for line in lines] == [True, False]
    assert "127.0.0.1" in lines[1]


@pytest.mark.long
async def test_a_call_waits_for_the_database_as_long_as_is_set(proxy: Proxy) -> None:
    async with (
        running(proxy.url, "--store-timeout=1s") as node,
        running(proxy.url, "--store-timeout=60s") as patient,
        httpx.AsyncClient(timeout=2 * CALL_S) as client,
    ):
        assert (await enqueue(client, node)).status_code == 201
        (job,) = (await fetch(client, node, "default")).json()["jobs"]
        waiting = asyncio.create_task(fetch(client, node, "empty", wait_ms=5_000))
        await until(lambda: node.holds_waiting(1), CALL_S)
        proxy.freeze()
        later = asyncio.create_task(enqueue(client, patient))
        beat = {"worker_id": "w", "active_jobs": [job["id"]]}
        for _ in range(2):
            answers = await asyncio.gather(
                enqueue(client, node),
                fetch(client, node, "default"),
                client.post(f"{node.url}{V1}/workers/ack", json={"job_id": job["id"]}),
                client.post(f"{node.url}{V1}/workers/heartbeat", json=beat),
                client.get(f"{node.url}{V1}/queues"),
            )
            assert [answer.status_code for answer in answers] == [503] * len(answers)
            assert all("retry-after" in answer.headers for answer in answers)
        # The other node, under the same circumstances, has not given up yet.
        assert not later.done()
        # A FETCH that waits is answered in its time, too.
        assert (await waiting).status_code == 503
        assert not later.done()
        proxy.thaw()
        assert (await later).status_code in (201, 503)


async def fetch(
    client: httpx.AsyncClient, node: Node, queue: str, **more: object
) -> httpx.Response:
    body = {"queues": [queue], "worker_id": "w", **more}
    return await client.post(f"{node.url}{V1}/workers/fetch", json=body)


async def enqueue(client: httpx.AsyncClient, node: Node) -> httpx.Response:
    return await client.post(f"{node.url}{V1}/jobs", json={"type": "t", "args": []})
