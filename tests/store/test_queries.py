"""Named SQL: loading files into statements; both stores have the same ones."""

import re
from collections.abc import Mapping
from importlib import resources
from typing import get_type_hints

import pytest

from ojs_server.store.columns import RECORDS, rows_of
from ojs_server.store.postgres.statements import STATEMENTS, statement_of
from ojs_server.store.queries import Dialect, Part, Query, queries_of, returned, split_parts
from ojs_server.store.sqlite.statements import DIALECT, QUERIES, of_list, of_rows
from ojs_server.store.tables.catalog import wiped_tables
from ojs_server.systems.jobmanager import tables

JOB_MANAGER = tables.__name__.rpartition(".")[0]
# Nodes, notices, locks and lost commits: what one file with one server does not have.
ONLY_POSTGRES = {
    "fold_rows",
    "announce",
    "announce_node",
    "begin",
    "begun",
    "bump_configs",
    "channel",
    "clock",
    "enter",
    "find_floors",
    "find_floors_of_types",
    "fold_counts",
    "held",
    "forget_nodes",
    "forget_plans",
    "forget_returns",
    "insert_jobs",
    "insert_workers",
    "lock_configs",
    "lock_jobs",
    "lock_leases",
    "lock_workflows",
    "log_end",
    "log_head",
    "nodes",
    "note_waiting",
    "lock_unique",
    "unlock_unique",
    "bound_transaction",
    "end_silent",
    "next_due_in",
    # SQLite goes from type to type, by `type_from`.
    "next_types",
    "plan_by_index",
    "primary",
    "snapshot",
    "note_outcome",
    "note_returns",
    "ask_outcome",
    "asking",
    "forget_outcomes",
    "raise_positions",
    "silent",
    "tell",
    "synchronous_commit",
    "unsafe_settings",
    "vacuum_holders",
    "wait_briefly",
    "watch_client",
    "withdraw_node",
}

