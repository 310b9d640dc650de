"""A worker's engine against a scripted server, in memory and with short times."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from ojs_worker import Worker
from ojs_worker.running.lifetime import Running
from ojs_worker.transport import pauses
from tests.http.conftest import serve
from tests.worker.scripted import ALL, MemoryTransport, ScriptedServer

__all__ = ["serve"]

Start = Callable[[Worker], AbstractAsyncContextManager[Running]]
QUICK: dict[str, Any] = {
    "concurrency": 3,
    "grace": 0.3,
    "heartbeat_interval": 0.05,
    "poll_interval": 0.02,
    "long_poll": 5,
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers in this process retry without long pauses."""
    monkeypatch.setattr(pauses, "FIRST_S", 0.01)


@pytest.fixture
def scripted() -> ScriptedServer:
    """A server that registers workers and holds FETCHes."""
    return ScriptedServer(paths=ALL, holds=True)


@pytest.fixture
def make_worker(scripted: ScriptedServer) -> Callable[..., Worker]:
    """A worker of that server, with short times unless said otherwise."""

    def make(**settings: Any) -> Worker:
        return Worker(transport=MemoryTransport(scripted), **{**QUICK, **settings})

    return make


@pytest.fixture
def start() -> Start:
    """Runs a worker for the length of a block, and stops it where it still runs."""

    @asynccontextmanager
    async def run(worker: Worker) -> AsyncIterator[Running]:
        running = await worker.life().start()
        ended = asyncio.create_task(running.wait())
        try:
            yield running
        finally:
            running.begin_shutdown()
            async with asyncio.timeout(20):
                await ended

    return run
