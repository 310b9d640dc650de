"""Event streams of real servers: two nodes, lost connections, stops, and many at once."""

import asyncio
import signal
import socket
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.node import Node, running, until
from tests.e2e.sse import stream
from tests.e2e.test_nodes import kill_listeners

STREAM = "/ojs/v1/events/stream"
LIMITS = httpx.Limits(max_connections=None)


def new_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=httpx.Timeout(60), limits=LIMITS)


async def enqueue(client: httpx.AsyncClient, node: Node, count: int = 1) -> list[str]:
    jobs = [{"type": "stream.test", "args": [number]} for number in range(count)]
    answer = await client.post(f"{node.url}/ojs/v1/jobs/batch", json={"jobs": jobs})
    assert answer.status_code == 201, answer.text
    return [job["id"] for job in answer.json()["jobs"]]


async def work(client: httpx.AsyncClient, node: Node, count: int) -> None:
    """Fetch and complete so many jobs, and all that came with the last, through settle calls."""
    results: list[dict[str, Any]] = []
    url, done = f"{node.url}/ojs/v1/workers/settle", 0
    while done < count or results:
        fetch = {"queues": ["default"], "count": 20, "wait_ms": 200}
        body = {"worker_id": f"w-{node.pid}", "results": results, "fetch": fetch}
        answer = (await client.post(url, json=body)).json()
        assert all(one["state"] == "completed" for one in answer["results"])
        done += len(results)
        results = [
            {"job_id": job["id"], "attempt": job["attempt"], "outcome": "ack"}
            for job in answer["jobs"]
        ]


async def open_streams(client: httpx.AsyncClient, node: Node) -> int:
    text = (await client.get(f"{node.url}/metrics")).text
    (line,) = [one for one in text.splitlines() if one.startswith("ojs_event_streams ")]
    return int(float(line.split()[1]))


async def test_a_stream_hears_of_both_nodes_in_the_order_of_each_job(postgres_store: str) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(running(postgres_store)) for _ in range(2)]
        client = await stack.enter_async_context(new_client())
        heard = await stack.enter_async_context(stream(client, f"{one.url}{STREAM}", types="job.*"))
        ids = await enqueue(client, other, 100) + await enqueue(client, one, 100)
        working = [asyncio.create_task(work(client, node, 100)) for node in (one, other)]
        stories: dict[str, list[str]] = {job_id: [] for job_id in ids}
        for _ in range(3 * len(ids)):
            name, data = await heard.event()
            stories[data["subject"]].append(name)
        assert all(
            story == ["job.enqueued", "job.started", "job.completed"] for story in stories.values()
        )
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def test_an_event_of_the_other_node_comes_also_after_its_notices_were_cut(
    postgres_store: str,
) -> None:
    async with (
        running(postgres_store) as one,
        running(postgres_store) as other,
        new_client() as client,
        stream(client, f"{one.url}{STREAM}") as heard,
    ):
        for _ in range(3):
            (job_id,) = await enqueue(client, other)
            name, data = await heard.event()
            assert (name, data["subject"]) == ("job.enqueued", job_id)
            # They may not be back yet from the round before.
            while await asyncio.to_thread(kill_listeners, postgres_store) == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_who_comes_back_under_load_misses_nothing(store_url: str) -> None:
    total, batches = 2000, 40
    async with running(store_url) as node, new_client() as client:

        async def load() -> list[str]:
            return [
                job_id
                for _ in range(batches)
                for job_id in await enqueue(client, node, total // batches)
            ]

        loading = asyncio.create_task(load())
        seen: list[str] = []
        last_id = None
        query = {"types": "job.enqueued", "after": "evt_00000000-0000-7000-8000-000000000000"}
        url = f"{node.url}{STREAM}"
        while len(seen) < total:
            async with stream(client, url, last_id, **query) as heard:
                # Now and then the connection breaks.
                for _ in range(min(150, total - len(seen))):
                    name, data = await heard.event()
                    if name == "system.events_dropped":
                        break
                    seen.append(data["subject"])
                    last_id = heard.last_id
        assert seen == await loading


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_ends_streams_at_once_and_exits_0(store_url: str, sig: signal.Signals) -> None:
    async with running(store_url) as node, new_client() as client, AsyncExitStack() as stack:
        await enqueue(client, node)
        paths = (STREAM, "/ojs/v1/queues/default/events", STREAM)
        heard = [
            await stack.enter_async_context(stream(client, f"{node.url}{path}")) for path in paths
        ]
        started = time.monotonic()
        stopping = asyncio.create_task(node.stop(sig))
        for one in heard:
            assert (await one.event())[0] == "server.shutdown"
            with pytest.raises(EOFError):
                await one.event()
        assert await stopping == 0
        assert time.monotonic() - started < 10


def connect_and_read_nothing(node: Node) -> socket.socket:
    """A client that asks for a stream and then never reads."""
    address = urlsplit(node.url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((address.hostname, address.port))
    client.sendall(f"GET {STREAM} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return client


def resident_mb(node: Node) -> float:
    status = Path(f"/proc/{node.pid}/status").read_text(encoding="utf-8")
    (line,) = [one for one in status.splitlines() if one.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


async def test_clients_that_read_nothing_cost_little_and_keep_nobody_from_stopping(
    store_url: str,
) -> None:
    async with running(store_url, "--stream-buffer", "100") as node, new_client() as client:
        silent = [connect_and_read_nothing(node) for _ in range(200)]

        async def all_there() -> bool:
            return await open_streams(client, node) == len(silent)

        await until(all_there, 20)
        before = resident_mb(node)
        for _ in range(10):
            await enqueue(client, node, 500)
        # 5000 events of half a kilobyte for each of 200 clients would be half a gigabyte.
        assert resident_mb(node) - before < 120
        started = time.monotonic()
        assert await node.stop() == 0
        assert time.monotonic() - started < 20
        for one in silent:
            one.close()


async def test_streams_that_were_left_are_noticed(store_url: str) -> None:
    async with running(store_url) as node, new_client() as client:
        async with AsyncExitStack() as stack:
            for _ in range(20):
                await stack.enter_async_context(stream(client, f"{node.url}{STREAM}"))
            assert await open_streams(client, node) == 20

        async def none_left() -> bool:
            return await open_streams(client, node) == 0

        await until(none_left, 10)
