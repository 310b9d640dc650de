"""Run this store's statements, with a typed array for each column of a batch."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec.structs import force_setattr, replace

from ojs_server.store.postgres.arrays import TYPES, Array, Packer
from ojs_server.store.queries import Dialect, Query, load_queries
from ojs_server.store.records import POSITION_BITS
from ojs_server.store.tables.statements import Statements, Values

PACKAGE: Final = "ojs_server.store.postgres"

# Number of rows for which the database plans a prepared statement. For fewer it would make a plan
# of its own each time, which costs more than to carry it out: it has to look at each index.
PLANNED_FOR: Final = 10
_NAMED: Final = re.compile(r"%\((\w+)\)s")


class Statement(Query, frozen=True, eq=False):
    """One statement with a typed array for each column of the rows that it takes.

    `sql` is for the driver's cursors. The pipe sends `text`, which takes the values of `parameters`
    by number.
    """

    types: tuple[str, ...] = ()
    # True if repeated rows have no further effect.
    repeatable: bool = False
    text: bytes = b""
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers: dict[str, int] = {}
        text = _NAMED.sub(
            lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", self.sql
        )
        force_setattr(self, "text", text.encode())
        force_setattr(self, "parameters", tuple(numbers))

    def packed(self, columns: Sequence[Values]) -> list[bytes]:
        """The columns of a table, each as a packed array."""
        count = len(columns[0])
        if self.repeatable and 0 < count < PLANNED_FOR:
            more = PLANNED_FOR - count
            columns = [(*column, *(column[-1],) * more) for column in columns]
        packers = _packers(self.types)
        return [pack(column) for pack, column in zip(packers, columns, strict=True)]

    def named(self, columns: Sequence[Values]) -> dict[str, Any]:
        """Return the packed columns by name, so that other parameters can be bound beside them."""
        assert self.rows is not None
        return dict(zip(self.rows.names, self.packed(columns), strict=True))

    def bound(self, columns: Sequence[Values]) -> dict[str, Array]:
        """Return the parameters by column name, as the driver takes them."""
        assert self.rows is not None
        arrays = zip(self.types, self.packed(columns), strict=True)
        packed = [TYPES[kind].array(each) for kind, each in arrays]
        return dict(zip(self.rows.names, packed, strict=True))


@cache
def _packers(types: tuple[str, ...]) -> Sequence[Packer]:
    return [TYPES[kind].pack for kind in types]


def statement_of(query: Query) -> Statement:
    """Replace `{rows}` and `{list}` by arrays that are unnested in step."""
    columns = query.rows.columns if query.rows else ()
    types = tuple("bytea" if column.type == "json" else column.type for column in columns)
    names = [column.name for column in columns]
    arrays = [f"%({name})s::{kind}[]" for name, kind in zip(names, types, strict=True)]
    repeatable = query.sql.startswith("UPDATE ") or any(
        once in query.sql for once in ("= ANY ({list})", "SELECT DISTINCT * FROM ({rows})")
    )
    # In SELECT: a function in FROM keeps what it answers, each column by itself in 24 KB.
    unnested = (f"unnest({array}) AS {name}" for array, name in zip(arrays, names, strict=True))
    sql = query.sql.replace("{rows}", f"SELECT {', '.join(unnested)}")
    sql = sql.replace("{list}", ", ".join(arrays)).replace("{columns}", ", ".join(names))
    return Statement(
        query.name,
        sql,
        query.rows,
        query.returns,
        query.lane,
        query.other_lane,
        query.is_list,
        query.read,
        query.changes,
        types=types,
        repeatable=bool(columns) and repeatable,
    )


def _parameter(name: str, kind: str) -> str:
    return f"%({name})s::{'bytea' if kind == 'json' else kind}"


DIALECT: Final = Dialect(
    parameter=_parameter,
    spelled={
        r"\bNOT IN \(\{list\}\)": "<> ALL ({list})",
        r"\bIN \(\{list\}\)": "= ANY ({list})",
        r" INDEXED BY \w+": "",
        # Spares SQLite a journal of the statement; here an error undoes the transaction anyway.
        r"\bINSERT OR ROLLBACK\b": "INSERT",
    },
)
STATEMENTS: Final[dict[str, Statement]] = load_queries(PACKAGE, DIALECT, statement_of)


def claim_of(limit: int, job_types: int | None = None) -> Statement:
    """Return the claim statement for up to a limit of jobs, of some job types or of any."""
    return _with_lanes(job_types) if job_types else _with_room(10 ** len(str(limit - 1)))


@cache
def _with_room(most: int) -> Statement:
    statement = STATEMENTS["claim"]
    return replace(statement, sql=statement.sql.replace("{most}", str(most)))


# A server reads a hundred types at most (docs/decisions/0046).
@cache
def _with_lanes(count: int) -> Statement:
    statement = STATEMENTS["claim_types"]
    sql = statement.sql
    for name, lane in (("{lanes}", statement.lane), ("{other_lanes}", statement.other_lane)):
        lanes = (lane.replace("{n}", str(n + 1)) for n in range(count))
        sql = sql.replace(name, " UNION ALL ".join(lanes))
    return replace(statement, sql=sql)


def can_hold(*texts: str | None) -> bool:
    """The database takes no NUL in text."""
    return not any(text and "\0" in text for text in texts)


class PostgresStatements(Statements):
    """A connection of this store, however it sends."""

    queries = STATEMENTS

    @abstractmethod
    def _rows(self, statement: Statement, bound: Mapping[str, Any]) -> list[Any]:
        """Run a statement; answers the rows it returns."""

    @abstractmethod
    def _touched(self, statement: Statement, bound: Mapping[str, Any]) -> int:
        """Run a statement; answers how many rows it touched."""

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        return self._touched(STATEMENTS[name], bound)

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        return self._rows(STATEMENTS[name], bound)

    def can_hold(self, *texts: str | None) -> bool:
        """True if PostgreSQL can store these texts."""
        return can_hold(*texts)

    def log_end(self) -> int:
        """Return the position below which no node has a transaction open, this one included."""
        return int(self.all("log_end")[0][0]) << POSITION_BITS

    def log_head(self) -> int:
        """Return a position above those of all transactions that have ended."""
        return int(self.all("log_head")[0][0]) << POSITION_BITS

    def synchronous_commit(self) -> str:
        """Return the `synchronous_commit` setting of this connection."""
        return str(self.all("synchronous_commit")[0][0])
