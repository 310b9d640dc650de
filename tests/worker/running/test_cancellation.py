"""A running job is cancelled: what its handler notices in the loop, in a thread, in a process."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ojs_server.app import Application, Server
from ojs_worker import BlockingContext, Context, StopReason, Worker
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve
from tests.http.waiting import until
from tests.worker import bad_handlers
from tests.worker.conftest import QUICK

BOUND_S = 30


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.fixture
def worker(server: Server) -> Worker:
    # An answer to a heartbeat is awaited for one interval, so it is long enough for a slow machine.
    settings = {**QUICK, "heartbeat_interval": 0.5}
    return Worker(transport=AsgiTransport(Application(server)), **settings)


async def test_a_coroutine_is_cancelled_at_its_await(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ojs.worker")
    began, noticed = asyncio.Event(), asyncio.Event()
    reasons: list[StopReason | None] = []

    @worker.job("a.b")
    async def handler(ctx: Context) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reasons.append(ctx.stop_reason)
            noticed.set()
            raise

    async with worker, asyncio.timeout(BOUND_S):
        job = await handler.enqueue()
        await began.wait()
        await job.cancel()
        await noticed.wait()
    assert reasons == [StopReason.CANCELLED]
    assert await job.status() == "cancelled"
    said = [line.levelname for line in caplog.records if "was cancelled" in line.getMessage()]
    assert said == ["INFO"]


async def test_a_thread_sees_that_it_is_cancelled_and_keeps_its_place_until_it_ends(
    worker: Worker,
) -> None:
    began, noticed, may_end = threading.Event(), threading.Event(), threading.Event()
    reasons: list[StopReason | None] = []

    @worker.job("a.b")
    def handler(ctx: BlockingContext) -> str:
        began.set()
        while not ctx.cancelled:
            ctx.heartbeat()
        reasons.append(ctx.stop_reason)
        noticed.set()
        may_end.wait(BOUND_S)
        return "dropped"

    async with worker:
        job = await handler.enqueue()
        await until(began.is_set)
        await job.cancel()
        await until(noticed.is_set)
        ended = await job.wait(timeout_s=BOUND_S)
        may_end.set()
    assert reasons == [StopReason.CANCELLED]
    assert (ended.state, ended.result) == ("cancelled", None)


async def test_a_process_is_killed_and_the_next_job_has_another(
    worker: Worker, tmp_path: Path
) -> None:
    worker.registry.include(bad_handlers.worker.registry)
    gate, marks = tmp_path / "gate", tmp_path / "marks"
    async with worker:
        first = await worker.client.enqueue("waits.there", [str(gate), str(marks), "first"])
        # A file that exists may be empty yet, and a killed process would leave it so.
        await until(lambda: marks.exists() and marks.read_text() == "first\n")
        await first.cancel()
        gate.touch()
        second = await worker.client.enqueue("waits.there", [str(gate), str(marks), "second"])
        assert (await second.wait(timeout_s=BOUND_S)).state == "completed"
    assert await first.status() == "cancelled"
    assert marks.read_text().split() == ["first", "second"]
