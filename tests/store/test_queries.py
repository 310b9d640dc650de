"""Named SQL: how files become statements, and that both stores have the same ones."""

import re

import pytest

from ojs_server.store.postgres.statements import STATEMENTS, statement_of
from ojs_server.store.queries import Query, load_queries, split_parts
from ojs_server.store.sqlite.statements import PACKAGE as SQLITE

# Nodes, notices, locks and lost commits: what one file with one server does not have.
ONLY_POSTGRES = {
    "announce",
    "begin",
    "begun",
    "bump_configs",
    "channel",
    "clock",
    "enter",
    "fold_counts",
    "held",
    "forget_nodes",
    "forget_plans",
    "insert_new_jobs",
    "leases_of",
    "lock_configs",
    "lock_jobs",
    "lock_leases",
    "lock_workflows",
    "note_waiting",
    "lock_unique",
    "unlock_unique",
    "bound_transaction",
    "end_silent",
    "next_due_in",
    "plan_by_index",
    "primary",
    "note_outcome",
    "ask_outcome",
    "asking",
    "forget_outcomes",
    "raise_positions",
    "silent",
    "tell",
    "synchronous_commit",
    "unsafe_settings",
    "wait_briefly",
    "watch_client",
}

# One queue at a time is asked for there, and its one writer needs no row of its own.
ONLY_SQLITE = {"is_due_in", "touch"}

TEXT = """-- About the file.

-- name: first
-- What for.
SELECT {part} FROM t

-- fragment: part
-- Some columns.
a,
b

-- name: second
-- Another, of rows.
-- row: (?,?)
INSERT INTO t VALUES {rows}
"""


def test_both_stores_have_the_same_statements() -> None:
    assert set(STATEMENTS) - set(load_queries(SQLITE)) == ONLY_POSTGRES
    assert set(load_queries(SQLITE)) - set(STATEMENTS) == ONLY_SQLITE


def test_a_file_is_split_into_its_statements_and_fragments() -> None:
    assert list(split_parts(TEXT)) == [
        ("name", Query("first", "SELECT {part} FROM t")),
        ("fragment", Query("part", "a,\nb")),
        ("name", Query("second", "INSERT INTO t VALUES {rows}", "(?,?)")),
    ]


@pytest.mark.parametrize("package", [SQLITE, "ojs_server.store.postgres"])
def test_no_fragment_is_left_to_be_filled(package: str) -> None:
    for query in load_queries(package).values():
        left = re.sub(r"\{(rows|lanes|most)\}", "", query.sql)
        assert "{" not in left, query.name


def test_a_statement_is_made_for_as_many_values_as_there_are() -> None:
    query = Query("second", "DELETE FROM t WHERE a IN ({rows})", "?")
    assert query.of_rows(1) == "DELETE FROM t WHERE a IN (?)"
    assert query.of_rows(3) == "DELETE FROM t WHERE a IN (?,?,?)"


def test_a_statement_is_made_for_as_many_rows_as_there_are() -> None:
    query = Query("third", "INSERT INTO t {rows}", "(?,CAST(? AS TEXT))")
    columns = "own.column1 AS column1,CAST(own.column2 AS TEXT) AS column2"
    for count, rows in ((1, "(?,?)"), (3, "(?,?),(?,?),(?,?)")):
        assert query.of_rows(count) == (
            f"INSERT INTO t SELECT {columns} FROM (VALUES {rows}) AS own WHERE true"
        )


def test_what_no_row_has_and_what_all_have_alike_is_not_bound_for_each() -> None:
    query = Query("fourth", "INSERT INTO t {rows}", "(?,CAST(? AS TEXT),?)")
    assert query.of_rows(2, (2,), (1,)) == (
        "INSERT INTO t SELECT own.column1 AS column1,CAST(?1 AS TEXT) AS column2,NULL AS column3 "
        "FROM (VALUES (?),(?)) AS own WHERE true"
    )
    assert query.of_rows(2, (2,), (0, 1)) == (
        "INSERT INTO t SELECT ?1 AS column1,CAST(?2 AS TEXT) AS column2,NULL AS column3 "
        "FROM (VALUES (NULL),(NULL)) AS own WHERE true"
    )


def test_rows_that_fill_up_a_statement_are_none() -> None:
    query = Query("fifth", "INSERT INTO t {rows}", "(?,?)")
    assert query.of_rows(2, (0,), filled=True) == (
        "INSERT INTO t SELECT NULL AS column1,own.column1 AS column2 "
        "FROM (VALUES (?),(?)) AS own WHERE own.column1 IS NOT NULL"
    )


def test_what_no_row_has_is_not_named_where_columns_are() -> None:
    text = "-- name: q\n-- row: (?,CAST(? AS TEXT),?)\n-- columns: a, b, c\nINSERT INTO t {rows}\n"
    ((_, query),) = split_parts(text)
    assert query.of_rows(2) == (
        "INSERT INTO t (a,b,c) SELECT own.column1 AS column1,CAST(own.column2 AS TEXT) AS column2,"
        "own.column3 AS column3 FROM (VALUES (?,?,?),(?,?,?)) AS own WHERE true"
    )
    assert query.of_rows(2, (1,), (0,)) == (
        "INSERT INTO t (a,c) SELECT ?1 AS column1,own.column1 AS column3 "
        "FROM (VALUES (?),(?)) AS own WHERE true"
    )


def test_a_statement_takes_a_typed_array_for_each_column() -> None:
    rows = "SELECT unnest(%(c0)s::text[]), unnest(%(c1)s::int8[])"
    statement = statement_of(Query("q", "SELECT * FROM unnest({rows})", "text, int8"))
    assert statement.sql == rows
    told = statement_of(Query("q", "SELECT a FROM unnest({rows}) AS t (a, b)", "text, int8"))
    assert told.sql == f"SELECT a FROM ({rows}) AS t (a, b)"
    listed = statement_of(Query("q", "SELECT a FROM t WHERE a = ANY ({rows})", "text"))
    assert listed.sql == "SELECT a FROM t WHERE a = ANY (%(c0)s::text[])"
    assert list(statement.bound([("a", "b"), (1, None)])) == ["c0", "c1"]


def test_rows_that_are_too_short_are_not_bound() -> None:
    statement = statement_of(Query("q", "SELECT * FROM unnest({rows})", "text, int8"))
    with pytest.raises(ValueError, match="zip"):
        statement.bound([("a",)])
