"""Migrate a PostgreSQL schema to the current version, safely if several nodes start at once."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

import psycopg
from psycopg import errors

from ojs_server.store.errors import SchemaError
from ojs_server.store.migrations import load_migrations, pending
from ojs_server.store.postgres.bounded import MIGRATION_S, BoundedConnection
from ojs_server.store.postgres.connect import address_of
from ojs_server.store.postgres.failures import at_the_boundary
from ojs_server.store.postgres.statements import PACKAGE

_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended('ojs-server ' || current_schema(), 0))"
)
_BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
    " SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0;"
    " SET LOCAL synchronous_commit = on; SET LOCAL jit = off;"
    " SET LOCAL application_name = 'ojs-server'"
)
_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS schema_versions (
    version int8 NOT NULL PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
_APPLIED: Final = "INSERT INTO schema_versions (version, name) VALUES (%s, %s)"


def migrate(connection: BoundedConnection, package: str, *, apply: bool = True) -> list[int]:
    """Apply all missing migrations in one transaction; return the versions applied."""
    _check_database(connection)
    steps = load_migrations(package)
    if not pending(steps, _version(connection), apply=apply):
        return []
    try:
        with alone(connection):
            connection.execute(_VERSIONS)
            missing = pending(steps, _version(connection), apply=True)
            for step in missing:
                connection.execute(step.sql.encode())
                connection.execute(_APPLIED, (step.version, step.name))
    except errors.DuplicateTable as error:
        raise SchemaError(
            f"the schema holds tables of something else ({error.diag.message_primary}); give "
            "ojs-server one of its own, with ?options=-csearch_path%3Dojs in the database URL"
        ) from error
    return [step.version for step in missing]


def check_database(url: str) -> None:
    """Raise SchemaError unless a database has the current schema; changes nothing."""
    address = address_of(url)
    with at_the_boundary(), closing(address.connect()) as connection:
        migrate(connection, PACKAGE, apply=False)


@contextmanager
def alone(connection: BoundedConnection) -> Iterator[None]:
    """Return a transaction that no other node of this schema makes at the same time.

    The lock is held until the end of the transaction, so it works through a connection pooler, too.
    """
    connection.execute(_BEGIN)
    try:
        with connection.waiting_up_to(MIGRATION_S):
            connection.execute(_LOCK)
            yield
            connection.execute("COMMIT")
    except BaseException:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: BoundedConnection) -> int:
    there = connection.execute(
        "SELECT to_regclass(quote_ident(current_schema()) || '.schema_versions') IS NOT NULL"
    ).fetchone()
    if not there or not there[0]:
        return 0
    row = connection.execute("SELECT COALESCE(max(version), 0) FROM schema_versions").fetchone()
    return int(row[0]) if row else 0


def _check_database(connection: BoundedConnection) -> None:
    row = connection.execute(
        "SELECT current_schema(), current_setting('server_encoding'),"
        " current_setting('server_version_num')::int4, current_setting('search_path')"
    ).fetchone()
    schema, encoding, version, path = row or (None, "", 0, "")
    if version < 150_000:
        raise SchemaError(
            f"PostgreSQL {version // 10_000} is too old; this server needs 15 or newer"
        )
    if schema is None:
        raise SchemaError(f"the database has no schema of the search_path {path}; create it")
    if encoding != "UTF8":
        raise SchemaError(
            f"the database's encoding is {encoding}; create one with UTF8 (createdb -E UTF8)"
        )
