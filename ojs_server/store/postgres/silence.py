"""Find and end the transactions of servers that have fallen silent.

A server that was suspended or cut off in the middle of a transaction keeps its locks. The database
waits for it, and no time-out ends that, because between statements that are sent ahead the session
counts as busy. So every server watches all transactions, and ends those that have waited for their
client for as long as it has seen them.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

# No server of ours takes that long from one statement to the next unless it is in trouble itself.
SILENCE_S: Final = 3.0
# Time after which a server gives its own transaction up: another one may have ended it.
GIVEN_UP_S: Final = 5.0


class Silence(msgspec.Struct, frozen=True):
    """A transaction that waits for its client, and the beginning of its last statement."""

    pid: int
    backend: str
    since: str


class Silences:
    """Remembers when each silence was first seen, by this machine's monotonic clock."""

    def __init__(self) -> None:
        self._first_seen: dict[Silence, float] = {}

    def over(self, seen: Iterable[Silence], now: float) -> list[Silence]:
        """Return those that have lasted too long."""
        before = self._first_seen
        self._first_seen = {node: before.get(node, now) for node in seen}
        return [node for node, first in self._first_seen.items() if now - first >= SILENCE_S]
