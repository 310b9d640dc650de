"""Observe a store's sessions on its PostgreSQL server, and interfere with them."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

LIMIT_S = 10.0


def query(url: str, statement: str) -> list[Any]:
    """Run one statement on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def end_connections(url: str) -> int:
    """End every other connection to the database, as an administrator or a failover would."""
    ended = query(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND application_name = 'ojs-server'",
    )
    return len(ended)


def blocked(url: str) -> int:
    """Return the number of connections to the database that wait for a lock."""
    return int(
        query(
            url,
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )[0][0]
    )


def wait_until(happened: Callable[[], bool]) -> None:
    """Return as soon as something is so; fail if it is not in time."""
    end = time.monotonic() + LIMIT_S
    while not happened():
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {LIMIT_S:g} s")
        time.sleep(0.01)
