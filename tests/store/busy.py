"""A transaction that holds locks, and stores that wait for locks only briefly."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import apsw
import msgspec
import psycopg
import pytest

from ojs_server.store.base import Clock, Store
from ojs_server.store.open import open_store, sqlite_path
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.sqlite.store import SqliteStore

PATIENCE_MS: Final = 50


def impatient(url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Open a store that soon gives up waiting for a lock."""
    if url.startswith("sqlite:"):
        return SqliteStore(sqlite_path(url), clock=clock, patience_ms=PATIENCE_MS)
    limit(monkeypatch, "lock_timeout")
    return open_store(url, clock=clock)


def limit(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """Let transactions on PostgreSQL have no more than a moment for something."""
    begun = STATEMENTS["begun"]
    sql = f"{begun.sql}, set_config('{setting}', '{PATIENCE_MS}ms', true)"
    monkeypatch.setitem(STATEMENTS, "begun", msgspec.structs.replace(begun, sql=sql))


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Meanwhile somebody else has the file to write to, or all jobs."""
    if url.startswith("sqlite:"):
        with closing(apsw.Connection(sqlite_path(url))) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE jobs")
            yield
