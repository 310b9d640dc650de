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
from ojs_server.store.postgres.counter_rows import EVERY
from ojs_server.store.postgres.due_floors import MARGIN_MS
from ojs_server.store.postgres.store import PostgresStore
from tests.plans import COUNTING, Watched, telling
from tests.postgres import Database, uncounted
from tests.store.records import HandClock, a_job, a_lease, an_event, claim, log

WORK = 3_000
Counting = tuple[PostgresStore, psycopg.Connection[Any]]


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
) -> Iterator[Counting]:
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
    counting: Counting,
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
    # Now and then a claim is planned anew or looks for its floor again, and reads more.
    held = min(pages(watched, lambda: claim(store, types=types, n=10))[statement] for _ in range(3))
    assert 0 < held <= 1.5 * fresh


def look(store: PostgresStore) -> None:
    with store.reader() as reader:
        reader.due()


def sweep(store: PostgresStore) -> None:
    with store.transaction() as tx:
        tx.load_due(10)
        tx.load_lapsed(0, tx.now, 10)


def test_looks_for_what_is_due_read_no_further_under_a_foreign_snapshot(
    counting: Counting, watched: Watched, clock: HandClock
) -> None:
    """Each step stores jobs that are due and leases that end, and removes them again."""
    store, foreign = counting

    def pass_by(steps: int) -> None:
        for step in range(steps):
            due = clock.now + 1000
            waiting = [
                a_job(f"{due}.{n}", state="scheduled", due_at=due + n, seq=step) for n in range(100)
            ]
            with store.transaction() as tx:
                tx.insert_jobs(waiting)
                tx.insert_leases(
                    [a_lease(one.job.id, expires_at=due, deadline_at=due) for one in waiting]
                )
                tx.delete_jobs([one.job.id for one in waiting])
                tx.drop_leases([one.job.id for one in waiting])
            clock.forward(1000)
        clock.forward(MARGIN_MS + 1000)
        look(store)

    pass_by(30)
    fresh = pages(watched, lambda: look(store)) + pages(watched, lambda: sweep(store))
    foreign.execute("SELECT 1 FROM jobs LIMIT 1")
    pass_by(30)
    held = pages(watched, lambda: look(store)) + pages(watched, lambda: sweep(store))
    for statement in ("next_due", "load_due", "load_lapsed"):
        assert 0 < held[statement] <= 1.5 * fresh[statement], statement


def test_removing_events_reads_no_further_under_a_foreign_snapshot(
    counting: Counting, watched: Watched
) -> None:
    store, foreign = counting

    def remove(steps: int) -> None:
        for _ in range(steps):
            log(store, *[an_event()] * 100)
            with store.transaction() as tx:
                tx.tally_events(1000)
                assert tx.delete_events(0, 100, 100) == 100

    def span() -> None:
        with store.reader() as reader:
            reader.log_span()

    log(store, *[an_event()] * 100)
    remove(30)
    fresh = pages(watched, lambda: remove(1)) + pages(watched, span)
    foreign.execute("SELECT 1 FROM jobs LIMIT 1")
    remove(30)
    held = pages(watched, lambda: remove(1)) + pages(watched, span)
    for statement in ("count_events", "delete_events", "lower_tally", "log_span"):
        assert 0 < held[statement] <= 1.5 * fresh[statement], statement


def test_leases_are_found_by_their_jobs_under_a_foreign_snapshot(
    counting: Counting, watched: Watched
) -> None:
    """The statistics say that the table is small, as few leases of the many are there."""
    store, foreign = counting

    def hold(name: str) -> None:
        ids = [f"{name}.{number}" for number in range(100)]
        with store.transaction() as tx:
            tx.insert_leases([a_lease(job_id) for job_id in ids])
        with store.transaction() as tx:
            tx.extend_leases(list(tx.load_leases(ids).values()))
        with store.transaction() as tx:
            tx.drop_leases(ids)

    def hold_many(name: str) -> None:
        for step in range(30):
            hold(f"{name}.{step}")
        with psycopg.connect(foreign.info.dsn, autocommit=True) as other:
            other.execute("ANALYZE leases")
        hold(f"{name}.planned")

    hold_many("fresh")
    fresh = pages(watched, lambda: hold("counted"))
    foreign.execute("SELECT 1 FROM jobs LIMIT 1")
    hold_many("held")
    held = pages(watched, lambda: hold("compared"))
    for statement in ("load_leases", "extend_leases", "drop_leases"):
        assert 0 < held[statement] <= 1.5 * fresh[statement], (statement, fresh, held)


def test_counters_are_changed_as_fast_under_a_foreign_snapshot(
    counting: Counting, watched: Watched
) -> None:
    store, foreign = counting
    queues = ("a", "b")

    def count(times: int) -> None:
        for _ in range(times):
            with store.transaction() as tx:
                tx.add_counts({queue: {"available": 1, "completed": 2} for queue in queues})

    count(3 * EVERY // 2)
    fresh = pages(watched, lambda: count(1))["add_counts"]
    foreign.execute("SELECT 1 FROM jobs LIMIT 1")
    count(4 * EVERY)
    held = pages(watched, lambda: count(1))["add_counts"]
    # Half of the versions that rows may have, at 60 per page, and their index entries.
    assert 0 < held <= fresh + len(queues) * EVERY // 60, (fresh, held)
    with store.reader() as reader:
        (found,) = [one for one in reader.queues() if one.name == "a"]
    assert found.counts["available"] == 11 * EVERY // 2 + 2
    assert found.counts["completed"] == 11 * EVERY + 4
