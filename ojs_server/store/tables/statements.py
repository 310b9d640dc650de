"""Running named statements: what each store implements, and all tables are built on."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ojs_server.store.base import MAX_POSITIONS

Column = Sequence[Any]
Rows = Sequence[Sequence[Any]]


class Statements:
    """A connection of one store that knows the statements of its `sql` folder."""

    def run(self, name: str, /, **bound: Any) -> int:
        """Run a statement; answers how many rows it touched."""
        raise NotImplementedError

    def all(self, name: str, /, **bound: Any) -> list[Any]:
        """Run a statement; answers the rows it returns."""
        raise NotImplementedError

    def run_columns(self, name: str, columns: Sequence[Column]) -> int:
        """Run a statement once for all rows of a table; answers how many rows it touched."""
        raise NotImplementedError

    def all_columns(self, name: str, columns: Sequence[Column]) -> list[Any]:
        """Run a statement once for all rows of a table; answers the rows it returns."""
        raise NotImplementedError

    def run_rows(self, name: str, rows: Rows) -> int:
        """The same from rows; answers how many rows it touched."""
        return self.run_columns(name, list(zip(*rows, strict=True))) if rows else 0

    def all_rows(self, name: str, rows: Rows) -> list[Any]:
        """The same from rows; answers the rows it returns."""
        return self.all_columns(name, list(zip(*rows, strict=True))) if rows else []

    def can_hold(self, *texts: str | None) -> bool:
        """Whether these texts can be in the database at all."""
        raise NotImplementedError

    def of_ids(self, name: str, ids: Iterable[str]) -> list[Any]:
        """The rows that a statement returns for these ids."""
        return self.all_rows(name, self.rows_of(ids))

    def rows_of(self, ids: Iterable[str]) -> list[tuple[str]]:
        """What is bound for ids: those that can be in the database at all."""
        return [(item,) for item in ids if self.can_hold(item)]


def _no_more() -> Iterator[int]:
    # A generator that ends with an error.
    yield from ()
    raise OverflowError("a transaction ran out of positions")


class Writing(Statements):
    """The statements of one write transaction: its moment, its node, its places."""

    def __init__(self, now: int, base: int, node: str) -> None:
        self.now = now
        self.node = node
        self._base = base
        self._places = chain(range(base + 1, base + MAX_POSITIONS), _no_more())

    def position(self) -> int:
        """The next place in commit order."""
        return next(self._places)

    def positions(self, count: int) -> list[int]:
        """So many of them, each above the one before it."""
        return list(islice(self._places, count))

    def configs_changed(self) -> None:
        """What nodes hold in memory has changed: every transaction after this one knows."""
        raise NotImplementedError
