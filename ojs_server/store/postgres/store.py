"""The PostgreSQL store: opening, transactions and reading."""

import logging
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

import msgspec
import psycopg
from psycopg_pool import ConnectionPool

from ojs_server.domain.admin.maintenance import Maintenance
from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.domain.fairness.sharing import ALONE
from ojs_server.domain.jobs.version_routing import Routings
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.environment import Environment, machine
from ojs_server.store.base import Callbacks, Clock
from ojs_server.store.errors import StaleWrite, StoreUnavailable, StoreUnreachable
from ojs_server.store.postgres import connect
from ojs_server.store.postgres.bounded import ANSWER_S, PING_S, BoundedConnection
from ojs_server.store.postgres.counter_rows import CounterRows
from ojs_server.store.postgres.due_floors import DueFloors
from ojs_server.store.postgres.enter import enter, enter_again
from ojs_server.store.postgres.failures import at_the_boundary, first_line, is_outdated
from ojs_server.store.postgres.floors import Floors
from ojs_server.store.postgres.followers import Followers
from ojs_server.store.postgres.listen import PostgresListener, Receiver
from ojs_server.store.postgres.migrate import migrate
from ojs_server.store.postgres.outcome import PATIENCE_S
from ojs_server.store.postgres.read import PostgresReader
from ojs_server.store.postgres.refusals import refused_start
from ojs_server.store.postgres.silence import Silences
from ojs_server.store.postgres.staged_floor import StagedFloor
from ojs_server.store.postgres.statements import PACKAGE, STATEMENTS
from ojs_server.store.postgres.transaction import Node, PostgresTx
from ojs_server.store.postgres.vacuum import VacuumHolders
from ojs_server.store.postgres.writer import Writer
from ojs_server.store.records import Contended, Marks, Preload
from ojs_wire.codec import encode

log = logging.getLogger("ojs.store")

# One more than the server has threads that read, so that a health check waits for none.
READERS: Final = 5
# Time limit for a lock, and the one for transactions that others wait for.
LOCK_MS: Final = 4_000
BRIEF_MS: Final = 250
# For a connection of the pool.
POOL_S: Final = 5.0


