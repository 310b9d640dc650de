"""The PostgreSQL store: opening, transactions and reading."""

import os
import secrets
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg_pool import ConnectionPool

from ojs_server.store.base import (
    POSITION_BITS,
    Clock,
    OnWake,
    OutcomeUnknown,
    StaleWrite,
    StoreUnavailable,
)
from ojs_server.store.postgres.connect import Address, address_of, set_up
from ojs_server.store.postgres.enter import enter
from ojs_server.store.postgres.failures import at_the_boundary, first_line, translated
from ojs_server.store.postgres.listen import PostgresListener
from ojs_server.store.postgres.migrate import migrate
from ojs_server.store.postgres.read import PostgresReader
from ojs_server.store.postgres.statements import PACKAGE, STATEMENTS
from ojs_server.store.postgres.transaction import Place, PostgresTx

READERS: Final = 4
# How long the outcome of a COMMIT is asked for before it counts as unknown.
PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.1

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore:
    """One node's way to the database: a connection that writes and a few that read.

    Only one transaction runs at a time; the server's writer thread makes them.
    """

    kind = "postgres"

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        node: str | None = None,
        migrations: bool = True,
        listen_url: str | None = None,
        readers: int = READERS,
        patience_s: float = PATIENCE_S,
    ) -> None:
        pooled = listen_url is not None and listen_url != url
        self._address = address_of(url, pooled=pooled)
        self._direct = address_of(listen_url or url)
        self.location = self._address.location
        self._clock = clock
        self._patience_s = patience_s
        self._writer: Connection | None = None
        with at_the_boundary():
            connection = self._connect()
        try:
            with at_the_boundary():
                migrate(connection, PACKAGE, apply=migrations)
                self._place = Place(node or _node_name(), _channel(connection))
                enter(connection, self._place.node)
        except BaseException:
            self._drop_writer()
            raise
        self._pool = _pool(self._address, readers)

    @contextmanager
    def transaction(self) -> Iterator[PostgresTx]:
        """One write transaction; a broken one is rolled back whole."""
        connection, now, number, base = self._begin()
        try:
            with connection.cursor(binary=True) as cursor:
                yield PostgresTx(cursor, now, base, self._place)
        except BaseException as error:
            self._roll_back(connection)
            if isinstance(error, psycopg.Error):
                raise translated(error) from error
            raise
        self._commit(connection, number)

    @contextmanager
    def reader(self) -> Iterator[PostgresReader]:
        """A connection for reading, each statement by itself."""
        with (
            at_the_boundary(),
            self._pool.connection() as connection,
            connection.cursor(binary=True) as cursor,
        ):
            yield PostgresReader(cursor, self._clock)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        with self.reader() as reader:
            reader.ping()

    def listener(self, on_wake: OnWake) -> PostgresListener:
        """What hears of jobs that other nodes make available, past any connection pooler."""
        return PostgresListener(self._direct, self._place.channel, self._place.node, on_wake)

    def note_waiting(self, until: int) -> None:
        """Tell the other nodes that fetches wait here until a moment."""
        with self.reader() as reader:
            reader.note_waiting(self._place.node, until)

    def durability_warnings(self) -> list[str]:
        """What about the server could lose a commit that was answered."""
        with self.reader() as reader:
            return [
                f"PostgreSQL runs with {name} = off: a crash of its machine can lose what was "
                "answered"
                for name in reader.unsafe_settings()
            ]

    def close(self) -> None:
        """Let go of the database."""
        self._pool.close()
        self._drop_writer()

    def _begin(self) -> tuple[Connection, int, int, int]:
        """Start a transaction; an idle connection that has died since is replaced first."""
        fresh = self._writer is None
        try:
            with at_the_boundary():
                connection = self._writer or self._connect()
                cursor = connection.execute(STATEMENTS["begin"].sql.encode())
                cursor.nextset()
                row = cursor.fetchone()
        except StoreUnavailable:
            self._drop_writer()
            if fresh:
                raise
            return self._begin()
        assert row is not None
        now, number, offset, *_ = row
        moment = self._clock() if self._clock else now
        return connection, moment, number, (number + offset) << POSITION_BITS

    def _commit(self, connection: Connection, number: int) -> None:
        try:
            done = connection.execute("COMMIT")
        except psycopg.Error as error:
            self._drop_writer()
            self._learn_outcome(number, error)
            return
        if done.statusmessage != "COMMIT":
            raise StaleWrite("a statement of the transaction had failed; it was rolled back")

    def _learn_outcome(self, number: int, error: psycopg.Error) -> None:
        """Ask what became of a COMMIT whose answer was lost; returns if it was carried out."""
        deadline = time.monotonic() + self._patience_s
        while time.monotonic() < deadline:
            with suppress(psycopg.Error):
                connection = self._writer or self._connect()
                row = connection.execute(STATEMENTS["outcome"].sql, (str(number),)).fetchone()
                status = row[0] if row else None
                if status == "committed":
                    return
                if status == "aborted":
                    raise translated(error) from error
                if status is None:
                    break
            time.sleep(_POLL_S)
        raise OutcomeUnknown(
            f"the connection was lost during COMMIT, and the database does not say whether "
            f"transaction {number} was carried out: {first_line(error)}"
        ) from error

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            # The server rolls back what has no connection any more.
            self._drop_writer()

    def _connect(self) -> Connection:
        self._writer = self._address.connect()
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _pool(address: Address, size: int) -> ConnectionPool[Connection]:
    pool: ConnectionPool[Connection] = ConnectionPool(
        kwargs={**address.parameters, **address.driver_settings()},
        min_size=1,
        max_size=size,
        timeout=5,
        # Attempts that go on longer come at growing intervals; a new request starts anew.
        reconnect_timeout=2,
        num_workers=1,
        configure=set_up,
        check=_check_idle,
        open=False,
    )
    pool.open()
    return pool


def _check_idle(connection: Connection) -> None:
    """Refuse a connection that has died in the pool.

    An idle one has nothing to say unless the server ended it, so looking costs no round trip.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        ConnectionPool.check_connection(connection)


def _node_name() -> str:
    # Containers may share a host name and all be process 1 of it.
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


def _channel(connection: Connection) -> str:
    row = connection.execute(STATEMENTS["channel"].sql).fetchone()
    assert row is not None
    return str(row[0])
