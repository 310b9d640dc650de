"""Rotation of the rows in which a node counts the jobs of queues.

Every transaction updates counters. While a foreign snapshot is held, the old versions of a row
stay, and each update has to read past all of them. So after some transactions a node continues with
new rows under another name, and adds the last ones to the rows under its own name.
"""

from collections.abc import Iterable
from typing import Final

# Transactions after which the rows get another name. About 60 versions of a row fit on a page.
EVERY: Final = 500
# Separator between the name of a node and the number of its rows, also in nodes.sql.
MARK: Final = "#"


class CounterRows:
    """The name of the rows that a node writes, which its writer alone reads and changes."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._number = 0
        self._written = 0
        self._queues: set[str] = set()

    @property
    def name(self) -> str:
        """Return what `queue_counts.node` says in the rows that are written now."""
        return f"{self._node}{MARK}{self._number}" if self._number else self._node

    def write(self, queues: Iterable[str]) -> None:
        """Note that a transaction writes the rows of queues."""
        self._written += 1
        self._queues.update(queues)

    @property
    def worn(self) -> bool:
        """True once the rows were written by many transactions."""
        return self._written >= EVERY

    @property
    def renamed(self) -> list[str]:
        """Return the queues with rows under another name than the node's."""
        return sorted(self._queues) if self._number else []

    def renew(self) -> None:
        """Continue with new rows."""
        self._number += 1
        self._written = 0
        self._queues = set()
