"""Read from a SQLite store."""

from typing import Final

import apsw

from ojs_server.store.base import Clock
from ojs_server.store.records import Staged
from ojs_server.store.sqlite.statements import SqliteStatements
from ojs_server.store.tables.contract import Reader

_BEHIND_ALL: Final = 2**63 - 1


class SqliteReader(SqliteStatements, Reader):
    """The read operations of the store contract."""

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        super().__init__(connection)
        self._clock = clock

    def now(self) -> int:
        """The store's clock."""
        return self._clock()

    def log_end(self) -> int:
        """Return a position behind all: whatever is there was committed in order."""
        return _BEHIND_ALL

    def log_head(self) -> int:
        """Return the end of the log, which is never behind."""
        return _BEHIND_ALL

    def staged(self, limit: int) -> list[Staged]:
        """Return the first staged jobs."""
        return self.read(Staged, "staged", limit=limit)

    def ping(self) -> None:
        """Check that the file can be read."""
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
