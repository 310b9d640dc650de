"""Enqueues in transactions of a program, through each library that it may use."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest
from sqlalchemy.orm import Session

from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_worker import InvalidRequest, Refused, Worker
from ojs_worker.encryption import Encryption
from ojs_worker.errors import PermissionDenied
from ojs_worker.transactional import NoFunction, NoTransaction, enqueue, enqueue_blocking
from tests.store.postgres.server import query
from tests.worker.libraries import (
    OF_POSTGRES,
    Transact,
    Undone,
    alchemy,
    asyncpg_of,
    django_of,
    transacting,
)

Bodies = list[dict[str, Any]]


@pytest.fixture
def store(postgres_store: str) -> Iterator[Store]:
    with closing(open_store(postgres_store, node="a")) as store:
        yield store


@pytest.fixture
def url(store: Store, postgres_store: str) -> str:
    return postgres_store


@pytest.fixture
def schema(url: str) -> str:
    return str(query(url, "SELECT current_schema()")[0][0])


def staged(store: Store) -> Bodies:
    with store.reader() as reader:
        return [json.loads(job.body) for job in reader.staged(100)]


@pytest.fixture(params=OF_POSTGRES, ids=lambda way: way.__name__)
def transact(request: pytest.FixtureRequest, url: str, schema: str) -> Transact:
    there = {"in_schema": schema}
    calls = (partial(call, **there) for call in (enqueue_blocking, enqueue))
    return transacting(request.param, url, *calls)


def test_a_job_is_there_once_the_transaction_is_committed(transact: Transact, store: Store) -> None:
    job_id = transact("mail.send", ["ada", {"n": 1}], queue="mail", priority=3, meta={"a": "b"})
    assert staged(store) == [
        {
            "type": "mail.send",
            "args": ["ada", {"n": 1}],
            "id": job_id,
            "meta": {"a": "b"},
            "options": {"queue": "mail", "priority": 3},
        }
    ]


def test_it_never_was_where_that_is_rolled_back(transact: Transact, store: Store) -> None:
    with pytest.raises(Undone):
        transact("mail.send", undone=True)
    assert staged(store) == []


def test_a_handler_brings_its_type_and_options(transact: Transact, store: Store) -> None:
    worker = Worker(url="http://127.0.0.1:1")

    @worker.job("mail.send", queue="mail")
    async def send(to: str, *, copies: int = 1) -> None: ...

    transact(send, "ada", copies=2)
    (body,) = staged(store)
    assert (body["type"], body["options"]) == ("mail.send", {"queue": "mail"})
    assert body["args"] == send.request("ada", copies=2).args


def test_a_refusal_is_that_of_the_server(transact: Transact, store: Store) -> None:
    with pytest.raises(InvalidRequest) as refused:
        transact("t", queue="Mail")
    assert refused.value.code == "invalid_request"
    assert refused.value.details == {"field": "queue"}
    assert staged(store) == []


@pytest.mark.parametrize("schema", ["nowhere"])
def test_a_database_without_the_function_is_named(transact: Transact) -> None:
    with pytest.raises(NoFunction, match=r"no function nowhere\.enqueue: start a server"):
        transact("t")


def test_a_role_without_the_right_is_told(url: str, schema: str) -> None:
    role = f"nobody_{schema}"
    query(url, f"CREATE ROLE {role} LOGIN")
    try:
        with (
            psycopg.connect(url, user=role) as connection,
            pytest.raises(PermissionDenied, match="allow_enqueue"),
        ):
            enqueue_blocking(connection, "t", in_schema=schema)
    finally:
        query(url, f"DROP ROLE {role}")


def test_arguments_are_encoded_as_in_other_enqueues(url: str, schema: str, store: Store) -> None:
    worker = Worker(url="http://127.0.0.1:1", codec=Encryption({"k": bytes(32)}, "k"))

    @worker.job("mail.send")
    async def send(to: str) -> None: ...

    with psycopg.connect(url) as connection:
        enqueue_blocking(connection, send, "ada", in_schema=schema)
    (body,) = staged(store)
    assert body["args"] != ["ada"]
    assert "ada" not in json.dumps(body)


def test_a_blocking_connection_in_autocommit_has_no_transaction(url: str, schema: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(NoTransaction, match="autocommit"):
            enqueue_blocking(connection, "t", in_schema=schema)
        with connection.transaction():
            enqueue_blocking(connection, "t", in_schema=schema)
    with (
        alchemy(url, isolation_level="AUTOCOMMIT") as engine,
        engine.connect() as other,
        pytest.raises(NoTransaction),
    ):
        enqueue_blocking(other, "t", in_schema=schema)
    with django_of(url) as of_django, pytest.raises(NoTransaction):
        enqueue_blocking(of_django, "t", in_schema=schema)


async def test_an_asynchronous_connection_in_autocommit_has_no_transaction(
    url: str, schema: str
) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        with pytest.raises(NoTransaction):
            await enqueue(connection, "t", in_schema=schema)
    async with asyncpg_of(url) as plain:
        with pytest.raises(NoTransaction):
            await enqueue(plain, "t", in_schema=schema)


def test_a_savepoint_takes_its_job_back(url: str, schema: str, store: Store) -> None:
    with alchemy(url) as engine, Session(engine) as session, session.begin():
        first = enqueue_blocking(session, "t", in_schema=schema)
        nested = session.begin_nested()
        enqueue_blocking(session, "t", in_schema=schema)
        nested.rollback()
    assert [body["id"] for body in staged(store)] == [first]


def test_another_database_cannot_be_the_server_s() -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(TypeError, match="sqlite"),
    ):
        enqueue_blocking(connection, "t")


def test_what_is_no_connection_is_named(url: str, schema: str) -> None:
    with pytest.raises(TypeError, match="list is no connection"):
        enqueue_blocking([], "t")


def test_a_call_that_makes_no_sense_is_refused(url: str, schema: str) -> None:
    with psycopg.connect(url) as connection:
        with pytest.raises(ValueError, match="idempotency"):
            enqueue_blocking(connection, "t", idempotency_key="k", in_schema=schema)
        with pytest.raises(TypeError, match="one list"):
            enqueue_blocking(connection, "t", 1, 2, in_schema=schema)
        with pytest.raises(InvalidRequest, match="JSON"):
            enqueue_blocking(connection, "t", [object()], in_schema=schema)


def test_an_error_of_the_database_stays_as_it_is(url: str, schema: str) -> None:
    with psycopg.connect(url) as connection:
        connection.read_only = True
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as refused:
            enqueue_blocking(connection, "t", in_schema=schema)
    assert refused.value.__cause__ is None
    assert issubclass(NoTransaction, Exception)
    assert not issubclass(NoTransaction, Refused)
