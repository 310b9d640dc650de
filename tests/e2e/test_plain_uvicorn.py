"""The application under an ASGI server that is not the project's own."""

import asyncio
import signal
import time
from pathlib import Path

import httpx
import pytest

from ojs_server.stop_signals import STOPS
from tests.e2e.node import START_S, running, until
from tests.e2e.sse import stream

FETCH = {"queues": ["default"], "wait_ms": 30_000}


@pytest.mark.parametrize("sig", STOPS)
async def test_a_stop_ends_streams_and_answers_what_waits(
    sqlite_store: Path, sig: signal.Signals
) -> None:
    database = f"sqlite:///{sqlite_store}"
    async with (
        running(database, module="tests.e2e.plain_uvicorn") as node,
        httpx.AsyncClient(timeout=START_S) as client,
    ):

        async def is_ready() -> bool:
            try:
                return (await client.get(f"{node.url}/ready")).is_success
            except httpx.TransportError:
                return False

        await until(is_ready, START_S)
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
