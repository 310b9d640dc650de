"""Enqueues into the outbox, through each library and on each database."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from ojs_wire.values import UUID7
from ojs_worker import InvalidRequest, JobRequest, Worker
from ojs_worker.encryption import Encryption
from ojs_worker.outbox import (
    NoTable,
    NoTransaction,
    enqueue,
    enqueue_blocking,
    statements,
    undo,
)
from tests.worker.libraries import (
    OF_MYSQL,
    OF_POSTGRES,
    OF_SQLITE,
    Transact,
    Undone,
    alchemy,
    asyncpg_of,
    dialect_of,
    django_of,
    parts,
    transacting,
)
from tests.worker.outbox.conftest import Outbox

MARKS: dict[str, Any] = {"sqlite": (), "postgres": pytest.mark.store_postgres, "mysql": ()}
WAYS = {"sqlite": OF_SQLITE, "postgres": OF_POSTGRES, "mysql": OF_MYSQL}


@pytest.fixture(
    params=[
        pytest.param((name, way), id=f"{name}-{way.__name__}", marks=MARKS[name])
        for name, ways in WAYS.items()
        for way in ways
    ],
)
def url(request: pytest.FixtureRequest) -> str:
    """An empty database, for each library."""
    return str(request.getfixturevalue(request.param[0]))


@pytest.fixture
def transact(request: pytest.FixtureRequest, url: str) -> Transact:
    way = request.getfixturevalue("way")
    return transacting(way, url, enqueue_blocking, enqueue)


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Any:
    return request.node.callspec.params["url"][1]


@pytest.fixture
def made(url: str) -> Iterator[Outbox]:
    with Outbox.made(url) as outbox:
        yield outbox


def test_a_row_is_there_once_the_transaction_is_committed(made: Outbox, transact: Transact) -> None:
    with pytest.raises(Undone):
        transact("mail.send", undone=True)
    assert made.rows.waiting(10) == []
    args, options = ["ä%s:x", {"n": 1}], {"queue": "mail", "priority": 3}
    job_id = transact("mail.send", args, **options, meta={"a": "b"}, schema="s")
    (row,) = made.rows.waiting(10)
    assert UUID7.fullmatch(job_id)
    assert row.queue == "mail"
    assert row.request() == JobRequest(
        id=job_id, type="mail.send", args=args, meta={"a": "b"}, schema="s", options=options
    )


def test_a_table_that_is_missing_is_named_with_the_way_to_make_it(
    transact: Transact, url: str
) -> None:
    with pytest.raises(NoTable, match=rf"ojs outbox create.*statements\('{dialect_of(url)}'\)"):
        transact("t")


def test_a_handler_brings_its_type_and_options_and_its_codec(sqlite_outbox: Outbox) -> None:
    worker = Worker(url="http://127.0.0.1:1", codec=Encryption({"k": bytes(32)}, "k"))

    @worker.job("mail.send", queue="mail", delay="1h")
    async def send(to: str, *, copies: int = 1) -> None: ...

    with sqlite_outbox.engine.begin() as connection:
        enqueue_blocking(connection, send, "ada", copies=2)
    (row,) = sqlite_outbox.rows.waiting(10)
    assert (row.job_type, row.queue) == ("mail.send", "mail")
    assert "ada" not in row.job_args
    # It is counted from the enqueue, and not from when the relay sends it.
    assert "scheduled_at" in row.job_options


def in_autocommit(url: str) -> Iterator[tuple[Any, Callable[[Any], object]]]:
    """Connections in autocommit, each with what begins a transaction in it."""

    def begin(connection: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("BEGIN")

    match dialect_of(url):
        case "sqlite":
            path = parts(url)["database"]
            with closing(sqlite3.connect(path, isolation_level=None)) as of_sqlite:
                yield of_sqlite, begin
        case "mysql":
            with pymysql.connect(**parts(url), autocommit=True) as of_mysql:
                yield of_mysql, begin
        case _:
            with psycopg.connect(url, autocommit=True) as of_postgres:
                yield of_postgres, begin
    with alchemy(url, isolation_level="AUTOCOMMIT") as engine, engine.connect() as of_sqlalchemy:
        yield of_sqlalchemy, lambda _: None
    with django_of(url) as of_django:
        yield of_django, lambda made: made.set_autocommit(False)


def test_a_connection_in_autocommit_has_no_transaction_until_one_begins(outbox: Outbox) -> None:
    for connection, begin in in_autocommit(outbox.url):
        with pytest.raises(NoTransaction, match="autocommit"):
            enqueue_blocking(connection, "t")
        begin(connection)
        if not isinstance(connection, sa.Connection):
            enqueue_blocking(connection, "t")
            connection.rollback()
    assert outbox.states() == []


async def test_an_asynchronous_connection_in_autocommit_has_none_either(postgres: str) -> None:
    async with asyncpg_of(postgres) as connection:
        with pytest.raises(NoTransaction):
            await enqueue(connection, "t")


def test_a_savepoint_takes_its_job_back(outbox: Outbox) -> None:
    with Session(outbox.engine) as session, session.begin():
        first = enqueue_blocking(session, "t")
        nested = session.begin_nested()
        enqueue_blocking(session, "t")
        nested.rollback()
    assert [row.job_id for row in outbox.rows.waiting(10)] == [first]


def test_a_zero_character_is_refused_where_jsonb_cannot_hold_it(outbox: Outbox) -> None:
    with outbox.engine.begin() as connection:
        if dialect_of(outbox.url) == "postgresql":
            with pytest.raises(InvalidRequest, match="the arguments have the character 0"):
                enqueue_blocking(connection, "t", ["\\\x00"])
            with pytest.raises(InvalidRequest, match="the options have the character 0"):
                enqueue_blocking(connection, "t", meta={"\x00": 1})
            enqueue_blocking(connection, "t", ["\\u0000"])
        else:
            enqueue_blocking(connection, "t", ["\\\x00"])
    (row,) = outbox.rows.waiting(10)
    assert row.request().args == (
        ["\\u0000"] if dialect_of(outbox.url) == "postgresql" else ["\\\x00"]
    )


def test_a_call_that_makes_no_sense_is_refused(sqlite_outbox: Outbox) -> None:
    with sqlite_outbox.engine.begin() as connection:
        with pytest.raises(InvalidRequest, match="UUIDv7"):
            enqueue_blocking(connection, "t", id="1")
        with pytest.raises(InvalidRequest, match="JSON"):
            enqueue_blocking(connection, "t", [object()])
    assert sqlite_outbox.states() == []


def test_an_error_of_the_database_stays_as_it_is(outbox: Outbox) -> None:
    with outbox.engine.connect() as connection:
        read_only = {
            "sqlite": "PRAGMA query_only = 1",
            "postgresql": "SET TRANSACTION READ ONLY",
            "mysql": "START TRANSACTION READ ONLY",
        }
        connection.exec_driver_sql(read_only[dialect_of(outbox.url)])
        with pytest.raises(sa.exc.DBAPIError, match=r"(?i)read.?only"):
            enqueue_blocking(connection, "t")
        connection.invalidate()


def test_a_migration_can_be_undone(outbox: Outbox) -> None:
    with outbox.engine.begin() as connection:
        # As Alembic and Django run them.
        for statement in undo():
            connection.execute(sa.text(statement))
        for statement in statements(dialect_of(outbox.url)):  # type: ignore[arg-type]
            connection.execute(sa.text(statement))
    with django_of(outbox.url) as connection, connection.schema_editor() as editor:
        for statement in (*undo(), *statements(connection.vendor)):
            editor.execute(statement, params=None)
    outbox.write({})
    assert outbox.states() == ["pending"]
