"""Packed arrays: what the database reads from them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.store.postgres.arrays import Array, blobs, bools, floats, ints, register, texts


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        register(connection)
        yield connection


@pytest.mark.parametrize(
    ("pack", "values", "kind"),
    [
        (texts, ["a", None, "", "é☃\U0001f600", '{"\\,}', "NULL"], "text[]"),
        (ints, [0, None, -1, 2**63 - 1, -(2**63)], "bigint[]"),
        (blobs, [b"", None, b"\x00\xff{}", b"x" * 100_000], "bytea[]"),
        (floats, [0.5, None, -1.0, 1e300], "double precision[]"),
        (bools, [True, False], "boolean[]"),
    ],
)
@pytest.mark.parametrize("left", ["all", "full", "nulls", "none"])
def test_an_array_arrives_as_it_was_packed(
    connection: psycopg.Connection[Any],
    pack: Callable[[Sequence[Any]], Array],
    values: list[Any],
    kind: str,
    left: str,
) -> None:
    given = {
        "all": values,
        "full": [value for value in values if value is not None],
        "nulls": [None] * 3,
        "none": [],
    }[left]
    row = connection.execute("SELECT %(a)s, pg_typeof(%(a)s)::text", {"a": pack(given)}).fetchone()
    assert row == (given, kind)


def test_text_with_a_nul_is_refused_by_the_database(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.DataError):
        connection.execute("SELECT %s", (texts(["a\0b"]),))
