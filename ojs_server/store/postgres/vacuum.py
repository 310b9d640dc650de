"""Find the sessions, prepared transactions and replication slots that hold vacuum back for long."""

from collections.abc import Iterable
from typing import Any, Final

from ojs_server.domain.admin.vacuum_holder import VacuumHolder

# Longer than transactions of an application, and shorter than it takes to hurt.
LONG_S: Final = 60


class VacuumHolders:
    """Remembers when each was first seen, by this machine's monotonic clock.

    The database does not say since when a slot has its oldest transaction, and hides the beginning
    of other users' transactions from an ordinary role.
    """

    def __init__(self) -> None:
        self._first_seen: dict[tuple[str, str, str], float] = {}

    def long(self, seen: Iterable[tuple[Any, ...]], now: float) -> list[VacuumHolder]:
        """Return those that have held vacuum back for long, of the rows of all that do."""
        before, self._first_seen = self._first_seen, {}
        found: list[VacuumHolder] = []
        for kind, name, application, user, transactions, oldest, age_ms in seen:
            first = self._first_seen[kind, name, oldest] = before.get((kind, name, oldest), now)
            held_s = int(now - first if age_ms is None else age_ms / 1000)
            if held_s >= LONG_S:
                hidden = age_ms is None
                found.append(
                    VacuumHolder(kind, name, application, user, transactions, held_s, hidden)
                )
        return found
