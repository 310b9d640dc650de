"""Read from a SQLite store."""

import apsw

from ojs_server.store.base import Clock
from ojs_server.store.sqlite.statements import SqliteStatements
from ojs_server.store.tables.contract import Reader


class SqliteReader(SqliteStatements, Reader):
    """The read operations of the store contract."""

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        super().__init__(connection)
        self._clock = clock

    def now(self) -> int:
        """The store's clock."""
        return self._clock()

    def ping(self) -> None:
        """Check that the file can be read."""
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
