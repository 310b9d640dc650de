"""A worker of the blackboard when things go wrong: an engine that is away, odd results, its end."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_worker.blackboard import BoardWorker, FunctionBlock
from tests.systems.blackboard.board import put, seen
from tests.systems.conftest import System
from tests.systems.world import until


class Copy(FunctionBlock):
    """Returns what its job says."""

    id = "copy"
    result_schema: Mapping[str, Any] | None = {"type": "integer"}

    def run(self, context: Mapping[str, Any]) -> Any:
        return object() if context["value"] == "odd" else context["value"]


class Held(FunctionBlock):
    """Works until it is let go."""

    id = "held"

    def __init__(self) -> None:
        self.begun, self.free = threading.Event(), threading.Event()

    def run(self, context: Mapping[str, Any]) -> Any:
        self.begun.set()
        assert self.free.wait(20)


class Away(httpx.AsyncBaseTransport):
    """A transport to an engine that fails for a number of calls of a path."""

    def __init__(self, board: System, times: dict[str, int]) -> None:
        self._way = httpx.ASGITransport(app=Application(board.server))
        self.times = times

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        left = self.times.get(request.url.path, 0)
        self.times[request.url.path] = left - 1
        if left == 1:
            return httpx.Response(503, text="starting", request=request)
        if left > 1:
            raise httpx.ConnectError("refused", request=request)
        return await self._way.handle_async_request(request)


@asynccontextmanager
async def running(
    board: System, block: FunctionBlock, client: httpx.AsyncClient | None = None, **options: Any
) -> AsyncIterator[tuple[BoardWorker, asyncio.Task[None]]]:
    """A worker that is registered and runs."""
    worker = BoardWorker(client or board.client, [block], poll_interval=0.01, **options)
    await worker.register()
    task = asyncio.create_task(worker.run())
    try:
        yield worker, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def outcome(board: System, job: str) -> Any:
    """Return the outcome of a job."""
    return (await seen(board, job))["outcome"]


async def ended(board: System, job: str) -> bool:
    """Return True if the job has ended."""
    return bool((await seen(board, job))["blackboard_status"] == "PUSHED")


async def test_an_engine_that_is_away_is_waited_for(board: System) -> None:
    way = Away(board, {"/blackboard/job": 2, "/blackboard/job/result": 2})
    async with (
        httpx.AsyncClient(transport=way, base_url="http://localhost") as client,
        running(board, Copy(), client),
    ):
        job = await put(board, "copy", value=7)
        await until(lambda: ended(board, job))
    assert await outcome(board, job) == "success"
    assert (await seen(board, job))["result"] == {"result": 7}


@pytest.mark.parametrize(("value", "reason"), [("odd", "TypeError"), ("x", "InvalidResult")])
async def test_a_result_that_cannot_be_taken_is_a_failure(
    board: System, value: str, reason: str
) -> None:
    async with running(board, Copy()):
        job = await put(board, "copy", value=value)
        await until(lambda: ended(board, job))
    shown = await seen(board, job)
    assert (shown["outcome"], shown["failure_reason"]) == ("failure", reason)


@pytest.mark.parametrize("waits", [True, False])
async def test_what_is_at_work_has_the_grace_period(board: System, waits: bool) -> None:
    block = Held()
    async with running(board, block, grace=20 if waits else 0.01) as (worker, task):
        job = await put(board, "held")
        await asyncio.to_thread(block.begun.wait, 20)
        task.cancel()
        if waits:
            await asyncio.sleep(0)
            assert not task.done()
            block.free.set()
        await asyncio.gather(task, return_exceptions=True)
        block.free.set()
        assert await board.presence(worker.id) == "offline"
    assert await outcome(board, job) == ("success" if waits else "failure")


async def test_a_signal_ends_it_in_order(board: System) -> None:
    before = signal.getsignal(signal.SIGTERM)
    worker = BoardWorker(board.client, [Copy()], poll_interval=0.01)
    serving = asyncio.create_task(worker.serve())
    await until(lambda: bool(worker.id))
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(20):
        await serving
    assert await board.presence(worker.id) == "offline"
    assert signal.getsignal(signal.SIGTERM) is before
