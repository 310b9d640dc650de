"""Statements that begin at the front of an index read no more while a foreign snapshot is held.

It keeps the entries of all rows that were changed or removed since, and what begins at the front of
an index would walk over them again and again. Pages are counted, on the distribution's PostgreSQL.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.store.postgres import connect
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.store import PostgresStore
from tests.plans import COUNTING, Watched, telling
from tests.postgres import Database, uncounted
from tests.store.records import HandClock, a_job, claim

WORK = 3_000
Work = Callable[[PostgresStore, int], object]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The plans of all connections that are made from now on."""
    watched = Watched()

    class Telling(BoundedConnection):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.add_notice_handler(watched.note)

    monkeypatch.setattr(connect, "DRIVER", Telling)
    return watched


@pytest.fixture
def counting(
    distribution_database: Database, watched: Watched, clock: HandClock
) -> Iterator[tuple[PostgresStore, psycopg.Connection[Any]]]:
    """A store that counts pages, and a connection of another application to its database."""
    with distribution_database.store() as url:
        uncounted(url)
        with (
            closing(PostgresStore(telling(url, COUNTING), node="a", clock=clock)) as store,
            psycopg.connect(url) as foreign,
        ):
            foreign.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield store, foreign


def pages(watched: Watched, act: Callable[[], object]) -> Counter[str]:
    """The pages that each statement of something reads."""
    watched.taken()
    act()
    counted: Counter[str] = Counter()
    for plan in watched.taken():
        counted[plan.statement] += plan.pages
    return counted


def fill(store: PostgresStore, number: int, prefix: str, **fields: Any) -> None:
    """Store available jobs at positions of their transactions, hundreds at a time."""
    for start in range(0, number, 500):
        with store.transaction() as tx:
            jobs = [
                a_job(f"{prefix}{n}", seq=tx.position(), priority=n % 3, **fields)
                for n in range(start, start + 500)
            ]
            assert tx.insert_jobs(jobs) == set()


@pytest.mark.parametrize(
    ("types", "statement"), [(None, "claim"), (["mail.send", "none"], "claim_types")]
)
def test_claims_read_no_further_under_a_foreign_snapshot(
    counting: tuple[PostgresStore, psycopg.Connection[Any]],
    watched: Watched,
    types: list[str] | None,
    statement: str,
) -> None:
    store, foreign = counting
    fill(store, WORK + 1000, "j")
    for _ in range(20):
        claim(store, types=types, n=10)
    fresh = pages(watched, lambda: claim(store, types=types, n=10))[statement]
    foreign.execute("SELECT 1 FROM jobs LIMIT 1")
    for _ in range(WORK // 10):
        claim(store, types=types, n=10)
    held = pages(watched, lambda: claim(store, types=types, n=10))[statement]
    assert 0 < held <= 1.5 * fresh