class PostgresStore:
    """One node's way to the database: a connection that writes and a few that read.

    Only one transaction runs at a time; the server's writer thread makes them.
    """

    kind = "postgres"
    embedded = False

    def __init__(
        self,
        url: str,
        *,
        environment: Environment | None = None,
        clock: Clock | None = None,
        node: str | None = None,
        migrations: bool = True,
        listen_url: str | None = None,
        readers: int = READERS,
        patience_s: float = PATIENCE_S,
        answer_s: float = ANSWER_S,
        at_once: bool = True,
    ) -> None:
        environment = environment or machine()
        self._pooled = listen_url is not None and listen_url != url
        address = connect.address_of(url, pooled=self._pooled, answer_s=answer_s)
        self._answer_s = answer_s
        self._direct = connect.address_of(listen_url or url, answer_s=answer_s)
        self.location = address.location
        self._clock = clock
        self._configs: Mapping[str, QueueConfig] = {}
        self._configs_read = -1
        self._maintenance: Maintenance | None = None
        self._schemas: Marks = {}
        self._sharing = ALONE
        self._routings: Routings = {}
        self._silences = Silences()
        self._vacuum_holders = VacuumHolders()
        self._floors = Floors()
        self._due_floors = DueFloors()
        self._writer = Writer(address, environment.chance.bits, patience_s)
        self._lost_readers = 0
        self._migrations = migrations
        # The database says which channel it has.
        self._node = Node(node or _name_in(environment), "", Followers(environment.monotonic))
        self._counter_rows = CounterRows(self._node.name)
        self._staged_floor = StagedFloor(environment.monotonic)
        self._closed = False
        self._make_pool = partial(_pool, address, readers, pooled=self._pooled)
        # Made by `open`.
        self._pool: ConnectionPool[BoundedConnection] | None = None
        if at_once:
            self.open()

    @property
    def is_open(self) -> bool:
        """Tell whether the database has been found and migrated."""
        return self._pool is not None

    def open(self) -> None:
        """Connect, migrate, and register this node."""
        try:
            connection = self._writer.connection()
            with at_the_boundary():
                migrate(connection, PACKAGE, apply=self._migrations)
                self._node = msgspec.structs.replace(self._node, channel=_channel(connection))
                enter(connection, self._node.name)
            self._writer.on_connect = enter_again
        except BaseException as error:
            self._writer.drop()
            if isinstance(error, (psycopg.Error, StaleWrite, StoreUnavailable)):
                raise refused_start(error, self.location) from error
            raise
        self._pool = self._make_pool()
        if self._closed:
            self.close()

    @contextmanager
    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> Iterator[PostgresTx]:
        """One write transaction; a broken one is rolled back whole."""
        self._opened()
        with self._writer.transaction(preload, LOCK_MS if long_wait else BRIEF_MS) as begun:
            now = self._clock() if self._clock else begun.now
            tx = PostgresTx(
                begun,
                now,
                self._node,
                self._configs,
                self._floors,
                self._due_floors,
                self._counter_rows,
            )
            if begun.configs != self._configs_read:
                tx.configs = self._configs = tx.all_configs()
                self._maintenance = tx.stored_maintenance()
                self._schemas = tx.all_schemas()
                self._sharing = tx.stored_sharing()
                self._routings = tx.all_routings()
                self._configs_read = begun.configs
            tx.maintenance, tx.schemas = self._maintenance, self._schemas
            tx.sharing, tx.routings = self._sharing, self._routings
            yield tx
        tx.committed()

    def reader(self) -> AbstractContextManager[PostgresReader]:
        """A connection for reading, each statement by itself."""
        return self._reading(self._opened().timeout, self._answer_s)

    def _opened(self) -> ConnectionPool[BoundedConnection]:
        if self._pool is None:
            raise StoreUnreachable("the database has not been found yet")
        return self._pool

    def _soon(self) -> AbstractContextManager[PostgresReader]:
        """Return a connection for reading that is waited for briefly, as are its answers."""
        return self._reading(PING_S, min(PING_S, self._answer_s))

    @contextmanager
    def _reading(self, pool_s: float, answer_s: float) -> Iterator[PostgresReader]:
        pool = self._opened()
        with at_the_boundary():
            connection = pool.getconn(pool_s)
            while _has_died(connection):
                self._lost_readers += 1
                connection.close()
                pool.putconn(connection)
                connection = pool.getconn(pool_s)
            connection.patience_s = answer_s
            try:
                with connection.cursor(binary=True) as cursor:
                    yield PostgresReader(
                        cursor,
                        self._clock,
                        self._due_floors,
                        self._staged_floor,
                        pooled=self._pooled,
                    )
            except psycopg.Error as error:
                if not is_outdated(error):
                    raise
                # The next connection prepares everything anew.
                connection.close()
                raise StoreUnavailable(first_line(error)) from error
            finally:
                self._lost_readers += connection.closed
                pool.putconn(connection)

    @property
    def lost_connections(self) -> int:
        """Number of connections for writing and for reading that were lost."""
        return self._writer.lost + self._lost_readers

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        with self._soon() as reader:
            reader.ping()

    def displaced(self) -> str | None:
        """None: the database looks after its files."""
        return None

    def listener(self, callbacks: Callbacks) -> PostgresListener:
        """Return a listener for other nodes' notices that bypasses any connection pooler."""
        receiver = Receiver(self._node.followers, callbacks)
        return PostgresListener(self._direct, self._node, receiver)

    def note_waiting(self, until: int) -> None:
        """Notify other nodes that fetches wait here until a moment."""
        with self.reader() as reader:
            reader.note_waiting(self._node.name, until)

    def note_following(self, for_ms: int) -> None:
        """Ask other nodes to announce the events that they add to the log."""
        notice = encode({"node": self._node.name, "follows_ms": for_ms}).decode()
        with self.reader() as reader:
            reader.notify(self._node.channel, notice)

    @property
    def node(self) -> str:
        """Return the id of this node."""
        return self._node.name

    def announce(self, announcement: Announcement) -> None:
        """Note that this node is up."""
        with self.reader() as reader:
            reader.announce_node(self._node.name, announcement)

    def withdraw(self) -> None:
        """Note that this node has stopped."""
        with self.reader() as reader:
            reader.withdraw_node(self._node.name)

    def nodes(self) -> list[ServerNode]:
        """Return the nodes that were announced and have not been withdrawn."""
        with self.reader() as reader:
            return reader.nodes()

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """Rows that another transaction has had for a while."""
        with self._soon() as reader:
            return reader.held(requested, for_ms)

    def end_silent_transactions(self) -> int:
        """End transactions of servers that have fallen silent; answers how many."""
        with self._soon() as reader:
            gone = self._silences.over(reader.silent(), time.monotonic())
            ended = sum(reader.end_silent(node) for node in gone)
        if ended:
            log.warning("%d transactions of servers that had fallen silent were ended", ended)
        return ended

    def vacuum_holders(self) -> list[VacuumHolder]:
        """Return what has kept old row versions alive for long."""
        with self.reader() as reader:
            return self._vacuum_holders.long(reader.vacuum_holders(), time.monotonic())

    def synchronous_commit(self) -> list[str]:
        """The setting on every connection: the writer's in a transaction, then the readers'."""
        with self.transaction() as tx, ExitStack() as held:
            most = self._opened().max_size
            readers = [held.enter_context(self.reader()) for _ in range(most)]
            return [tx.synchronous_commit(), *(reader.synchronous_commit() for reader in readers)]

    def durability_warnings(self) -> list[str]:
        """Return the server settings under which a confirmed commit could be lost."""
        with self.reader() as reader:
            return [
                f"PostgreSQL runs with {name} = off: a crash of its machine can lose "
                "confirmed commits"
                for name in reader.unsafe_settings()
            ]

    def close(self) -> None:
        """Let go of the database; a thread that opens it does so when it is done."""
        self._closed = True
        if self._pool is not None:
            self._pool.close()
            self._writer.close()


