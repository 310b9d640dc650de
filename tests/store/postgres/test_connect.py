"""Connections to the database: accepted URLs, and the detection of a dead server."""

import socket
import time
from contextlib import closing

import pytest

from ojs_server.store.base import StoreUnavailable
from ojs_server.store.postgres.connect import address_of
from ojs_server.store.postgres.store import PostgresStore
from tests.postgres import Server
from tests.store.postgres.server import query
from tests.store.records import a_job, put


@pytest.mark.parametrize(
    ("url", "pooled", "prepare"),
    [
        ("postgresql://h/d", False, True),
        ("postgresql://h/d?prepare=false", False, False),
        ("postgresql://h/d?prepare=0&sslmode=require", False, False),
        ("postgresql://h/d", True, False),
        ("postgresql://h/d?sslmode=require&prepare=true", True, True),
    ],
)
def test_prepared_statements_can_be_turned_off(url: str, pooled: bool, prepare: bool) -> None:
    address = address_of(url, pooled=pooled)
    assert address.prepare is prepare
    assert address.parameters.get("sslmode") == ("require" if "sslmode" in url else None)


def test_a_url_need_not_name_a_host() -> None:
    address = address_of("postgresql:///jobs?options=-csearch_path%3Dojs")
    assert address.parameters["dbname"] == "jobs"
    assert "-csearch_path=ojs" in address.parameters["options"]
    assert address.location == "postgresql:///jobs"


def test_a_word_that_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match=r"prepare=maybe .* must be true or false"):
        address_of("postgresql://h/d?prepare=maybe")


def test_a_url_that_cannot_be_understood_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="cannot understand the database URL"):
        address_of("postgresql://h/d?colour=red")


def test_the_location_shows_no_password() -> None:
    address = address_of("postgresql://me:s3cret@db.example:5433/jobs?application_name=x")
    assert address.location == "postgresql://db.example:5433/jobs"
    assert address.parameters["application_name"] == "x"


def test_a_database_is_reached_by_its_socket(durable_postgres: Server) -> None:
    with closing(PostgresStore(durable_postgres.near_url, node="a")) as store:
        put(store, a_job("j1"))
        assert store.location == durable_postgres.near_url.replace("//postgres@/", "///")


def test_every_connection_waits_for_its_commits_to_be_durable(postgres_store: str) -> None:
    """Settings of the server, the role or the URL do not change this."""
    careless = postgres_store.replace("options=", "options=-csynchronous_commit%3Doff%20")
    assert query(careless, "SHOW synchronous_commit") == [("off",)]
    with closing(PostgresStore(careless, node="a", readers=3)) as store:
        assert store.synchronous_commit() == ["on"] * 4
        put(store, a_job("j1"))
        assert store.synchronous_commit() == ["on"] * 4


def test_a_server_that_gives_up_durability_is_warned_of(postgres_store: str) -> None:
    with closing(PostgresStore(postgres_store, node="a")) as store:
        fsync, pages = store.durability_warnings()
    assert "fsync = off" in fsync
    assert "full_page_writes = off" in pages


def test_a_durable_server_is_not_warned_of(durable_postgres: Server) -> None:
    with closing(PostgresStore(durable_postgres.url, node="a")) as store:
        assert store.durability_warnings() == []


def test_a_port_where_nobody_listens_is_noticed_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreUnavailable, match=f"port {port}"):
        PostgresStore(f"postgresql://u@127.0.0.1:{port}/d", node="a")


def test_a_server_that_never_answers_is_noticed_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="timeout"):
            PostgresStore(f"postgresql://u@127.0.0.1:{port}/d?connect_timeout=2", node="a")
        assert time.monotonic() - started < 10


def test_a_database_that_is_not_there_is_named(postgres_store: str) -> None:
    missing = postgres_store.rpartition("/")[0] + "/no_such_database"
    with pytest.raises(StoreUnavailable, match='"no_such_database" does not exist'):
        PostgresStore(missing, node="a")
