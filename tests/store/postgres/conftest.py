"""Run functions on several nodes at the same time."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from ojs_server.store.postgres import connect
from ojs_server.store.postgres.bounded import BoundedConnection

InThread = Callable[..., Future[Any]]


@pytest.fixture
def threaded() -> Iterator[InThread]:
    """Runs things at the same time, each in a thread of its own."""
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit


@pytest.fixture(autouse=True)
def new_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here connections themselves are what is tested: none is kept from an earlier test."""
    monkeypatch.setattr(connect, "DRIVER", BoundedConnection)
