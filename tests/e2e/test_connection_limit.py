"""A server with few file descriptors serves its clients beside any number of slow ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.node import Node, running, until

SLOW = 280
HEAD = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
BODY = HEAD + b"Content-Length: 1000\r\n\r\n{"
JOB = {"type": "t", "args": []}


def limited(command: str) -> tuple[str, ...]:
    """A shell that sets a limit and becomes the server."""
    return ("sh", "-c", f'{command} && exec "$@"', "sh")


@asynccontextmanager
async def slow_clients(node: Node, said: bytes) -> AsyncIterator[None]:
    """Clients that begin to say something and do not go on."""
    writers = []
    host, port = node.url.removeprefix("http://").split(":")
    try:
        for _ in range(SLOW):
            _, writer = await asyncio.open_connection(host, int(port))
            writers.append(writer)
            writer.write(said)
        yield
    finally:
        for writer in writers:
            writer.close()


@pytest.mark.parametrize("said", [b"", b"P", HEAD, BODY], ids=["nothing", "letter", "head", "body"])
async def test_slow_clients_shut_nobody_out(tmp_path: Path, said: bytes) -> None:
    database = str(tmp_path / "ojs.db")
    async with running(database, wrapper=limited("ulimit -n 256")) as node:
        async with httpx.AsyncClient(base_url=node.url, timeout=60) as waiting:
            fetch = asyncio.create_task(
                waiting.post(
                    "/ojs/v1/workers/fetch", json={"queues": ["default"], "wait_ms": 30_000}
                )
            )
            await until(lambda: node.holds_waiting(1), 30)
            async with slow_clients(node, said), httpx.AsyncClient(timeout=60) as client:
                answer = await client.post(f"{node.url}/ojs/v1/jobs", json=JOB)
                assert answer.status_code == 201
                # A long poll is not quiet, and none of its jobs is lost.
                taken = (await fetch).json()["jobs"]
                assert [job["id"] for job in taken] == [answer.json()["job"]["id"]]
        assert await node.stop() == 0
    (told, *_) = [line for line in node.output if "connections are taken" in line]
    assert "all 160 connections" in told


async def test_the_limit_of_descriptors_is_raised(tmp_path: Path) -> None:
    database = str(tmp_path / "ojs.db")
    wrapper = limited("ulimit -Sn 64 && ulimit -Hn 1024")
    async with running(database, wrapper=wrapper) as node:
        host, port = node.url.removeprefix("http://").split(":")
        clients = [await asyncio.open_connection(host, int(port)) for _ in range(SLOW)]
        # Each is answered while all the others are open.
        for reader, writer in clients:
            writer.write(b"GET /ojs/manifest HTTP/1.1\r\nHost: localhost\r\n\r\n")
            async with asyncio.timeout(60):
                assert b" 200 " in await reader.readline()
        for _, writer in clients:
            writer.close()
        assert await node.stop() == 0
    assert not [line for line in node.output if "connections are taken" in line]
