"""Transactions that write no events hold back no reader of the event log."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import uuid4

import psycopg
import pytest

from ojs_server.store.base import Store
from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import EventTally
from tests.postgres import Server
from tests.store.postgres.server import blocked, query, wait_until
from tests.store.records import EVERYTHING, an_event, log

BOTH_VERSIONS = pytest.mark.parametrize("store_url", ["postgres", "distribution"], indirect=True)


def subjects(store: Store) -> list[str]:
    with store.reader() as reader:
        return [placed.event.subject for placed in reader.events(0, EVERYTHING, 99).events]


@contextmanager
def prepared(url: str) -> Iterator[None]:
    """A transaction that was prepared, and that no session has any more."""
    name = f"foreign-{uuid4()}"
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_current_xact_id()")
        connection.execute(f"PREPARE TRANSACTION '{name}'".encode())
    try:
        yield
    finally:
        query(url, f"ROLLBACK PREPARED '{name}'")


@BOTH_VERSIONS
def test_readers_do_not_wait_for_the_application_that_shares_the_database(store_url: str) -> None:
    """It connects with the same URL, so that its sessions have the role of ours."""
    with (
        closing(PostgresStore(store_url, node="a")) as store,
        psycopg.connect(store_url) as application,
        prepared(store_url),
    ):
        application.execute("SELECT pg_current_xact_id()")
        log(store, an_event(subject="first"))
        application.execute("SAVEPOINT one")
        log(store, an_event(subject="second"))
        assert subjects(store) == ["first", "second"]
        with store.reader() as reader:
            recent = reader.recent_events(0, EVERYTHING, 9)
            assert reader.log_span().last == recent.events[0].position
        with store.transaction() as tx:
            assert tx.log_span().last == recent.events[0].position
            assert tx.tally_events(9) == EventTally(2, behind=False)


def an_ordinary_owner(server: Server) -> str:
    """Make a database of a role that sees little of the others; return its URL."""
    query(server.url, "CREATE ROLE app LOGIN")
    query(server.url, "CREATE DATABASE app OWNER app")
    return f"postgresql://app@{server.address}/app"


def test_readers_do_not_wait_for_other_databases(durable_postgres: Server) -> None:
    """Nor for the servers of another one."""
    with (
        closing(PostgresStore(an_ordinary_owner(durable_postgres), node="a")) as store,
        closing(PostgresStore(durable_postgres.url, node="a")) as elsewhere,
        elsewhere.transaction(),
    ):
        log(store, an_event(subject="at once"))
        assert subjects(store) == ["at once"]


def test_readers_do_not_wait_for_autovacuum(durable_postgres: Server) -> None:
    """Its transactions have a number where they store statistics or shorten a table."""
    own = an_ordinary_owner(durable_postgres)
    url = own.replace("//app@", "//postgres@")
    for setting in ("autovacuum_naptime = 1", "autovacuum_analyze_threshold = 1"):
        query(url, f"ALTER SYSTEM SET {setting}")
    query(url, "SELECT pg_reload_conf()")
    query(
        url,
        "CREATE FUNCTION held(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN"
        " IF EXISTS (SELECT FROM pg_stat_activity"
        "   WHERE pid = pg_backend_pid() AND backend_type = 'autovacuum worker')"
        " THEN PERFORM pg_current_xact_id(), pg_advisory_xact_lock(1); END IF;"
        " RETURN n; END $$",
    )
    query(url, "CREATE TABLE counted (n int)")
    query(url, "CREATE INDEX ON counted (held(n))")
    with (
        closing(PostgresStore(own, node="a")) as store,
        psycopg.connect(url) as gate,
    ):
        gate.execute("SELECT pg_advisory_lock(1)")
        query(url, "INSERT INTO counted SELECT generate_series(1, 100)")
        wait_until(lambda: blocked(url) == 1)
        log(store, an_event(subject="at once"))
        assert subjects(store) == ["at once"]


def test_readers_wait_for_servers_by_another_role_and_name(durable_postgres: Server) -> None:
    """A writer is known whatever its URL says; that readers have few rights does not matter."""
    own = an_ordinary_owner(durable_postgres)
    other = own.replace("//app@", "//postgres@") + "?application_name=shop"
    with (
        closing(PostgresStore(own, node="a")) as store,
        closing(PostgresStore(other, node="b")) as second,
    ):
        with second.transaction() as early:
            early.insert_events([an_event(subject="early")])
            log(store, an_event(subject="late"))
            assert subjects(store) == []
        assert subjects(store) == ["early", "late"]
