"""The rows in which a node counts the jobs of queues: others from time to time.

Every transaction writes its counters anew. While a foreign snapshot is held, the old versions of a
row stay, and each change of it has to read past all of them. So a node goes on with rows of another
name after some transactions, and adds the last ones to those that have its own name.
"""

from collections.abc import Iterable
from typing import Final

# Transactions between two names. A page has about 60 versions of a row.
EVERY: Final = 500
# Between the name of a node and the number of its rows.
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

    def worn(self) -> list[str] | None:
        """Return the queues whose rows are to be added up after many transactions, else None."""
        if self._written < EVERY:
            return None
        # The first rows have the name of the node already.
        return sorted(self._queues) if self._number else []

    def renew(self) -> None:
        """Go on with other rows."""
        self._number += 1
        self._written = 0
        self._queues = set()
