"""Errors of the driver: those that can be retried, and those that mean a lost database."""

import select
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.store.base import OutcomeUnknown, StaleWrite, StoreBusy, StoreUnavailable
from ojs_server.store.postgres import writer
from ojs_server.store.postgres.failures import translated
from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.statements import STATEMENTS, Statement
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.bench import Bench, HandClock
from tests.store.busy import PATIENCE_MS, limit, locked
from tests.store.postgres.server import query
from tests.store.records import a_job, put, whole

# A change by a newer node: statements that read jobs have another result type.
MIGRATE = "ALTER TABLE jobs ALTER COLUMN releases TYPE int4"


@pytest.fixture
def store(postgres_store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setitem(STATEMENTS, "backend", Statement("backend", "SELECT pg_backend_pid()"))
    monkeypatch.setitem(STATEMENTS, "forget_names", Statement("forget_names", "DEALLOCATE ALL"))
    with closing(PostgresStore(postgres_store, clock=HandClock(), node="a", readers=1)) as store:
        put(store, a_job("before"))
        yield store


def load(store: PostgresStore) -> list[str]:
    with store.transaction() as tx:
        return list(tx.load_jobs(["before"]))


def test_a_plan_of_before_a_migration_is_decided_on_anew(
    store: PostgresStore, postgres_store: str
) -> None:
    load(store)
    query(postgres_store, MIGRATE)
    with pytest.raises(StaleWrite, match="cached plan"):
        load(store)
    assert load(store) == ["before"]


def test_a_lone_request_does_not_notice_a_migration(
    store: PostgresStore, postgres_store: str
) -> None:
    bench = Bench(store, HandClock())
    first, second = bench.put(), bench.put()
    bench.take("w", 2)
    bench.ack(first)
    query(postgres_store, MIGRATE)
    bench.ack(second)
    assert bench.counts() == {"completed": 2}


def test_names_that_the_database_has_forgotten_are_said_anew(store: PostgresStore) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            tx.run("forget_names")
            tx.load_jobs(["before"])

    load(store)
    with pytest.raises(StaleWrite, match="prepared statement"):
        work()
    assert load(store) == ["before"]
    assert whole(store, "j1") is None


def test_names_that_were_forgotten_between_two_transactions_are_not_missed(
    store: PostgresStore,
) -> None:
    load(store)
    with store.transaction() as tx:
        tx.run("forget_names")
    assert load(store) == ["before"]


def test_whatever_else_the_database_cannot_do_is_not_tried_again(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url)) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
            connection.execute("SELECT count(*) FROM pg_class FOR UPDATE")
        assert translated(refused.value) is refused.value


@pytest.mark.parametrize("then", [[], [a_job("j2")], None], ids=["commit", "write", "read"])
def test_a_transaction_that_the_database_ends_with_its_connection_is_undone(
    store: PostgresStore, postgres_store: str, then: list[StoredJob] | None
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            ((backend,),) = tx.all("backend")
            end = f"SELECT pg_terminate_backend({backend}, 10000)"
            assert query(postgres_store, end) == [(True,)]
            if then is None:
                tx.load_jobs(["before"])
            else:
                tx.insert_jobs(then)

    with pytest.raises((StoreUnavailable, OutcomeUnknown), match="terminating connection"):
        work()
    put(store, a_job("j3"))
    assert [whole(store, name) is not None for name in ("j1", "j2", "j3")] == [False, False, True]


def test_whoever_is_cut_off_has_no_database(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        connection.execute("SET idle_in_transaction_session_timeout = 20")
        connection.execute("BEGIN")
        select.select([connection], [], [])
        # As this class, or as a lost connection if the message came with the previous answer.
        with pytest.raises(psycopg.Error) as cut_off:
            connection.execute("SELECT 1")
        assert isinstance(translated(cut_off.value), StoreUnavailable)


def test_a_statement_that_takes_too_long_finds_the_store_busy(
    store: PostgresStore, postgres_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "statement_timeout")
    with locked(postgres_store), pytest.raises(StoreBusy, match="statement timeout"):
        put(store, a_job("j1"))
    put(store, a_job("j1"))


def test_a_transaction_that_waits_at_its_beginning_is_not_begun_twice(
    postgres_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Pipe] = []

    class Counted(Pipe):
        def __init__(self, connection: psycopg.Connection[Any], **settings: Any) -> None:
            super().__init__(connection, **settings)
            begun.append(self)

    monkeypatch.setattr(writer, "Pipe", Counted)
    # Until it has begun, the session's limits hold.
    url = f"{postgres_store}%20-clock_timeout%3D{PATIENCE_MS}"
    with closing(PostgresStore(url, node="a")) as store:
        put(store, a_job("j1"))
        with psycopg.connect(postgres_store) as other:
            other.execute("LOCK TABLE settings")
            begun.clear()
            with pytest.raises(StoreBusy):
                put(store, a_job("j2"))
            assert len(begun) == 1
        put(store, a_job("j3"))


def test_a_reader_prepares_anew_what_a_migration_has_made_outdated(
    store: PostgresStore, postgres_store: str
) -> None:
    for _ in range(6):  # by then the driver has prepared it
        whole(store, "before")
    query(postgres_store, MIGRATE)
    with pytest.raises(StoreUnavailable, match="cached plan"):
        whole(store, "before")
    assert whole(store, "before") is not None
