"""Transactions whose connection breaks before their end, or whose deferred statement failed."""

from collections.abc import Iterator
from contextlib import closing, suppress

import psycopg
import pytest

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.store.base import OutcomeUnknown, StaleWrite, StoreUnavailable
from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import Preload
from tests.postgres import Server
from tests.store.postgres.server import end_connections, query, wait_until
from tests.store.records import a_job, a_lease, put, whole


@pytest.fixture
def store(postgres_store: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(postgres_store, node="a")) as store:
        put(store, a_job("before"))
        yield store


def stored(url: str) -> list[str]:
    return [row[0] for row in query(url, "SELECT id FROM jobs ORDER BY id")]


@pytest.mark.parametrize("then", [[], [a_job("j2")]], ids=["the commit", "a statement"])
def test_a_transaction_whose_connection_ends_midway_is_undone(
    store: PostgresStore, postgres_store: str, then: list[StoredJob]
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            assert end_connections(postgres_store) > 0
            tx.insert_jobs(then)

    with pytest.raises((StoreUnavailable, OutcomeUnknown)):
        work()
    put(store, a_job("j3"))
    assert stored(postgres_store) == ["before", "j3"]


def test_connections_that_ended_while_idle_are_replaced_unnoticed(postgres_store: str) -> None:
    with closing(PostgresStore(postgres_store, node="a")) as store:
        for round_ in range(3):
            put(store, a_job(f"j{round_}"))
            store.ping()
            lost = store.lost_connections
            assert end_connections(postgres_store) >= 2
            assert whole(store, f"j{round_}") is not None
            with store.transaction(Preload(["w"], [f"j{round_}"])) as tx:
                assert list(tx.load_jobs([f"j{round_}"])) == [f"j{round_}"]
                tx.insert_jobs([a_job(f"k{round_}")])
            assert store.lost_connections >= lost + 2
    assert stored(postgres_store) == ["j0", "j1", "j2", "k0", "k1", "k2"]


def test_a_statement_that_failed_unnoticed_does_not_pass_for_a_commit(
    store: PostgresStore, postgres_store: str
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            with suppress(psycopg.IntegrityError):
                tx.run_records("insert_leases", [a_lease("j1")] * 2)

    with pytest.raises(StaleWrite):
        work()
    assert stored(postgres_store) == ["before"]


def test_a_statement_that_nobody_waited_for_is_not_committed_without(
    store: PostgresStore, postgres_store: str
) -> None:
    def work() -> None:
        with store.transaction() as tx:
            tx.insert_jobs([a_job("j1")])
            tx.insert_leases([a_lease("j1"), a_lease("j1")])

    with pytest.raises(psycopg.IntegrityError):
        work()
    put(store, a_job("j2"))
    assert stored(postgres_store) == ["before", "j2"]


def test_a_server_that_restarts_is_found_again(durable_postgres: Server) -> None:
    with closing(PostgresStore(durable_postgres.url, node="a", patience_s=1)) as store:
        put(store, a_job("j1"))
        durable_postgres.stop("immediate")
        with pytest.raises(StoreUnavailable):
            put(store, a_job("j2"))
        with pytest.raises(StoreUnavailable):
            store.ping()
        durable_postgres.start()
        put(store, a_job("j3"))
        wait_until(lambda: _answers(store))
        assert whole(store, "j1") is not None
        assert whole(store, "j2") is None
        assert whole(store, "j3") is not None


def _answers(store: PostgresStore) -> bool:
    try:
        store.ping()
    except StoreUnavailable:
        return False
    return True
