"""FETCH that waits for a job: it is woken, never polls, and takes nothing once it has left."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_wire.codec import encode
from tests.http.listening import on_a_socket
from tests.http.steps import V1, WORKERS, body, enqueue, fetch, stored_jobs
from tests.http.waiting import entered

LONG = 20_000
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def waiting(
    client: httpx.AsyncClient, server: Server
) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """A FETCH that waits, and is known to the server."""
    request = {"queues": ["email"], "wait_ms": LONG, "worker_id": "worker-1"}
    task = asyncio.create_task(client.post(f"{WORKERS}/fetch", json=request))
    await entered(server, 1)
    yield task
    task.cancel()


async def answer(task: asyncio.Task[httpx.Response]) -> list[str]:
    """Return the ids of the jobs that a waiting FETCH gets within five seconds."""
    async with asyncio.timeout(5):
        response = await task
    assert response.status_code == 200
    return [job["id"] for job in body(response)["jobs"]]


async def test_an_enqueue_wakes_a_waiting_fetch(
    client: httpx.AsyncClient, waiting: asyncio.Task[httpx.Response]
) -> None:
    await enqueue(client, queue="other")
    assert not waiting.done()
    job = await enqueue(client, queue="email")
    assert await answer(waiting) == [job["id"]]


async def test_every_way_into_the_queue_wakes(
    client: httpx.AsyncClient, waiting: asyncio.Task[httpx.Response]
) -> None:
    job = await enqueue(client, queue="email", pending=True)
    assert not waiting.done()
    await client.post(f"{V1}/jobs/{job['id']}/activate")
    assert await answer(waiting) == [job["id"]]


async def test_a_requeue_wakes(client: httpx.AsyncClient, server: Server) -> None:
    job = await enqueue(client, queue="email")
    await fetch(client, ("email",))
    request = {"queues": ["email"], "wait_ms": LONG}
    task = asyncio.create_task(client.post(f"{WORKERS}/fetch", json=request))
    await entered(server, 1)
    await client.post(f"{WORKERS}/nack", json={"job_id": job["id"], "requeue": True})
    assert await answer(task) == [job["id"]]


async def test_a_resumed_queue_wakes(
    client: httpx.AsyncClient, waiting: asyncio.Task[httpx.Response]
) -> None:
    await client.post(f"{V1}/queues/email/pause")
    job = await enqueue(client, queue="email")
    assert not waiting.done()
    await client.post(f"{V1}/queues/email/resume")
    assert await answer(waiting) == [job["id"]]


async def test_a_scheduled_job_wakes_when_its_time_comes(
    client: httpx.AsyncClient, waiting: asyncio.Task[httpx.Response]
) -> None:
    job = await enqueue(client, queue="email", scheduled_at="+50ms")
    assert await answer(waiting) == [job["id"]]


async def test_one_job_goes_to_one_of_many(client: httpx.AsyncClient, server: Server) -> None:
    request = {"queues": ["email"], "wait_ms": LONG}
    tasks = [asyncio.create_task(client.post(f"{WORKERS}/fetch", json=request)) for _ in range(5)]
    await entered(server, 5)
    jobs = [await enqueue(client, queue="email") for _ in range(5)]
    got = [await answer(task) for task in tasks]
    assert sorted(one for ids in got for one in ids) == sorted(job["id"] for job in jobs)
    assert [len(ids) for ids in got] == [1] * 5


async def test_a_wait_in_vain_ends_empty(client: httpx.AsyncClient) -> None:
    assert await fetch(client, ("email",), wait_ms=20) == []


async def test_a_stopping_server_answers_whoever_waits(
    server: Server, waiting: asyncio.Task[httpx.Response]
) -> None:
    server.begin_stop()
    assert await answer(waiting) == []


async def test_whoever_has_left_takes_nothing(client: httpx.AsyncClient, server: Server) -> None:
    request = encode({"queues": ["email"], "wait_ms": LONG})
    left = asyncio.Event()
    messages = [{"type": "http.request", "body": request, "more_body": False}]

    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        """Drop the answer."""

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{WORKERS}/fetch",
        "query_string": b"",
        "headers": [],
    }
    call = asyncio.create_task(Application(server)(scope, receive, send))
    await entered(server, 1)
    left.set()
    await entered(server, 0)
    job = await enqueue(client, queue="email")
    async with asyncio.timeout(5):
        await call
    assert await stored_jobs(client) == 1
    assert [one["id"] for one in await fetch(client, ("email",))] == [job["id"]]


@pytest.mark.parametrize("behind", [[HEALTH], [HEALTH] * 3, [b"no HTTP\r\n\r\n"]])
async def test_whoever_has_left_takes_nothing_with_requests_behind_the_fetch(
    client: httpx.AsyncClient, server: Server, behind: list[bytes]
) -> None:
    asked = encode({"queues": ["email"], "wait_ms": LONG})
    head = (
        f"POST {WORKERS}/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asked)}\r\n\r\n"
    )
    async with on_a_socket(server) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode() + asked)
        await entered(server, 1)
        for sent in behind:
            writer.write(sent)
            await writer.drain()
            # So that each is read by itself.
            await client.get("/health")
        writer.close()
        await entered(server, 0)
    job = await enqueue(client, queue="email")
    assert [one["id"] for one in await fetch(client, ("email",))] == [job["id"]]
