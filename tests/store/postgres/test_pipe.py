"""Pipelined statements: sent ahead, checked before the commit, and correctly encoded."""

from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from typing import Any

import psycopg
import pytest
from psycopg.pq import PipelineStatus

from ojs_server.store.postgres import pipe as pipes
from ojs_server.store.postgres.pipe import Pipe, touched
from ojs_server.store.postgres.statements import Statement

MAKE = "CREATE TEMP TABLE things (name text PRIMARY KEY, size int8)"
LIST = "SELECT name, size FROM things ORDER BY name"


def of(sql: str, *changes: str) -> Statement:
    return Statement("s", sql, changes=changes)


BEGIN = of("BEGIN")
PUT = of("INSERT INTO things VALUES (%(name)s::text, %(size)s::int8)", "things")
RESIZE = of("UPDATE things SET size = %(size)s::int8", "things")
DROP_LARGE = of("DELETE FROM things WHERE size > %(size)s::int8", "things")
# The rows of a SELECT do not tell what its other part has changed.
DROP_ALL = of("WITH gone AS (DELETE FROM things) SELECT 1 WHERE false", "things", "things")
ALL = of(LIST)
EVERYTHING = of("SELECT * FROM things")


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        connection.execute(MAKE)
        yield connection


@pytest.fixture(params=[True, False], ids=["prepared", "unprepared"])
def prepare(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def begun(connection: psycopg.Connection[Any], prepare: bool) -> Pipe:
    pipe = Pipe(connection, prepare=prepare)
    pipe.send(BEGIN, {})
    return pipe


def test_what_is_sent_ahead_is_there_for_what_is_asked(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    for name in "ab":
        pipe = begun(connection, prepare)
        pipe.send(PUT, {"name": name, "size": 1})
        assert pipe.rows(ALL, {})[-1] == (name, 1)
        assert pipe.touched(RESIZE, {"size": 2}) > 0
        pipe.commit()
        assert connection.pgconn.pipeline_status == PipelineStatus.OFF
    assert connection.execute(LIST).fetchall() == [("a", 2), ("b", 2)]


def test_what_is_asked_ahead_is_told_before_what_was_sent_after_it(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    pipe = begun(connection, prepare)
    pipe.send(PUT, {"name": "a", "size": 1})
    told = pipe.ask(ALL, {})
    pipe.send(PUT, {"name": "a", "size": 2})
    assert told() == told() == [("a", 1)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        pipe.rows(ALL, {})
    pipe.roll_back()


def test_answers_that_somebody_looks_at_are_looked_at_once(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    seen: list[int] = []
    pipe = begun(connection, prepare)
    pipe.send(PUT, {"name": "a", "size": 1}, lambda result: seen.append(touched(result)))
    assert seen == []
    pipe.look()
    pipe.look()
    pipe.commit()
    assert seen == [1]


@pytest.mark.parametrize(
    ("statement", "bound", "changed"),
    [
        (ALL, {}, False),
        (PUT, {"name": "b", "size": 1}, True),
        (DROP_LARGE, {"size": 0}, True),
        (DROP_LARGE, {"size": 5}, False),
        (DROP_ALL, {}, True),
    ],
)
def test_a_transaction_has_changed_what_its_statements_say_and_count(
    connection: psycopg.Connection[Any],
    prepare: bool,
    statement: Statement,
    bound: dict[str, Any],
    changed: bool,
) -> None:
    connection.execute("INSERT INTO things VALUES ('a', 1)")
    pipe = begun(connection, prepare)
    pipe.send(statement, bound)
    # Until the answer is there it may have changed whatever it can.
    assert pipe.changed == bool(statement.changes)
    pipe.rows(ALL, {})
    assert pipe.changed == changed
    pipe.commit()


def test_an_error_shows_at_the_next_answer_and_nothing_after_it_is_done(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    pipe = begun(connection, prepare)
    for _ in range(2):
        pipe.send(PUT, {"name": "a", "size": 1})
    pipe.send(DROP_LARGE, {"size": 5})
    with pytest.raises(psycopg.errors.UniqueViolation):
        pipe.rows(ALL, {})
    assert pipe.lives
    pipe.roll_back()
    # The statement after the error was not prepared, so it is prepared again.
    pipe = begun(connection, prepare)
    assert pipe.rows(ALL, {}) == []
    pipe.send(DROP_LARGE, {"size": 5})
    pipe.commit()


def test_a_commit_behind_an_error_is_refused(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    pipe = begun(connection, prepare)
    pipe.send(of("SELECT 1 / %(size)s::int8"), {"size": 0})
    with pytest.raises(psycopg.errors.DivisionByZero):
        pipe.commit()
    pipe.roll_back()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_more_than_the_sockets_hold_goes_through(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    pipe = begun(connection, prepare)
    text = "x" * 1_000_000
    long = of("SELECT %(text)s::text")
    for _ in range(30):
        pipe.send(long, {"text": text})
    assert pipe.rows(of("SELECT length(%(text)s::text)"), {"text": text}) == [(1_000_000,)]
    pipe.commit()


def test_only_so_many_statements_are_kept(
    connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "MAX_PREPARED", 3)
    pipe = begun(connection, True)
    assert [pipe.rows(of(f"SELECT {n}"), {}) for n in range(6)] == [[(n,)] for n in range(6)]
    pipe.commit()
    kept = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert kept == (3,)


def test_a_statement_is_prepared_anew_where_its_table_has_changed(
    connection: psycopg.Connection[Any],
) -> None:
    pipe = begun(connection, True)
    assert pipe.rows(EVERYTHING, {}) == []
    pipe.commit()
    connection.execute("ALTER TABLE things ADD COLUMN more text")
    pipe = begun(connection, True)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cached plan"):
        pipe.rows(EVERYTHING, {})
    pipe.roll_back()
    pipe = begun(connection, True)
    assert pipe.rows(EVERYTHING, {}) == []
    pipe.commit()


class Word(StrEnum):
    """A text of its own kind."""

    YES = "yes"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("é", "text"),
        (Word.YES, "text"),
        (2**63 - 1, "int8"),
        (True, "boolean"),
        (b"\0\xff", "bytea"),
        (0.25, "float8"),
        (None, "text"),
    ],
)
def test_every_kind_of_parameter_arrives(
    connection: psycopg.Connection[Any], value: Any, kind: str
) -> None:
    pipe = begun(connection, True)
    twice = of(f"SELECT %(value)s::{kind}, %(value)s::{kind}")
    assert pipe.rows(twice, {"value": value}) == [(value, value)]
    pipe.commit()


def test_a_connection_that_ends_is_told_from_a_refusal(
    connection: psycopg.Connection[Any], prepare: bool
) -> None:
    pipe = begun(connection, prepare)
    pipe.send(of("SELECT pg_terminate_backend(pg_backend_pid())"), {})
    with pytest.raises(psycopg.OperationalError):
        pipe.rows(of("SELECT pg_sleep(10)"), {})
    assert not pipe.lives
