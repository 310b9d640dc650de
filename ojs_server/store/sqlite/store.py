"""The embedded SQLite store: opening, transactions and reading."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import apsw

from ojs_server.domain.admin.maintenance import Maintenance
from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.domain.fairness.sharing import Sharing
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.environment import Environment, machine
from ojs_server.store.base import Callbacks, Clock
from ojs_server.store.clock import RisingClock
from ojs_server.store.errors import OutcomeUnknown, SchemaError, StoreBusy, StoreUnavailable
from ojs_server.store.records import POSITION_BITS, Contended, Preload
from ojs_server.store.sqlite.backfill import Backfill
from ojs_server.store.sqlite.database_file import HOLD_JOBS, DatabaseFile
from ojs_server.store.sqlite.lock import FileLock
from ojs_server.store.sqlite.migrate import migrate
from ojs_server.store.sqlite.read import SqliteReader
from ojs_server.store.sqlite.statements import PACKAGE, QUERIES
from ojs_server.store.sqlite.transaction import SqliteTx

# Errors caused by the file, its disk or another process; all others are bugs.
_OUTSIDE: Final = (
    *(apsw.AbortError, apsw.CantOpenError, apsw.CorruptError, apsw.FullError),
    *(apsw.InterruptError, apsw.IOError, apsw.LockedError, apsw.NotADBError),
    *(apsw.PermissionsError, apsw.ProtocolError, apsw.ReadOnlyError),
)

_PRAGMAS: Final = {
    "journal_mode": "WAL",
    "synchronous": "FULL",
    "temp_store": "MEMORY",
    # In kilobytes. Not more: a commit that has balanced a tree looks at every page of it.
    "cache_size": -8000,
    "journal_size_limit": 67108864,
}
# Time limit to wait for another process that writes to the file.
PATIENCE_MS: Final = 5000
# Interval of looks at the files that hold no jobs.
LOOK_MS: Final = 1000


class SqliteStore:
    """A file in WAL mode with `synchronous=FULL`: a commit is on disk before it is answered."""

    kind = "sqlite"
    embedded = True
    is_open = True
    lost_connections = 0
    # A subclass may add to what they do; one whose nodes share a store notes what they announce.
    transactions: type[SqliteTx] = SqliteTx
    readers: type[SqliteReader] = SqliteReader
    _closed = False
    _backfill: Backfill | None = None
    _file: DatabaseFile | None = None
    # A file was not under its name at the last look.
    _displaced = False
    # Time of the last check of all files after a commit, by the store's clock.
    _looked_at = 0

    def __init__(
        self,
        path: str,
        *,
        environment: Environment | None = None,
        clock: Clock | None = None,
        node: str = "local",
        migrations: bool = True,
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        # Two in-memory connections would see two databases, so `:memory:` is a private file.
        self._private = TemporaryDirectory(prefix="ojs-") if path == ":memory:" else None
        name = Path(f"{self._private.name}/ojs.db" if self._private else path).absolute()
        # Resolved, so that two names of one file share one lock.
        self.path = name.resolve()
        self.location = str(self.path)
        self.node = node
        # No other process may have the file, so none needs to find it there.
        self._announced: ServerNode | None = None
        environment = environment or machine()
        self._patience_ms = patience_ms
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._file_lock = FileLock(self.path, environment.process)
        try:
            self._file = DatabaseFile(name, self.path, environment.process)
            # One thread at a time has it, so that it needs no lock of its own.
            self._writer = self._connect(apsw.SQLITE_OPEN_NOMUTEX)
            migrate(self._writer, PACKAGE, apply=migrations)
            self._clock = clock or self._rising_clock(environment)
            begun = SqliteTx(self._writer, 0, 0, self.node, {})
            self._configs: Mapping[str, QueueConfig] = begun.all_configs()
            self._maintenance: Maintenance | None = begun.stored_maintenance()
            self._schemas = begun.all_schemas()
            self._routings = begun.all_routings()
            self._sharing: Sharing = begun.stored_sharing()
            self._number = max(self._last_position() >> POSITION_BITS, self._clock())
            self._file.note_log()
            self._backfill = Backfill(self._writer, self._connect(), environment.threads)
            # The caller of `transaction` sets the wait.
            self._writer.set_busy_timeout(0)
        except (apsw.Error, OSError) as error:
            self.close()
            raise StoreUnavailable(f"cannot open {self.path}: {error}") from error
        except (SchemaError, StoreUnavailable):
            self.close()
            raise

    def open(self) -> None:
        """Do nothing: a file is opened when the store is made."""

    @contextmanager
    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> Iterator[SqliteTx]:
        """Return a write transaction, rolled back whole if it fails. Reads need no round trip."""
        with self._at_the_boundary():
            self._begin(long_wait)
            try:
                self._number += 1
                base = self._number << POSITION_BITS
                tx = self.transactions(self._writer, self._clock(), base, self.node, self._configs)
                tx.maintenance, tx.schemas = self._maintenance, self._schemas
                tx.sharing, tx.routings = self._sharing, self._routings
                yield tx
                self._commit()
                if tx.changed_configs:
                    self._configs = tx.configs
                    self._maintenance, self._schemas = tx.maintenance, tx.schemas
                    self._sharing, self._routings = tx.sharing, tx.routings
                # The next start opens the path, so a commit to a file without it would be lost.
                if (reason := self._displaced_at(tx.now)) is not None:
                    raise OutcomeUnknown(reason)
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reader(self) -> Iterator[SqliteReader]:
        """This thread's connection for reading."""
        with self._at_the_boundary():
            connection: apsw.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect()
                connection.pragma("query_only", True)
            yield self.readers(connection, self._clock)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        # One that is displaced can be read only by who has it open.
        if self.displaced() is None:
            with self.reader() as reader:
                reader.ping()

    def displaced(self, most: int | None = None) -> str | None:
        """Return which file is not under its name any more; None if all are, or the first ones."""
        reason = self._file.displaced(most) if self._file is not None else None
        if reason is not None or most is None:
            self._displaced = reason is not None
        return reason

    def synchronous(self) -> int:
        """`PRAGMA synchronous` of the writing connection: 2 is FULL."""
        return int(self._writer.pragma("synchronous"))

    def listener(self, callbacks: Callbacks) -> None:
        """There is no other node to hear of: the file has one server."""

    def note_waiting(self, until: int) -> None:
        """There is no other node to tell."""

    def note_following(self, for_ms: int) -> None:
        """There is no other node to tell."""

    def announce(self, announcement: Announcement) -> None:
        """Note that this node is up."""
        now = self._clock()
        since = now if self._announced is None else self._announced.started_at
        self._announced = ServerNode(self.node, since, now, announcement)

    def withdraw(self) -> None:
        """Note that this node has stopped."""
        self._announced = None

    def nodes(self) -> list[ServerNode]:
        """Return this node, if it was announced: the file has one server."""
        return [] if self._announced is None else [self._announced]

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """There is no other transaction: the file has one writer."""
        return Contended()

    def end_silent_transactions(self) -> int:
        """There is no other server: the file has one."""
        return 0

    def vacuum_holders(self) -> list[VacuumHolder]:
        """There are none: an old snapshot only lets the write-ahead log grow."""
        return []

    def durability_warnings(self) -> list[str]:
        """None: every connection is opened with `synchronous=FULL`."""
        return []

    def close(self) -> None:
        """Close every connection, free the lock, and remove a private file."""
        if self._backfill is not None:
            self._backfill.close()
        with self._lock:
            self._closed = True
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._file_lock.release()
        if self._private:
            self._private.cleanup()

    @contextmanager
    def _at_the_boundary(self) -> Iterator[None]:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        try:
            yield
        except apsw.BusyError as error:
            raise StoreBusy(str(error)) from error
        except _OUTSIDE as error:
            raise StoreUnavailable(str(error)) from error

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except apsw.IOError as error:
            # If its sync failed, the log has the whole transaction, and a start after the end of
            # this process would take it for committed. The next transaction overwrites it.
            try:
                self._rewrite_a_page()
            except apsw.Error:
                raise OutcomeUnknown(f"a COMMIT failed: {error}") from error
            raise

    def _rewrite_a_page(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.execute(QUERIES["touch"].sql)
        self._writer.execute("COMMIT")

    def _displaced_at(self, now: int) -> str | None:
        """Look at the files after a commit: at those that hold jobs, now and then at all."""
        if now < self._looked_at + LOOK_MS:
            return self.displaced(HOLD_JOBS)
        self._looked_at = now
        return self.displaced()

    def _begin(self, long_wait: bool) -> None:
        if self._displaced and (reason := self.displaced()) is not None:
            raise StoreUnavailable(reason)
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            if not long_wait:
                raise
            self._writer.set_busy_timeout(self._patience_ms)
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            finally:
                self._writer.set_busy_timeout(0)

    def _connect(self, flags: int = 0) -> apsw.Connection:
        flags |= apsw.SQLITE_OPEN_READWRITE
        connection = apsw.Connection(str(self.path), flags=flags, statementcachesize=512)
        if (reason := self.displaced()) is not None:
            connection.close()
            raise StoreUnavailable(reason)
        with self._lock:
            self._connections.append(connection)
        # Otherwise each new value may be a reason to plan its statement anew.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(self._patience_ms)
        for name, value in _PRAGMAS.items():
            connection.pragma(name, value)
        return connection

    def _rising_clock(self, environment: Environment) -> RisingClock:
        latest = self._writer.execute("SELECT at FROM events ORDER BY pos DESC LIMIT 1").get
        return RisingClock(environment.wall_ms, environment.monotonic_ms, latest or 0)

    def _last_position(self) -> int:
        return int(self._writer.execute(QUERIES["last_position"].sql).get)
