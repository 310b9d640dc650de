"""Cron entries beside their handlers."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ojs_server.app import Application, Server
from ojs_worker import CronEntry, Router, Worker
from ojs_worker.config import SettingError
from ojs_worker.testing import AsgiTransport, Sandbox
from tests.http.conftest import Serve
from tests.worker.conftest import Start
from tests.worker.scripted import MemoryTransport, ScriptedServer

CRON = "/ojs/v1/cron"


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


async def test_entries_are_registered_when_the_worker_starts(server: Server) -> None:
    worker = Worker(transport=AsgiTransport(Application(server)))
    ran: asyncio.Queue[int] = asyncio.Queue()

    @worker.cron("0 3 * * *", tz="Europe/Berlin", keep_days=30)
    @worker.job("rows.prune_old", queue="slow")
    async def prune(keep_days: int) -> None:
        ran.put_nowait(keep_days)

    found: list[CronEntry] = []
    for _ in range(2):  # started again, there is still one entry
        async with worker, asyncio.timeout(20):
            while not (found := await worker.client.list_crons()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await worker.client.trigger_cron("rows.prune-old")
            assert await ran.get() == 30
    (entry,) = found
    assert (entry.name, entry.expression) == ("rows.prune-old", "0 3 * * *")
    assert entry.timezone == "Europe/Berlin"


async def test_an_entry_that_is_refused_stops_no_worker(
    scripted: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(transport=MemoryTransport(scripted))
    answers: list[Any] = [
        None,
        (422, {"error": {"message": "no such day"}}),
        (201, {"cron_job": {"name": "second"}}),
    ]
    scripted.answers[CRON] = lambda body: answers.pop(0)
    job = worker.job("a.b")(lambda: None)
    worker.cron("0 0 32 * *", name="first")(job)
    worker.cron("0 0 1 * *", name="second")(job)
    async with start(worker):
        await scripted.until(lambda: not answers)
    named = [call.body["name"] for call in scripted.of(CRON)]
    assert named == ["first", "first", "second"]
    assert "the cron entry first is refused: no such day" in caplog.text


async def test_entries_of_an_owner_that_left_the_code_are_told_and_deleted_on_request(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    def worker_with(*names: str, **settings: Any) -> Worker:
        worker = Worker(transport=AsgiTransport(Application(server)), **settings)
        handler = worker.job("a.b", meta={"m": 1})(lambda: None)
        for name in names:
            worker.cron("@yearly", name=name)(handler)
        return worker

    async def run(worker: Worker, *said: str) -> set[str]:
        caplog.clear()
        async with worker, asyncio.timeout(20):
            while not all(line in caplog.text for line in said):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            return {entry.name for entry in await worker.client.list_crons()}

    caplog.set_level(logging.INFO, "ojs.worker")
    await run(worker_with("foreign"), "the cron entry foreign is registered")
    await run(worker_with("x", cron_owner="other"), "the cron entry x is registered")
    both = await run(worker_with("one", "two", cron_owner="shop"), "entry two is registered")
    assert both == {"foreign", "x", "one", "two"}
    told = await run(worker_with("two", cron_owner="shop"), "entry one of shop is not in the code")
    assert told == both
    pruning = worker_with(cron_owner="shop", prune_cron=True)
    left = await run(pruning, "entry one, which is not", "entry two, which is not")
    assert left == {"foreign", "x"}
    client = Worker(transport=AsgiTransport(Application(server))).client
    assert (await client.get_cron("x")).meta == {"m": 1, "cron_owner": "other"}
    with pytest.raises(SettingError, match="needs an owner"):
        Worker(prune_cron=True).config()


def test_wrong_entries_are_told_where_they_are_written() -> None:
    worker = Worker()
    with pytest.raises(TypeError, match="`cron` stands above `job`"):
        worker.cron("* * * * *")(lambda: None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'days'"):
        worker.cron("* * * * *", days=3)(worker.job("a.b")(lambda: None))


def test_schedules_of_a_router_belong_to_the_worker_that_includes_it() -> None:
    router = Router(queue="slow")

    @router.cron("@daily", keep_days=30)
    @router.job("rows.prune")
    def prune(keep_days: int) -> None: ...

    worker = Worker("http://127.0.0.1:9")
    for _ in range(2):
        worker.include(router)
    with Sandbox(worker, at="2030-01-01T12:00:00Z") as ojs:
        ojs.clock.advance("1d")
        ojs.assert_enqueued(prune, args={"keep_days": 30}, queue="slow", count=1)

    other = Router()
    other.cron("@hourly", name="rows.prune")(other.job("rows.prune_all")(lambda: None))
    with pytest.raises(ValueError, match=r"a cron entry rows\.prune is declared already"):
        worker.include(other)
