"""Sessions, transactions and slots that hold vacuum back are named, also to an ordinary role."""

from contextlib import closing
from typing import Any

import psycopg

from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.postgres.vacuum import LONG_S, VacuumHolders
from tests.postgres import Server
from tests.store.postgres.server import query

LATER = LONG_S + 1.0


def seen(store: PostgresStore) -> list[tuple[Any, ...]]:
    with store.reader() as reader:
        return reader.vacuum_holders()


def named(holders: list[VacuumHolder]) -> set[tuple[str, str, str | None, str | None]]:
    return {(one.kind, one.name, one.application, one.user) for one in holders}


def test_sessions_prepared_transactions_and_slots_are_named(durable_postgres: Server) -> None:
    url = durable_postgres.url
    query(url, "ALTER SYSTEM SET max_prepared_transactions = 2")
    query(url, "ALTER SYSTEM SET wal_level = 'logical'")
    durable_postgres.stop()
    durable_postgres.start()
    query(url, "CREATE ROLE app LOGIN")
    query(url, "CREATE DATABASE app OWNER app")
    foreign = f"postgresql://postgres@{durable_postgres.address}/app?application_name=reports"
    query(foreign, "SELECT pg_create_logical_replication_slot('stale', 'pgoutput')")
    with (
        closing(PostgresStore(f"postgresql://app@{durable_postgres.address}/app")) as store,
        psycopg.connect(foreign) as session,
    ):
        query(foreign, "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'order 7'")
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT 1 FROM pg_class LIMIT 1")
        holders = VacuumHolders()
        assert holders.long(seen(store), 0.0) == []
        found = holders.long(seen(store), LATER)
        assert named(found) == {
            ("session", str(session.info.backend_pid), "reports", "postgres"),
            ("slot", "stale", None, None),
        }
        # Since when is hidden of another role's session.
        assert {(one.held_s, one.at_least) for one in found} == {(int(LATER), True)}
        session.rollback()
        # The age of a prepared transaction is visible to all roles.
        moved = [
            (*row[:6], 1000 * LONG_S if row[0] == "prepared" else row[6]) for row in seen(store)
        ]
        assert ("prepared", "order 7", None, "postgres") in named(holders.long(moved, LATER))
        assert all(one.kind != "session" for one in holders.long(seen(store), 2 * LATER))
        query(foreign, "ROLLBACK PREPARED 'order 7'")
        query(foreign, "SELECT pg_drop_replication_slot('stale')")
        assert seen(store) == []
