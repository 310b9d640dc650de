"""The schema: created once by concurrent nodes, refused if it is another program's."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ojs_server.store.base import SchemaError
from ojs_server.store.migrations import load_migrations
from ojs_server.store.postgres.statements import PACKAGE
from ojs_server.store.postgres.store import PostgresStore
from tests.store.postgres.server import query
from tests.store.records import a_job, put, whole

STEPS = load_migrations(PACKAGE)
NEWEST = STEPS[-1].version


def test_four_nodes_can_start_on_an_empty_schema_at_once(postgres_url: str) -> None:
    together = threading.Barrier(4)

    def start(number: int) -> bool:
        together.wait()
        with closing(PostgresStore(postgres_url, node=f"n{number}")) as store:
            put(store, a_job(f"j{number}"))
            return whole(store, f"j{number}") is not None

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == [True] * 4
    versions = query(postgres_url, "SELECT version FROM schema_versions ORDER BY version")
    assert versions == [(step.version,) for step in STEPS]


def test_a_second_start_changes_nothing(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, node="a")) as store:
        put(store, a_job("j1"))
    applied = query(postgres_url, "SELECT * FROM schema_versions")
    with closing(PostgresStore(postgres_url, node="a", migrations=False)) as store:
        assert whole(store, "j1") is not None
    assert query(postgres_url, "SELECT * FROM schema_versions") == applied


def test_a_newer_schema_is_refused(postgres_url: str) -> None:
    PostgresStore(postgres_url, node="a").close()
    query(postgres_url, "INSERT INTO schema_versions (version, name) VALUES (9999, 'future')")
    with pytest.raises(SchemaError, match="schema 9999, newer than this program"):
        PostgresStore(postgres_url, node="a")


def test_without_migrations_an_empty_schema_is_refused_and_left_empty(postgres_url: str) -> None:
    with pytest.raises(SchemaError, match=f"schema 0, this program needs {NEWEST}"):
        PostgresStore(postgres_url, node="a", migrations=False)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    assert query(postgres_url, tables) == []


def test_a_schema_with_tables_of_something_else_is_refused(postgres_url: str) -> None:
    query(postgres_url, "CREATE TABLE workers (name text)")
    with pytest.raises(SchemaError, match="tables of something else"):
        PostgresStore(postgres_url, node="a")
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    assert query(postgres_url, tables) == [("workers",)]


def test_a_search_path_without_a_schema_is_refused(postgres_url: str) -> None:
    elsewhere = postgres_url.partition("?")[0] + "?options=-csearch_path%3Dnowhere"
    with pytest.raises(SchemaError, match="search_path nowhere"):
        PostgresStore(elsewhere, node="a")


def test_two_schemas_of_one_database_are_two_stores(postgres_url: str) -> None:
    query(postgres_url, "CREATE SCHEMA other")
    elsewhere = postgres_url.partition("?")[0] + "?options=-csearch_path%3Dother"
    try:
        with (
            closing(PostgresStore(postgres_url, node="a")) as one,
            closing(PostgresStore(elsewhere, node="a")) as other,
        ):
            put(one, a_job("j1"))
            assert whole(other, "j1") is None
    finally:
        query(postgres_url, "DROP SCHEMA other CASCADE")
