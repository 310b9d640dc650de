"""This store's statements, with a typed array for each column of a batch, and how they are run."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import psycopg

from ojs_server.store.postgres.arrays import PACKERS
from ojs_server.store.queries import Query, load_queries
from ojs_server.store.tables.statements import Statements

PACKAGE: Final = "ojs_server.store.postgres"

Rows = Sequence[Sequence[Any]]
NOTHING: Final[tuple[str, Rows]] = ("", ())


class Statement(msgspec.Struct, frozen=True):
    """One statement and the types of the columns that it takes."""

    sql: str
    columns: tuple[str, ...] = ()
    row: str = ""

    def bind(self, rows: Sequence[Sequence[Any]], prefix: str = "c") -> dict[str, Any]:
        """The parameters for these rows: one array per column."""
        cells = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        return {
            f"{prefix}{n}": PACKERS[kind](column)
            for n, (kind, column) in enumerate(zip(self.columns, cells, strict=True))
        }


def statement_of(query: Query) -> Statement:
    """Put the typed arrays in the place of `{rows}`."""
    if "{rows}" not in query.sql:
        return Statement(query.sql, row=query.row)
    columns = tuple(re.split(r",\s*", query.row))
    arrays = ", ".join(f"%(c{n})s::{kind}[]" for n, kind in enumerate(columns))
    return Statement(query.sql.replace("{rows}", arrays), columns)


@lru_cache(maxsize=64)
def with_lanes(statement: Statement, count: int) -> str:
    """The claim for this many job types."""
    lanes = (statement.row.replace("{n}", str(n + 1)) for n in range(count))
    return statement.sql.replace("{lanes}", " UNION ALL ".join(lanes))


STATEMENTS: Final[Mapping[str, Statement]] = {
    name: statement_of(query) for name, query in load_queries(PACKAGE).items()
}


@lru_cache
def joined(beside: str, name: str) -> str:
    """Two statements as one; neither sees what the other does."""
    sql = STATEMENTS[beside].sql.replace("%(c", "%(b")
    return f"WITH beside AS ({sql}) {STATEMENTS[name].sql}"


class PostgresStatements(Statements):
    """A cursor of one connection."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        return self._cursor.execute(STATEMENTS[name].sql.encode(), bound).rowcount

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        return self._cursor.execute(STATEMENTS[name].sql.encode(), bound).fetchall()

    def run_rows(self, name: str, rows: Rows, beside: tuple[str, Rows] = NOTHING) -> int:
        """Run a statement for all rows; answers how many rows it touched.

        Another one `beside` it goes in the same round trip.
        """
        other, others = beside
        if not others:
            return self.run(name, **STATEMENTS[name].bind(rows)) if rows else 0
        if not rows:
            self.run_rows(other, others)
            return 0
        bound = STATEMENTS[name].bind(rows) | STATEMENTS[other].bind(others, "b")
        return self._cursor.execute(joined(other, name).encode(), bound).rowcount

    def all_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Run a statement for all rows; answers the rows it returns."""
        return self.all(name, **STATEMENTS[name].bind(rows)) if rows else []

    def can_hold(self, *texts: str | None) -> bool:
        """The database takes no NUL in text."""
        return not any(text and "\0" in text for text in texts)

    def synchronous_commit(self) -> str:
        """How this connection waits for its commits."""
        return str(self.all("synchronous_commit")[0][0])