def _pool(
    address: connect.Address, size: int, *, pooled: bool
) -> ConnectionPool[BoundedConnection]:
    def set_up(connection: BoundedConnection) -> None:
        address.set_up(connection)
        if not pooled:
            connect.plan_by_index(connection, local=False)

    pool: ConnectionPool[BoundedConnection] = ConnectionPool(
        connection_class=connect.DRIVER,
        kwargs={**address.parameters, **address.driver_settings()},
        min_size=1,
        max_size=size,
        # A new one may have to be looked for at every host.
        timeout=max(POOL_S, address.connect_s + 1),
        # Attempts that go on longer come at growing intervals; a new request starts anew.
        reconnect_timeout=2,
        num_workers=1,
        configure=set_up,
        open=False,
    )
    pool.open()
    return pool


def _has_died(connection: BoundedConnection) -> bool:
    """True if a pooled connection was closed by the server.

    An idle connection has nothing to read unless the server ended it, so the check costs no round
    trip.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        with suppress(psycopg.Error):
            connection.execute("SELECT 1")
    return connection.closed


def _name_in(environment: Environment) -> str:
    # Containers may share a host name and all be process 1 of it.
    return f"{environment.host}:{environment.process}:{environment.chance.bits(24):06x}"


def _channel(connection: BoundedConnection) -> str:
    row = connection.execute(STATEMENTS["channel"].sql.encode()).fetchone()
    assert row is not None
    return str(row[0])
