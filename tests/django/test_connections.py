"""Connections to databases around the jobs of a worker."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.db.backends.signals import connection_created

from ojs_django import enqueue
from ojs_django.connections import around_coroutines
from ojs_worker.context import Context
from ojs_worker.job import Job
from ojs_worker.testing import Sandbox
from tests.django.shop.jobs import confirm, count
from tests.django.shop.models import Order


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """The connections that were opened, in their order."""
    found: list[Any] = []

    def note(connection: Any, **_: Any) -> None:
        found.append(connection)

    connection_created.connect(note)
    yield found
    connection_created.disconnect(note)
    for connection in found:
        # The threads that opened them are gone.
        connection.inc_thread_sharing()
        connection.close()


@pytest.mark.parametrize(("max_age", "expected"), [(None, 1), (0, 2)])
def test_a_threads_connection_is_kept_for_as_long_as_the_settings_say(
    *,
    ojs: Sandbox,
    shop: Path,
    opened: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    max_age: int | None,
    expected: int,
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", max_age)
    for _ in range(2):
        enqueue(confirm, [Order.objects.create(email="ada").pk])
    opened.clear()
    ojs.drain_blocking()
    ojs.assert_completed(confirm, count=2)
    assert len(opened) == expected


def test_so_is_that_of_coroutines(ojs: Sandbox, shop: Path, opened: list[Any]) -> None:
    for _ in range(2):
        enqueue(count)
    ojs.drain_blocking()
    ojs.assert_completed(count, count=2)
    assert len(opened) == 2


class Idle:
    """A worker that does nothing for its handlers."""

    shutting_down = False


async def test_the_queries_of_a_coroutine_do_not_wait_for_those_of_another() -> None:
    both = threading.Barrier(2)

    async def handler() -> int:
        return await sync_to_async(both.wait)(timeout=20)

    context = Context(Job(id="1", type="t"), cast(Any, Idle()))
    jobs = [around_coroutines(context.job, context, handler) for _ in range(2)]
    assert sorted(await asyncio.gather(*jobs)) == [0, 1]
