"""Transactions that write no events hold back no reader of the event log."""

from contextlib import closing

import psycopg

from ojs_server.store.base import Store
from ojs_server.store.postgres.store import PostgresStore
from tests.postgres import Server
from tests.store.postgres.server import blocked, query, wait_until
from tests.store.records import EVERYTHING, an_event, log


def subjects(store: Store) -> list[str]:
    with store.reader() as reader:
        return [placed.event.subject for placed in reader.events(0, EVERYTHING, 99).events]


def an_ordinary_owner(server: Server) -> str:
    """Make a database of a role that sees little of the others; return its URL."""
    query(server.url, "CREATE ROLE app LOGIN")
    query(server.url, "CREATE DATABASE app OWNER app")
    return f"postgresql://app@{server.address}/app"


def test_readers_do_not_wait_for_other_databases(durable_postgres: Server) -> None:
    with (
        closing(PostgresStore(an_ordinary_owner(durable_postgres), node="a")) as store,
        psycopg.connect(durable_postgres.url) as elsewhere,
    ):
        elsewhere.execute("SELECT pg_current_xact_id()")
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
