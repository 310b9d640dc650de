"""Binary arrays, as the database reads them."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.store.postgres.arrays import TYPES, TextArray, register, texts


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        register(connection)
        yield connection


@pytest.mark.parametrize(
    ("kind", "values", "name"),
    [
        ("text", ["a", None, "", "é☃\U0001f600", '{"\\,}', "NULL"], "text[]"),
        ("int8", [0, None, -1, 2**63 - 1, -(2**63)], "bigint[]"),
        ("bytea", [b"", None, b"\x00\xff{}", b"x" * 100_000], "bytea[]"),
        ("float8", [0.5, None, -1.0, 1e300], "double precision[]"),
        ("bool", [True, False], "boolean[]"),
    ],
)
@pytest.mark.parametrize("left", ["all", "full", "alike", "nulls", "none", "many"])
def test_an_array_arrives_as_it_was_packed(
    connection: psycopg.Connection[Any],
    kind: str,
    values: list[Any],
    name: str,
    left: str,
) -> None:
    given = {
        "all": values,
        "full": [value for value in values if value is not None],
        "alike": values[:1] * 3,
        "nulls": [None] * 3,
        "none": [],
        "many": [value for value in values[:3] if value is not None] * 333,
    }[left]
    array = TYPES[kind].array(TYPES[kind].pack(given))
    row = connection.execute("SELECT %(a)s, pg_typeof(%(a)s)::text", {"a": array}).fetchone()
    assert row == (given, name)


def test_text_with_a_nul_is_refused_by_the_database(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.DataError):
        connection.execute("SELECT %s", (TextArray(texts(["a\0b"])),))
