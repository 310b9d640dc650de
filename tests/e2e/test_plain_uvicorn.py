"""The application under an ASGI server that is not the project's own."""

import asyncio
import signal
import time
from pathlib import Path

import httpx
import pytest
from wsproto.events import CloseConnection, Message

from ojs_server.stop_signals import STOPS
from tests.e2e.node import START_S, Node, running, until
from tests.e2e.sse import stream
from tests.e2e.test_websocket import connected

FETCH = {"queues": ["default"], "wait_ms": 30_000}


async def is_ready(node: Node) -> bool:
    async with httpx.AsyncClient() as client:
        try:
            return (await client.get(f"{node.url}/ready")).is_success
        except httpx.TransportError:
            return False


@pytest.mark.parametrize("sig", STOPS)
async def test_a_stop_ends_streams_and_answers_what_waits(
    sqlite_store: Path, sig: signal.Signals
) -> None:
    database = f"sqlite:///{sqlite_store}"
    async with (
        running(database, module="tests.e2e.plain_uvicorn") as node,
        httpx.AsyncClient(timeout=START_S) as client,
    ):
        await until(lambda: is_ready(node), START_S)
        waiting = asyncio.create_task(client.post(f"{node.url}/ojs/v1/workers/fetch", json=FETCH))
        await until(lambda: node.holds_waiting(1), START_S)
        async with stream(client, f"{node.url}/ojs/v1/events/stream") as reader:
            started = time.monotonic()
            stopping = asyncio.create_task(node.stop(sig))
            assert await reader.event() == ("server.shutdown", {"reason": "stopping"})
            with pytest.raises(EOFError):
                await reader.event()
        answer = await waiting
        assert (answer.status_code, answer.json()["jobs"]) == (200, [])
        # uvicorn ends its process by the signal that it was sent.
        assert await stopping in (0, -sig)
        assert time.monotonic() - started < 15


async def test_a_stop_ends_websockets(sqlite_store: Path) -> None:
    database = f"sqlite:///{sqlite_store}"
    async with running(database, module="tests.e2e.plain_uvicorn") as node:
        await until(lambda: is_ready(node), START_S)
        async with connected(node) as client:
            client.send(Message('{"action":"subscribe","channel":"all"}'))
            assert (await client.next())["type"] == "subscribed"
            stopping = asyncio.create_task(node.stop())
            assert (await client.next())["event"] == "server.shutdown"
            assert isinstance(await client.next(), CloseConnection)
        await stopping
    assert not [line for line in node.output if "Traceback" in line or "ERROR" in line]
