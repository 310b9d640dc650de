"""The write-ahead log is checkpointed beside the commits, and stays bounded."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

import apsw
import msgspec
import pytest

from ojs_server.environment import Inbox, MachineThreads, machine
from ojs_server.store.sqlite.backfill import MOST, STEP, Backfill
from ojs_server.store.sqlite.store import SqliteStore
from tests.store.postgres.server import wait_until
from tests.store.records import a_job, put

PAGE = 4096

Item = TypeVar("Item")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "x.db"))
    yield store
    store.close()


class Slow(MachineThreads):
    """Threads that get to nothing."""

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        """An inbox that is never emptied."""
        return super().inbox(name, lambda item: None)


@pytest.fixture
def slow_store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store whose log no thread carries over."""
    environment = msgspec.structs.replace(machine(), threads=Slow())
    with closing(SqliteStore(str(tmp_path / "x.db"), environment=environment)) as store:
        yield store


def pages(path: Path) -> int:
    return path.stat().st_size // PAGE


def fill(store: SqliteStore, count: int, batch: int = 100) -> None:
    """Store this many jobs of about a page each."""
    large = b'["%b"]' % (b"x" * PAGE)
    for _ in range(0, count, batch):
        put(store, *(a_job(str(uuid4()), args=large) for _ in range(batch)))


def test_the_log_is_carried_over_while_nothing_more_is_committed(store: SqliteStore) -> None:
    before = pages(store.path)
    fill(store, STEP, STEP)
    wait_until(lambda: pages(store.path) >= before + STEP)


def test_the_log_begins_anew_where_the_thread_does_not_get_to_it(slow_store: SqliteStore) -> None:
    store = slow_store
    before = pages(store.path)
    fill(store, 2 * STEP)
    assert pages(store.path) == before
    fill(store, 3 * MOST)
    log = store.path.with_name(f"{store.path.name}-wal")
    assert pages(log) < MOST * 1.5
    assert pages(store.path) > 2 * MOST


class Failing:
    """A connection whose disk is full."""

    def __init__(self) -> None:
        self.tried = threading.Semaphore(0)

    def set_wal_hook(self, hook: object) -> None:
        """Nothing is committed here."""

    def wal_checkpoint(self, mode: int) -> None:
        """It cannot be carried over."""
        self.tried.release()
        raise apsw.FullError("database or disk is full")


def test_a_commit_is_one_also_where_its_log_cannot_be_carried_over() -> None:
    own, writer = Failing(), cast(Any, Failing())
    backfill = Backfill(writer, cast(Any, own), MachineThreads())
    try:
        for length in (STEP, 2 * STEP, 1, STEP):
            assert backfill.grown(writer, "main", length) == apsw.SQLITE_OK
            assert length < STEP or own.tried.acquire(timeout=10)
        assert backfill.grown(writer, "main", MOST) == apsw.SQLITE_OK
        assert writer.tried.acquire(timeout=0)
        assert not own.tried.acquire(timeout=0)
    finally:
        backfill.close()
