"""Workers whose key may not do what they try: cron entries, and calls of handlers."""

import asyncio
import logging
from typing import Any

import pytest

from ojs_server.app import Application, Server
from ojs_server.http.access.keys import parse_keys
from ojs_worker import Worker
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import ALL, MemoryTransport, ScriptedServer

CRON = "/ojs/v1/cron"
SHOP, OTHER, ONLY_WORKER = "the-key-of-the-shop", "the-key-of-another", "the-key-of-a-worker"
ADMIN = "the-key-of-an-admin"
KEYS = parse_keys(
    f"shop=worker+producer:{SHOP},other=worker+producer:{OTHER},worker:{ONLY_WORKER},admin:{ADMIN}",
    {},
)


def worker_of(server: Server, key: str, *entries: str, **settings: Any) -> Worker:
    """A worker with cron entries of these names."""
    transport = AsgiTransport(Application(server), auth=key)
    worker = Worker(transport=transport, **{**QUICK, **settings})
    handler = worker.job("report.send")(lambda: None)
    for name in entries:
        worker.cron("@yearly", name=name)(handler)
    return worker


async def ended(worker: Worker) -> int:
    """Run a worker that ends by itself; answers its exit code."""
    running = await worker.life().start()
    try:
        return await running.wait()
    finally:
        running.begin_shutdown()


async def entries_of(server: Server) -> set[str]:
    client = worker_of(server, SHOP).client
    return {entry.name for entry in await client.list_crons()}


@pytest.mark.parametrize("key", [SHOP, ONLY_WORKER])
async def test_a_worker_registers_and_runs_its_cron_entries(
    serve: Serve, start: Start, key: str
) -> None:
    async with serve(keys=KEYS) as server:
        for names in (("daily", "weekly"), ("daily",)):
            worker = worker_of(server, key, *names, cron_owner="shop", prune_cron=True)
            async with start(worker):
                while await entries_of(server) != set(names):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                job = await worker.client.trigger_cron("daily")
                assert await job.result(timeout_s=30) is None


@pytest.mark.parametrize(
    ("names", "owner", "sentence"),
    [
        (("new", "daily"), "mine", "the cron entries daily are another key's: allowed are other"),
        (("daily",), "mine", "the cron entry daily is refused: the cron entry daily is another"),
        (("new", "newer"), "shop", "the cron owner shop is another key's: allowed are an owner"),
    ],
)
async def test_what_is_another_keys_ends_the_worker_and_nothing_is_registered(
    serve: Serve,
    caplog: pytest.LogCaptureFixture,
    names: tuple[str, ...],
    owner: str,
    sentence: str,
) -> None:
    async with serve(keys=KEYS) as server:
        first = worker_of(server, SHOP, "daily", cron_owner="shop")
        async with first:
            while await entries_of(server) != {"daily"}:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for key in (OTHER, ONLY_WORKER):
            caplog.clear()
            assert await ended(worker_of(server, key, *names, cron_owner=owner)) == 2
            assert f"the worker ends: {sentence}" in caplog.text.replace(
                "the cron entry new is refused: ", ""
            )
            assert await entries_of(server) == {"daily"}


async def test_a_server_that_lets_workers_register_none_ends_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scripted = ScriptedServer(paths=ALL, holds=True)
    message = "a key of the role worker may not do this, which takes one of admin, producer"
    refusal = {"error": {"code": "permission_denied", "message": message}}
    scripted.answers[CRON] = lambda _: (403, refusal)
    worker = Worker(transport=MemoryTransport(scripted), **QUICK)
    handler = worker.job("report.send")(lambda: None)
    worker.cron("@yearly", name="daily")(handler)
    with caplog.at_level(logging.INFO, "ojs.worker"):
        assert await ended(worker) == 2
    assert f"the worker ends: the cron entry daily is refused: {message}" in caplog.text
    # Called once, since a 403 is not retried.
    assert len(scripted.of(CRON)) == 1


async def test_a_handler_that_may_not_enqueue_fails_at_once(serve: Serve, start: Start) -> None:
    async with serve(keys=KEYS) as server:
        worker = worker_of(server, ONLY_WORKER)
        child = worker.job("child")(lambda number: number)

        @worker.job("parent", retry=3)
        async def parent() -> None:
            await child.enqueue(1)

        client = worker_of(server, SHOP).client
        job = await client.enqueue("parent")
        async with start(worker):
            while (found := await client.get(job.id)).state != "discarded":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert found.attempt == 1
        error = found.error or {}
        assert error["type"] == "PermissionDenied"
        assert "role worker may not do this, which takes one of admin" in error["message"]
        admin = worker_of(server, ADMIN).client
        assert [one.type async for one in admin.jobs.list()] == ["parent"]
