"""Running this store's statements. Each takes the whole set at once.

Row by row, each step gives the interpreter lock away beside a busy event loop; set by set,
a statement costs one such hand-over however many jobs it moves.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain, compress
from typing import Any, Final

from ojs_server.store.queries import load_queries
from ojs_server.store.tables.statements import Statements

PACKAGE: Final = "ojs_server.store.sqlite"
QUERIES: Final = load_queries(PACKAGE)

# SQLite binds at most 32,766 values to a statement.
CHUNK: Final = 500

# Which values of a row are bytes of a text.
TEXTS: Final = {
    name: tuple(
        place for place, before in enumerate(query.row.split("?")) if before.endswith("CAST(")
    )
    for name, query in QUERIES.items()
}


class SqliteStatements(Statements):
    """A connection to the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        return self._connection.execute(QUERIES[name].sql, bound).rowcount

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        return self._connection.execute(QUERIES[name].sql, bound).fetchall()

    def run_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for all rows; answers how many rows it touched."""
        return sum(part.rowcount for part in self._parts(name, rows))

    def all_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Run a statement for all rows; answers the rows it returns."""
        return [row for part in self._parts(name, rows) for row in part.fetchall()]

    def can_hold(self, *texts: str | None) -> bool:
        """This store takes every text."""
        return True

    def _parts(self, name: str, rows: Sequence[Sequence[Any]]) -> Iterator[sqlite3.Cursor]:
        query = QUERIES[name]
        for part in chunks(rows, CHUNK):
            empty, bound = _binding(part, TEXTS[name])
            yield self._connection.execute(query.of_rows(len(part), empty), bound)


def _binding(
    rows: Sequence[Sequence[Any]], texts: Sequence[int]
) -> tuple[tuple[int, ...], Sequence[Any]]:
    """Where no row has a value, and the values of the rest.

    For None and for bytes the driver asks for adapters, which costs more than storing them; most
    columns of most batches are empty.
    """
    count, width = len(rows), len(rows[0])
    values = list(chain.from_iterable(rows))
    filled = [True] * width
    for place, value in enumerate(rows[0]):
        if value is None and values[place::width].count(None) == count:
            filled[place] = False
    for place in texts:
        if filled[place]:
            column = values[place::width]
            try:
                values[place::width] = map(bytes.decode, column)
            except TypeError:
                values[place::width] = [
                    value.decode() if isinstance(value, bytes) else value for value in column
                ]
    if all(filled):
        return (), values
    empty = tuple(place for place in range(width) if not filled[place])
    return empty, list(compress(values, filled * count))


def chunks(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Parts of no more than `size`."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
