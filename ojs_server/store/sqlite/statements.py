"""Running this store's statements. Each takes the whole set at once.

Row by row, each step gives the interpreter lock away beside a busy event loop; set by set,
a statement costs one such hand-over however many jobs it moves.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import apsw

from ojs_server.store.queries import load_queries
from ojs_server.store.tables.statements import Column, Statements

PACKAGE: Final = "ojs_server.store.sqlite"
QUERIES: Final = load_queries(PACKAGE)

# Many rows are bound by so many, and what is left over at once: each number of rows is a statement
# of its own. SQLite binds at most 32,766 values, and only texts of up to 16 KB are kept prepared.
SIZES: Final = (100, 25)
# For fewer rows, what all of them say is not worth a statement of its own.
ALIKE_FROM: Final = SIZES[-1]


class SqliteStatements(Statements):
    """A connection to the file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        self._connection.execute(QUERIES[name].sql, bound)
        return self._connection.changes()

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        return self._connection.execute(QUERIES[name].sql, bound).fetchall()

    def run_columns(self, name: str, columns: Sequence[Column]) -> int:
        """Run a statement for all rows of a table; answers how many rows it touched."""
        return sum(self._connection.changes() for _ in self._parts(name, columns))

    def all_columns(self, name: str, columns: Sequence[Column]) -> list[Any]:
        """Run a statement for all rows of a table; answers the rows it returns."""
        return [row for part in self._parts(name, columns) for row in part.fetchall()]

    def can_hold(self, *texts: str | None) -> bool:
        """This store takes every text."""
        return True

    def _parts(self, name: str, columns: Sequence[Column]) -> Iterator[apsw.Cursor]:
        query = QUERIES[name]
        for part in parts(len(columns[0])):
            own = [column[part] for column in columns]
            bound = Binding((), (), own[0]) if query.is_list else binding(own)
            sql = query.of_rows(len(own[0]), bound.empty, bound.alike)
            yield self._connection.execute(sql, bound.values)


class Binding(NamedTuple):
    """Where no row has a value, where all have the same one, and what is bound: that first."""

    empty: tuple[int, ...]
    alike: tuple[int, ...]
    values: Sequence[Any]


def binding(columns: Sequence[Column]) -> Binding:
    """What is to be bound for rows, of which most say little of their own.

    Most columns of most rows are empty, and those of a large set say the same of each job.
    """
    count = len(columns[0])
    empty: list[int] = []
    alike: list[int] = []
    shared: list[Any] = []
    own: list[Sequence[Any]] = []
    many = count >= ALIKE_FROM
    for place, column in enumerate(columns):
        value = column[0]
        if (many or value is None) and column.count(value) == count:
            if value is None:
                empty.append(place)
            else:
                alike.append(place)
                shared.append(value)
        else:
            own.append(column)
    return Binding(
        tuple(empty), tuple(alike), [*shared, *chain.from_iterable(zip(*own, strict=True))]
    )


def parts(count: int) -> Iterator[slice]:
    """So many rows in their order, as many at once as there are statements for."""
    start = 0
    for size in SIZES:
        while count - start >= size:
            yield slice(start, start + size)
            start += size
    if start < count:
        yield slice(start, count)
