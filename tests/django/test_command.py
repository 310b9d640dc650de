"""`manage.py ojs_worker`, a process that runs the project's jobs and tasks of a real server."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.test import override_settings

from ojs_django import enqueue_after_commit, get_client
from tests.django.project import SETTINGS, on_postgres
from tests.django.shop import tasks
from tests.django.shop.jobs import confirm
from tests.django.shop.models import Order
from tests.e2e.node import Node
from tests.http.waiting import until
from tests.store.postgres.server import query
from tests.worker.process import worker

COMMAND = ("django", "ojs_worker")
WAIT_S = 60


async def aside(do: Callable[[], Any]) -> Any:
    """Run what uses the database in a thread, with connections of its own."""

    def run() -> Any:
        try:
            return do()
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


@pytest.fixture
async def start() -> AsyncIterator[Callable[[str], Awaitable[Node]]]:
    """Starts a server on a store."""
    nodes: list[Node] = []

    async def started(database: str) -> Node:
        nodes.append(node := Node(database))
        await node.start()
        return node

    yield started
    for node in nodes:
        await node.kill()


@pytest.mark.parametrize("options", [(), ("--workers=2", "--only-queues", "--queues=mail,default")])
async def test_it_runs_jobs_and_tasks_and_ends_when_told(
    sqlite_store: Path,
    shop: Path,
    start: Callable[[str], Awaitable[Node]],
    options: tuple[str, ...],
    tmp_path: Path,
) -> None:
    node = await start(f"sqlite:///{sqlite_store}")

    def buy() -> tuple[Any, Any, str]:
        with transaction.atomic():
            order = Order.objects.create(email="ada@example.org")
            job_id = enqueue_after_commit(confirm, [order.pk])
        greeting = tasks.greet.enqueue("ada")
        confirmed = get_client().result(job_id, timeout_s=WAIT_S)
        get_client().wait(greeting.id, timeout_s=WAIT_S)
        greeting.refresh()
        order.refresh_from_db()
        return confirmed, greeting.return_value, order.state

    # The worker is started elsewhere, and told where the project is.
    (project := tmp_path / "project").mkdir()
    (project / "of_the_shop.py").write_text(f"from {SETTINGS} import *\n")
    environ = {"DJANGO_SETTINGS_MODULE": "of_the_shop", "SHOP_SQLITE": str(shop)}
    with override_settings(OJS={"URL": node.url}):
        async with worker(
            *(node.url, *options, f"--pythonpath={project}"),
            command=COMMAND,
            folder=tmp_path,
            **environ,
        ) as process:
            assert await aside(buy) == ("ada@example.org", "hello ada", "confirmed")
            process.send(signal.SIGTERM)
            assert await process.code() == 0


async def test_it_runs_what_was_enqueued_in_a_transaction_of_the_servers_database(
    postgres_store: str, start: Callable[[str], Awaitable[Node]]
) -> None:
    node = await start(postgres_store)
    schema = str(query(postgres_store, "SELECT current_schema()")[0][0])
    setting = {
        "URL": node.url,
        "AFTER_COMMIT": "transactional",
        "DATABASE": "postgres",
        "SCHEMA": schema,
    }

    def buy() -> str:
        with connections["postgres"].schema_editor() as editor:
            editor.create_model(Order)
        with transaction.atomic(using="postgres"):
            order = Order.objects.using("postgres").create(email="ada@example.org")
            return enqueue_after_commit(confirm, [order.pk])

    environ = {
        "DJANGO_SETTINGS_MODULE": SETTINGS,
        "SHOP_STORE": "postgres",
        "SHOP_POSTGRES_URL": postgres_store,
    }
    with on_postgres(postgres_store), override_settings(OJS=setting):
        async with worker(node.url, command=COMMAND, **environ):
            job_id = await aside(buy)
            # The server stores the job after the commit.
            await until(lambda: query(postgres_store, "SELECT 1 FROM staged_jobs") == [])
            await asyncio.to_thread(get_client().result, job_id, timeout_s=WAIT_S)
            assert query(postgres_store, "SELECT state FROM shop_order") == [("confirmed",)]


def test_it_does_not_start_with_a_wrong_setting() -> None:
    with (
        override_settings(OJS={"URI": "http://127.0.0.1:8080"}),
        pytest.raises(CommandError, match="did you mean"),
    ):
        call_command("ojs_worker", skip_checks=False)
