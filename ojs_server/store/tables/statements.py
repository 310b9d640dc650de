"""Run named statements: implemented by each store, used by all tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from ojs_server.store.columns import Row
from ojs_server.store.errors import StaleWrite
from ojs_server.store.queries import Query
from ojs_server.store.records import MAX_POSITIONS

# The values of a column, one for each row.
Values = Sequence[Any]
Returned = TypeVar("Returned")


class Statements(ABC):
    """A connection of one store that knows the statements of its `sql` folder."""

    queries: ClassVar[Mapping[str, Query]]

    @abstractmethod
    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""

    @abstractmethod
    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""

    @abstractmethod
    def run_batch(self, name: str, columns: Sequence[Values]) -> int:
        """Run a statement once for all rows of a table; answers how many rows it touched.

        The columns, each with a value for each row, are in the order of the statement's own.
        """

    @abstractmethod
    def all_batch(self, name: str, columns: Sequence[Values]) -> list[Any]:
        """Run a statement once for all rows of a table; answers the rows it returns."""

    @abstractmethod
    def can_hold(self, *texts: str | None) -> bool:
        """True if the database can store these texts."""

    def run_records(self, name: str, records: Sequence[Any]) -> int:
        """Run a statement for records; answers how many rows it touched."""
        return self.run_batch(name, self.columns_of(name, records)) if records else 0

    def all_records(self, name: str, records: Sequence[Any]) -> list[Any]:
        """Run a statement for records; answers the rows it returns."""
        return self.all_batch(name, self.columns_of(name, records)) if records else []

    def run_columns(self, name: str, /, **columns: Values) -> int:
        """Run a statement for rows, of which each column is named; answers how many it touched."""
        given = self.in_order(name, columns)
        return self.run_batch(name, given) if given[0] else 0

    def all_columns(self, name: str, /, **columns: Values) -> list[Any]:
        """Run a statement for rows, of which each column is named; answers the rows it returns."""
        given = self.in_order(name, columns)
        return self.all_batch(name, given) if given[0] else []

    def run_ids(self, name: str, ids: Iterable[str]) -> int:
        """Run a statement for ids; answers how many rows it touched."""
        column = self.holdable(ids)
        return self.run_batch(name, [column]) if column else 0

    def all_ids(self, name: str, ids: Iterable[str]) -> list[Any]:
        """Run a statement for ids; answers the rows it returns."""
        column = self.holdable(ids)
        return self.all_batch(name, [column]) if column else []

    def read(self, record: type[Returned], name: str, /, **bound: Any) -> list[Returned]:
        """Run a statement; answers the records that it returns."""
        return self.made(record, name, self.all(name, **bound))

    def read_ids(self, record: type[Returned], name: str, ids: Iterable[str]) -> list[Returned]:
        """Run a statement for ids; answers the records that it returns."""
        return self.made(record, name, self.all_ids(name, ids))

    def made(self, record: type[Returned], name: str, rows: Sequence[Row]) -> list[Returned]:
        """The records that a statement has returned as rows."""
        query = self.queries[name]
        if query.returns is not record or query.read is None:
            raise TypeError(f"{name} does not return a {record.__name__}")
        return list(map(query.read, rows))

    def columns_of(self, name: str, records: Sequence[Any]) -> Sequence[Values]:
        """Records, of which there are some, as the columns of the rows that a statement takes."""
        rows = self.queries[name].rows
        if rows is None or rows.of is None:
            raise TypeError(f"{name} takes no records")
        return list(zip(*map(rows.of, records), strict=True))

    def in_order(self, name: str, columns: Mapping[str, Values]) -> Sequence[Values]:
        """Named columns in the order in which a statement takes them."""
        rows = self.queries[name].rows
        if rows is None or len(columns) != len(rows.names):
            raise TypeError(f"{name} does not take the columns {', '.join(columns)}")
        return list(map(columns.__getitem__, rows.names))

    def names_of(self, name: str) -> Sequence[str]:
        """The names of the columns that a statement takes."""
        rows = self.queries[name].rows
        assert rows is not None
        return rows.names

    def holdable(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that the database can hold."""
        return [item for item in ids if self.can_hold(item)]


def by_name(rows: Iterable[Row], *names: str) -> dict[str, Values]:
    """Rows as columns of these names."""
    listed = list(rows)
    columns: Iterable[Values] = zip(*listed, strict=True) if listed else [()] * len(names)
    return dict(zip(names, columns, strict=True))


class Writing(Statements):
    """The statements of one write transaction: its moment, its node, its places."""

    def __init__(self, now: int, base: int, node: str) -> None:
        self.now = now
        self.node = node
        self._base = base
        # Number of positions that are in use.
        self._positions = 0

    def position(self) -> int:
        """Return the next position in commit order."""
        return self.positions(1)[0]

    def positions(self, count: int) -> Sequence[int]:
        """Return this many positions in ascending order."""
        first = self._base + self._positions + 1
        self._positions += count
        if self._positions >= MAX_POSITIONS:
            raise OverflowError("a transaction ran out of positions")
        return range(first, first + count)

    @abstractmethod
    def configs_changed(self) -> None:
        """Make a change of settings known to every later transaction of all nodes."""

    def update_records(self, name: str, records: Sequence[Any], what: str) -> None:
        """Change rows, all or none; StaleWrite where one of them is not there any more."""
        if self.run_records(name, records) != len(records):
            raise StaleWrite(f"{what} is no longer there")
