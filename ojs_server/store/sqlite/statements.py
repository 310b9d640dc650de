"""Run this store's statements, each for a whole set of rows at once.

Each step of a statement releases the interpreter lock, which a busy event loop then takes; a
statement for a set of rows releases it once.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

import apsw

from ojs_server.store.queries import Dialect, Query, load_queries
from ojs_server.store.tables.statements import Statements, Values

PACKAGE: Final = "ojs_server.store.sqlite"


def _parameter(name: str, kind: str) -> str:
    # JSON lies in columns of text.
    return f"CAST(:{name} AS TEXT)" if kind == "json" else f":{name}"


DIALECT: Final = Dialect(
    {"json": "CAST({} AS BLOB)"},
    {"bool": bool},
    _parameter,
    {
        # The file has one writer.
        r"\s+FOR (NO KEY )?(UPDATE|SHARE)( OF \w+)?( SKIP LOCKED)?": "",
        # As in the conditions of indexes.
        r"= true\b": "= 1",
        r"= false\b": "= 0",
        r"\bstrpos\(": "instr(",
        r"\bbool_or\(": "max(",
        r"\bctid\b": "rowid",
        r"= ANY \(ARRAY\(": "IN (SELECT * FROM (",
        r"\bgreatest\(": "max(",
        r"\bleast\(": "min(",
    },
)
QUERIES: Final[dict[str, Query]] = load_queries(PACKAGE, DIALECT, lambda query: query)

# Numbers of rows that one statement binds; the rest is filled up to one of a few numbers:
# each number of rows is a statement of its own, and to prepare one takes as long as to run many.
# SQLite binds at most 32,766 values, and only texts of up to 16 KB are kept prepared.
SIZES: Final = (250, 100, 25)
FEW: Final = (1, 4, 8, 12, 16, 20, 24)
# For fewer rows, what all of them say is not worth a statement of its own.
ALIKE_FROM: Final = SIZES[-1]


class SqliteStatements(Statements):
    """A connection to the file."""

    queries = QUERIES

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        self._connection.execute(QUERIES[name].sql, bound)
        return self._connection.changes()

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        return self._connection.execute(QUERIES[name].sql, bound).fetchall()

    def run_batch(self, name: str, columns: Sequence[Values]) -> int:
        """Run a statement for all rows of a table; answers how many rows it touched."""
        touched = 0
        for statement, values in statements_for(QUERIES[name], columns):
            self._connection.execute(statement, values)
            touched += self._connection.changes()
        return touched

    def all_batch(self, name: str, columns: Sequence[Values]) -> list[Any]:
        """Run a statement for all rows of a table; answers the rows it returns."""
        found: list[Any] = []
        for statement, values in statements_for(QUERIES[name], columns):
            found += self._connection.execute(statement, values).fetchall()
        return found

    def can_hold(self, *texts: str | None) -> bool:
        """This store takes every text."""
        return True

    def holdable(self, ids: Iterable[str]) -> list[str]:
        """Return all ids, as this store takes every text."""
        return list(ids)


# A statement, and the values to bind.
Bound = tuple[str, Sequence[Any]]


def statements_for(query: Query, columns: Sequence[Values]) -> Iterable[Bound]:
    """Return the statements for all rows, one after the other."""
    count = len(columns[0])
    if count < SIZES[-1]:
        return (_statement_for(query, columns),)
    return (_statement_for(query, [column[part] for column in columns]) for part in parts(count))


def _statement_for(query: Query, columns: Sequence[Values]) -> Bound:
    """Return the statement for a part of the rows."""
    if query.is_list:
        named = columns[0] if len(columns[0]) == 1 else filled_up(columns[0])
        return of_list(query, len(named)), named
    rows = binding(columns)
    return of_rows(query, rows.rows, rows.empty, rows.alike, filled=rows.filled), rows.values


@lru_cache(maxsize=2048)
def of_list(query: Query, count: int) -> str:
    """Return a statement for a list with this number of values."""
    return query.sql.replace("{list}", ",".join("?" * count))


@lru_cache(maxsize=64)
def of_lanes(query: Query, queues: int, types: int) -> str:
    """Return a claim statement for this number of queues, each with this number of types."""
    lanes = (
        query.lane.replace("{lane}", str(lane)).replace("{n}", str(n))
        for lane in range(queues)
        for n in range(types)
    )
    return query.sql.replace("{lanes}", " UNION ALL ".join(lanes))


@lru_cache(maxsize=2048)
def of_rows(
    query: Query,
    count: int,
    empty: tuple[int, ...] = (),
    alike: tuple[int, ...] = (),
    *,
    filled: bool = False,
) -> str:
    """Return a statement for a number of rows of a table.

    It omits the columns at the places `empty`. Those in `alike` have one value for all rows, bound
    once and last. If `filled`, rows whose first value is NULL are skipped. An INSERT does not name
    empty columns.
    """
    assert query.rows is not None
    bound = count * (len(query.rows.columns) - len(empty) - len(alike))
    shared = {place: f"?{number}" for number, place in enumerate(alike, bound + 1)}
    shared |= dict.fromkeys(empty, "NULL")
    named, own, values = [], [], []
    for place, column in enumerate(query.rows.columns):
        if place in empty and "{columns}" in query.sql:
            continue
        if place not in shared:
            own.append(column.name)
        value = shared.get(place, f"own.{column.name}")
        text = f"CAST({value} AS TEXT)" if column.type == "json" else value
        named.append(column.name)
        values.append(f"{text} AS {column.name}")
    each = f"({','.join('?' * len(own)) or 'NULL'})"
    # WHERE, since an ON CONFLICT that followed FROM would be read as the ON of a join.
    which = f"own.{own[0]} IS NOT NULL" if filled else "true"
    rows = (
        f"WITH own ({','.join(own) or 'none_own'}) AS (VALUES {','.join([each] * count)}) "
        f"SELECT {','.join(values)} FROM own WHERE {which}"
    )
    return query.sql.replace("{columns}", ",".join(named)).replace("{rows}", rows)


class Binding(NamedTuple):
    """The columns that are empty in all rows, those equal in all rows, and the values to bind.

    `rows` is the number of rows of the statement; if `filled`, the last ones are empty.
    """

    empty: tuple[int, ...]
    alike: tuple[int, ...]
    values: Sequence[Any]
    rows: int
    filled: bool


def binding(columns: Sequence[Values]) -> Binding:
    """Work out the values to bind for a set of rows.

    Most columns of most rows are empty, and in a large set many are equal in all rows; both are
    bound once.
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
    values = list(chain.from_iterable(zip(*own, strict=True)))
    # Rows that fill up a statement are recognised by a NULL in their first column, so no other row
    # may have one there.
    filled = not many and bool(own) and None not in own[0]
    if filled:
        rows = _ROOM[count]
        values += [None] * (len(own) * (rows - count))
        count = rows
    return Binding(tuple(empty), tuple(alike), values + shared, count, filled)


def filled_up(named: Sequence[Any]) -> Sequence[Any]:
    """Return a list padded to one of a few lengths, by repeating a value."""
    count = len(named)
    if count >= SIZES[-1] or count == _ROOM[count]:
        return named
    return (*named, *(named[-1],) * (_ROOM[count] - count))


# The room that a few rows are given.
_ROOM: Final = [next(size for size in FEW if size >= count) for count in range(SIZES[-1])]


def parts(count: int) -> Iterator[slice]:
    """Split a number of rows into slices of the sizes for which statements exist."""
    start = 0
    for size in SIZES:
        while count - start >= size:
            yield slice(start, start + size)
            start += size
    if start < count:
        yield slice(start, count)