# SQLite asks for one queue at a time, and its only writer needs no row of its own.
ONLY_SQLITE = {"is_due_in", "touch", "type_from"}

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
-- row: a text,
--     b json
-- changes: t
INSERT INTO t ({columns}) {rows}
"""
LEASE = "-- changes: leases\nUPDATE leases SET expires_at = new.expires_at FROM ({rows}) AS new"


def loaded(text: str, dialect: Dialect = DIALECT) -> Query:
    (query,) = queries_of([f"-- name: q\n{text}\n"], dialect).values()
    return query


def of(sql: str, row: str) -> Query:
    return Query("q", sql, rows_of(row))


def test_both_stores_have_the_same_statements() -> None:
    assert set(STATEMENTS) - set(QUERIES) == ONLY_POSTGRES
    assert set(QUERIES) - set(STATEMENTS) == ONLY_SQLITE


def test_both_stores_take_and_return_the_same() -> None:
    for name in set(STATEMENTS) & set(QUERIES) - {"claim_chosen", "load_due_in", "release_gated"}:
        ours, theirs = QUERIES[name], STATEMENTS[name]
        assert (ours.rows and ours.rows.columns) == (theirs.rows and theirs.rows.columns), name
        # Leases are read by another statement there.
        assert ours.returns is theirs.returns or name == "load_jobs", name
        assert set(ours.changes) == set(theirs.changes), name


def test_a_wipe_empties_all_that_statements_of_both_stores_change() -> None:
    assert {table for query in QUERIES.values() for table in query.changes} == set(wiped_tables())


def test_each_part_that_changes_rows_counts() -> None:
    move = "WITH gone AS (DELETE FROM t RETURNING a) INSERT INTO t SELECT a FROM gone"
    assert loaded(f"-- changes: t\n{move} ON CONFLICT DO UPDATE SET a = 1").changes == ("t", "t")
    assert loaded("SELECT 'DELETE FROM t' FROM t FOR NO KEY UPDATE OF t").changes == ()
    assert loaded("-- changes: t\nINSERT OR ROLLBACK INTO t VALUES (1)").changes == ("t",)


def test_a_file_is_split_into_its_statements_and_fragments() -> None:
    assert list(split_parts(TEXT)) == [
        Part("first", "SELECT {part} FROM t"),
        Part("part", "a,\nb", is_fragment=True),
        Part(
            "second", "INSERT INTO t ({columns}) {rows}", {"row": "a text, b json", "changes": "t"}
        ),
    ]
    assert queries_of([TEXT], DIALECT)["first"].sql == "SELECT a,\nb FROM t"


@pytest.mark.parametrize("queries", [QUERIES, STATEMENTS])
def test_no_fragment_is_left_to_be_filled(queries: Mapping[str, Query]) -> None:
    for query in queries.values():
        left = re.sub(r"\{(rows|columns|list|lanes|other_lanes|most)\}", "", query.sql)
        assert "{" not in left, query.name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- row: Lease(job_id, ends_at)\n" + LEASE, "Lease has no ends_at"),
        ("-- row: Change(before.id, after.status)\n" + LEASE, "Job has no status"),
        ("-- row: Change(before.id, after.id)\n" + LEASE, "two columns of a row have one name"),
        ("-- row: Nobody\n" + LEASE, "neither a record nor a column"),
        ("-- row: id text, count number\n" + LEASE, "'count number' is neither"),
        (LEASE, "it takes rows, or says so, but not both"),
        ("-- row: id text\nDELETE FROM jobs", "it takes rows, or says so, but not both"),
        ("-- row: a text, b text\nDELETE FROM t WHERE a IN ({list})", "a list has but one"),
        ("-- returns: Nobody\nSELECT 1", "there is no record Nobody"),
        (
            "-- returns: Earlier\nSELECT job_id, attempt, worker_id FROM t",
            "Earlier has the columns",
        ),
        (
            "-- returns: Earlier\nSELECT attempt, job_id, worker_id, started_at FROM t",
            "Earlier has the columns",
        ),
        ("-- returns: LogSpan\nSELECT min(pos), max(pos) FROM t", "LogSpan has the columns"),
        ("SELECT {Nobody} FROM t", "nothing is known to put in"),
        ("DELETE FROM t", "it changes t, and declares nothing"),
        ("-- changes: t\nSELECT a FROM t FOR UPDATE", "it changes nothing, and declares t"),
        ("-- changes: t\nINSERT INTO s DEFAULT VALUES", "it changes s, and declares t"),
        (
            "-- changes: t\nWITH gone AS (DELETE FROM t) UPDATE s SET a = 1",
            "it changes t, s, and declares t",
        ),
    ],
)
def test_a_statement_that_does_not_fit_its_records_is_not_loaded(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as failure:
        loaded(text)
    assert str(failure.value).startswith("statement q: ")


def test_the_columns_of_a_record_are_put_in_and_read_by_their_names() -> None:
    text = "-- returns: Checkpoint\nSELECT {Checkpoint} FROM checkpoints"
    names = ("job_id", "sequence", "state", "saved_at", "step_index", "metadata")
    plain = ", ".join(f"checkpoints.{name}" for name in names)
    assert loaded(text, Dialect()).sql == f"SELECT {plain} FROM checkpoints"
    cast = loaded(text).sql
    assert "CAST(checkpoints.state AS BLOB) AS state, checkpoints.saved_at" in cast
    assert returned(cast) == list(names)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT a, t.b, count(*) AS c, (SELECT d FROM t) FROM t", ["a", "b", "c", ""]),
        ('SELECT DISTINCT a AS "limit" FROM t', ["limit"]),
        ("WITH x AS (SELECT n FROM t) SELECT a FROM x UNION ALL SELECT b FROM x", ["a"]),
        ("UPDATE t SET a = 1 FROM x RETURNING t.a, x.b", ["a", "b"]),
        ("SELECT COALESCE(a, 0), substr(b, ', FROM (') AS c ORDER BY c", ["", "c"]),
        ("DELETE FROM t", []),
    ],
)
def test_the_names_that_a_statement_returns_are_known(sql: str, names: list[str]) -> None:
    assert returned(sql) == names


def test_each_record_is_taken_or_returned_by_a_statement() -> None:
    declared = " ".join(text for store in ("sqlite", "tables") for text in _texts_of(store))
    named = set(re.findall(r"(?:returns: |row: |\{)(\w+)", declared))
    parts = {
        inner.__name__
        for record in RECORDS.values()
        for inner in get_type_hints(record.type).values()
        if isinstance(inner, type)
    }
    assert set(RECORDS) - named - parts == set()


def test_a_statement_that_both_stores_take_is_written_once() -> None:
    sqlite, postgres = (
        {(part.name, part.sql) for text in _texts_of(store) for part in split_parts(text)}
        for store in ("sqlite", "postgres")
    )
    assert sorted(sqlite & postgres) == []


def test_a_statement_that_each_store_has_of_its_own_says_why() -> None:
    twins = {part.name for text in _texts_of("sqlite") for part in split_parts(text)}
    for text in _texts_of("postgres"):
        head = re.split(r"^-- (?:name|fragment): ", text, maxsplit=1, flags=re.MULTILINE)[0]
        if "-- differs: " not in head:
            parts = list(split_parts(text))
            reasons = {part.name for part in parts if "differs" in part.declared}
            assert {part.name for part in parts} & twins == reasons


def _texts_of(store: str) -> list[str]:
    folders = (
        resources.files(f"ojs_server.store.{store}").joinpath("sql"),
        # Files outside of a folder of one store are for all.
        resources.files(JOB_MANAGER).joinpath("sql", *(() if store == "tables" else (store,))),
    )
    files = [file for folder in folders for file in folder.iterdir() if file.is_file()]
    return [file.read_text(encoding="utf-8") for file in files]


def test_records_are_read_where_they_are_named() -> None:
    modules = resources.files("ojs_server.store.tables").iterdir()
    for module in (*modules, resources.files(JOB_MANAGER).joinpath("tables.py")):
        text = module.read_text(encoding="utf-8") if module.name.endswith(".py") else ""
        for record, name in re.findall(r'\b(?:read|read_ids|made)\((\w+), "(\w+)"', text):
            for queries in (QUERIES, STATEMENTS):
                returns = queries[name].returns
                assert returns is not None
                assert returns.__name__ == record, name


def test_a_statement_is_made_for_as_many_values_as_there_are() -> None:
    query = of("DELETE FROM t WHERE a IN ({list})", "a text")
    assert of_list(query, 1) == "DELETE FROM t WHERE a IN (?)"
    assert of_list(query, 3) == "DELETE FROM t WHERE a IN (?,?,?)"


def test_a_statement_is_made_for_as_many_rows_as_there_are() -> None:
    query = of("INSERT INTO t ({columns}) {rows}", "a text, b json")
    for count, rows in ((1, "(?,?)"), (3, "(?,?),(?,?),(?,?)")):
        assert of_rows(query, count) == (
            f"INSERT INTO t (a,b) WITH own (a,b) AS (VALUES {rows}) "
            "SELECT own.a AS a,CAST(own.b AS TEXT) AS b FROM own WHERE true"
        )


def test_what_no_row_has_and_what_all_have_alike_is_not_bound_for_each() -> None:
    query = of("UPDATE t SET a = x.a FROM ({rows}) AS x", "a text, b json, c int8")
    assert of_rows(query, 2, (2,), (1,)) == (
        "UPDATE t SET a = x.a FROM (WITH own (a) AS (VALUES (?),(?)) "
        "SELECT own.a AS a,CAST(?3 AS TEXT) AS b,NULL AS c FROM own WHERE true) AS x"
    )
    assert of_rows(query, 2, (2,), (0, 1)) == (
        "UPDATE t SET a = x.a FROM (WITH own (none_own) AS (VALUES (NULL),(NULL)) "
        "SELECT ?1 AS a,CAST(?2 AS TEXT) AS b,NULL AS c FROM own WHERE true) AS x"
    )


def test_rows_that_fill_up_a_statement_are_none() -> None:
    query = of("UPDATE t SET b = x.b FROM ({rows}) AS x", "a text, b text")
    assert of_rows(query, 2, (0,), filled=True) == (
        "UPDATE t SET b = x.b FROM (WITH own (b) AS (VALUES (?),(?)) "
        "SELECT NULL AS a,own.b AS b FROM own WHERE own.b IS NOT NULL) AS x"
    )


def test_an_insert_does_not_name_what_no_row_has() -> None:
    query = of("INSERT INTO t ({columns}) {rows}", "a text, b json, c text")
    assert of_rows(query, 2, (1,), (0,)) == (
        "INSERT INTO t (a,c) WITH own (c) AS (VALUES (?),(?)) "
        "SELECT ?3 AS a,own.c AS c FROM own WHERE true"
    )


def test_a_statement_takes_a_typed_array_for_each_column() -> None:
    rows = "SELECT unnest(%(a)s::text[]) AS a, unnest(%(b)s::int8[]) AS b"
    statement = statement_of(of("INSERT INTO t ({columns}) {rows}", "a text, b int8"))
    assert statement.sql == f"INSERT INTO t (a, b) {rows}"
    told = statement_of(of("SELECT a FROM ({rows}) AS t", "a text, b int8"))
    assert told.sql == f"SELECT a FROM ({rows}) AS t"
    listed = statement_of(of("SELECT a FROM t WHERE a = ANY ({list})", "a json"))
    assert listed.sql == "SELECT a FROM t WHERE a = ANY (%(a)s::bytea[])"
    assert list(statement.bound([("a", "b"), (1, None)])) == ["a", "b"]


def test_rows_that_are_too_short_are_not_bound() -> None:
    statement = statement_of(of("SELECT * FROM ({rows}) AS t", "a text, b int8"))
    with pytest.raises(ValueError, match="zip"):
        statement.bound([("a",)])
