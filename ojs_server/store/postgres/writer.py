"""The single writing connection: begin and end transactions, and determine their outcomes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
import psycopg

from ojs_server.store.errors import OutcomeUnknown, StaleWrite, StoreBusy, StoreUnavailable
from ojs_server.store.postgres import outcome
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.connect import Address
from ojs_server.store.postgres.failures import at_the_boundary, first_line, translated
from ojs_server.store.postgres.outcome import PATIENCE_S, Token
from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.reads import Reads
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.records import POSITION_BITS, Preload
from ojs_wire.values import RandomBits

# The first version that knows a time-out of transactions.
BOUNDS_TRANSACTIONS: Final = 170_000
# To plan the statements of a batch anew takes a few milliseconds.
PLANS_KEPT_S: Final = 5.0


class StartedTransaction(msgspec.Struct, frozen=True):
    """A transaction that has started: the database's time, and its position in commit order."""

    pipe: Pipe
    reads: Reads
    now: int
    base: int
    # Rises with every change of a queue's configuration.
    configs: int
    token: Token


class Writer:
    """Runs one transaction at a time, on a connection that it replaces when it breaks."""

    def __init__(
        self, address: Address, random_bits: RandomBits, patience_s: float = PATIENCE_S
    ) -> None:
        self._address = address
        self._random_bits = random_bits
        self._patience_s = patience_s
        self._connection: BoundedConnection | None = None
        self._closed = False
        self._planned_at = 0.0
        # Number of transactions that wrote a token.
        self._noted = 0
        # Number of lost connections.
        self.lost = 0
        # Prepares each new connection.
        self.on_connect: Callable[[BoundedConnection], None] = lambda connection: None

    def connection(self, within_s: float | None = None) -> BoundedConnection:
        """Return the open connection, or a new one, for which all hosts have `within_s`."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        if self._connection is None:
            with at_the_boundary():
                self._connection = self._connect(within_s)
        return self._connection

    def _connect(self, within_s: float | None) -> BoundedConnection:
        connection = self._address.connect(within_s)
        try:
            self.on_connect(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self, preload: Preload | None, lock_ms: int) -> Iterator[StartedTransaction]:
        """Commit at the end of the block, or roll back; OutcomeUnknown if the COMMIT gets no
        answer. `lock_ms` bounds the wait for a lock."""
        begun = self._begin(preload, lock_ms, time.monotonic() + self._address.answer_s)
        try:
            yield begun
            begun.pipe.look()
        except BaseException as error:
            self._roll_back(begun.pipe)
            if isinstance(error, psycopg.Error):
                raise self._refused(error) from error
            raise
        self._commit(begun)

    def close(self) -> None:
        """Close the connection for good."""
        self._closed = True
        self.drop()

    def _begin(self, preload: Preload | None, lock_ms: int, deadline: float) -> StartedTransaction:
        """Start a transaction. A connection that has died meanwhile, or lost its prepared
        statements, is replaced first, where the deadline leaves time for it."""
        fresh = self._connection is None
        connection = self.connection(deadline - time.monotonic())
        try:
            with at_the_boundary():
                pipe = Pipe(
                    connection, prepare=self._address.prepare, patience_s=self._address.answer_s
                )
                if self._address.prepare and time.monotonic() - self._planned_at > PLANS_KEPT_S:
                    self._planned_at = time.monotonic()
                    pipe.send(STATEMENTS["forget_plans"], {})
                pipe.send(STATEMENTS["begin"], {})
                result = pipe.ask(STATEMENTS["begun"], {"local": True, "lock_ms": lock_ms})
                if connection.info.server_version >= BOUNDS_TRANSACTIONS:
                    pipe.send(STATEMENTS["bound_transaction"], {})
                reads = Reads(pipe, preload)
                ((now, number, offset, configs, *_),) = result()
                reads.take()
        except BaseException as error:
            self.drop()
            outlived = isinstance(error, (StoreUnavailable, StaleWrite))
            late = time.monotonic() >= deadline
            if fresh or late or not outlived or isinstance(error, StoreBusy):
                raise
            return self._begin(preload, lock_ms, deadline)
        base = (number + offset) << POSITION_BITS
        return StartedTransaction(
            pipe, reads, now, base, configs, outcome.token_at(now, self._random_bits)
        )

    def _commit(self, begun: StartedTransaction) -> None:
        pipe = begun.pipe
        changed = pipe.changed
        try:
            if changed:
                self._note(begun)
            warning = pipe.commit()
        except psycopg.Error as error:
            if pipe.lives:
                # One of the last statements was refused, and so nothing was committed.
                self._roll_back(pipe)
                raise self._refused(error) from error
            self.drop()
            if not changed:
                raise StoreUnavailable(first_line(error)) from error
            raise self._unknown(begun, first_line(error)) from error
        if warning and changed:
            raise self._unknown(begun, warning)

    def _note(self, begun: StartedTransaction) -> None:
        outcome.note(begun.pipe, begun.token)
        self._noted += 1
        if self._noted % outcome.FORGET_EVERY == 0:
            outcome.forget(begun.pipe, begun.now)

    def _unknown(self, begun: StartedTransaction, reason: str) -> OutcomeUnknown:
        return outcome.unknown(self._address, begun.token, self._patience_s, reason)

    def _refused(self, error: psycopg.Error) -> Exception:
        """Return the exception for a refusal; a server that takes no writes is left."""
        known = translated(error)
        if isinstance(known, StoreUnavailable) and not isinstance(known, StoreBusy):
            self.drop()
        return known

    def _roll_back(self, pipe: Pipe) -> None:
        try:
            pipe.roll_back()
        except psycopg.Error:
            # The server rolls back what has no connection any more.
            self.drop()

    def drop(self) -> None:
        """Close the connection; the next transaction opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self.lost += not self._closed
