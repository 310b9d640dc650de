"""The store of one of several nodes that share a simulated database, as PostgreSQL is shared."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.store.base import (
    Callbacks,
    OutcomeUnknown,
    Reader,
    StaleWrite,
    StoreBusy,
    StoreUnavailable,
    StoreUnreachable,
    Tx,
)
from ojs_server.store.postgres.followers import Followers
from ojs_server.store.postgres.listen import Notice, Receiver
from ojs_server.store.postgres.silence import Silences
from ojs_server.store.records import Contended, Preload
from tests.simulation.node_transaction import NodeReader, NodeTx
from tests.simulation.notices import Session, SharedListener
from tests.simulation.shared_database import Fate, SharedDatabase, StoreFaults

__all__ = ["NodeStore", "SharedDatabase", "StoreFaults"]


class NodeStore:
    """One node's way to the database."""

    kind = "postgres"
    embedded = False

    def __init__(
        self,
        database: SharedDatabase,
        node: str,
        monotonic: Callable[[], float],
        *,
        at_once: bool = True,
    ) -> None:
        """`monotonic` is the clock of the node's machine; it is left to `open` unless `at_once`."""
        self.database = database
        self.node = node
        self.location = f"simulated:{database.store.location}"
        self.is_open = False
        self.lost_connections = 0
        self._monotonic = monotonic
        self._followers = Followers(monotonic)
        self._silences = Silences()
        self._closed = False
        if at_once:
            self.open()

    def open(self) -> None:
        """Connect; raises StoreUnreachable while the database is away."""
        self.database.reach()
        self.is_open = True

    @contextmanager
    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> Iterator[Tx]:
        """Return a write transaction, and let it meet its fate."""
        database = self.database
        self._reach()
        if not database.resume(self.node):
            self.lost_connections += 1
            raise StoreUnavailable("terminating connection due to administrator command")
        fate = database.fate()
        if fate == "unreachable":
            database.fired[fate] += 1
            raise StoreUnreachable("connection refused")
        if fate == "busy" or database.in_transaction:
            database.fired["busy, long wait" if long_wait else "busy"] += 1
            raise StoreBusy("canceling statement due to lock timeout")
        database.in_transaction = True
        try:
            with database.store.transaction() as tx:
                assert isinstance(tx, NodeTx)
                tx.belong_to(
                    self.node,
                    database.channel.others_wait,
                    self._followers.listening,
                    lambda rows: database.locked_for(self.node, rows),
                    database.complete_to(),
                )
                if preload is not None:
                    tx.preload(preload)
                yield tx
                changed = tx.changed
                if fate:
                    self._meet(fate, changed=changed)
        finally:
            database.in_transaction = False
        for notice in tx.notices:
            database.channel.publish(notice)
        if fate == "unknown, carried out" and changed:
            self._lose_connection(fate)
            raise self._unknown(True)

    def _meet(self, fate: Fate, *, changed: bool) -> None:
        """Fail before the COMMIT, if that is the fate."""
        if fate == "stale":
            self.database.fired[fate] += 1
            raise StaleWrite("write conflict with another node")
        if fate == "unknown, not carried out" and changed:
            self._lose_connection(fate)
            raise self._unknown(False)
        if fate == "lost" or not changed:
            # There is no outcome to ask for if nothing was changed.
            self._lose_connection("lost")
            raise StoreUnavailable("server closed the connection unexpectedly")

    def _unknown(self, carried_out: bool) -> OutcomeUnknown:
        database = self.database

        def ask() -> bool:
            if database.away or database.befalls(database.faults.unanswered, "unanswered"):
                raise OutcomeUnknown("the outcome of a COMMIT is unknown: connection refused")
            return carried_out

        return OutcomeUnknown("a COMMIT got no answer: server closed the connection", ask)

    def _lose_connection(self, kind: str) -> None:
        self.database.fired[kind] += 1
        self.lost_connections += 1

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Return a connection for reading."""
        self._reach()
        if self.database.befalls(self.database.faults.reads_lost, "read lost"):
            self.lost_connections += 1
            raise StoreUnavailable("server closed the connection unexpectedly")
        with self.database.store.reader() as reader:
            assert isinstance(reader, NodeReader)
            reader.complete_to = self.database.complete_to()
            yield reader

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database answers."""
        self._reach()

    def _reach(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        self.database.reach()
        if not self.is_open:
            raise StoreUnreachable("the database has not been found yet")

    def displaced(self) -> str | None:
        """None: the database looks after its files."""
        return None

    def listener(self, callbacks: Callbacks) -> SharedListener:
        """Return a listener for other nodes' notices."""
        return SharedListener(self._listen, Receiver(self._followers, callbacks))

    def _listen(self, session: Session) -> None:
        self._reach()
        self.database.channel.listen(self.node, session)

    def lose_listener(self) -> None:
        """End the session that listens; it connects again."""
        self.database.fired["listener lost"] += 1
        self.database.channel.lose(self.node)

    def note_waiting(self, until: int) -> None:
        """Notify other nodes that fetches wait here until a moment."""
        self._reach()
        self.database.channel.note_waiting(self.node, until)

    def note_following(self, for_ms: int) -> None:
        """Ask other nodes to announce the events that they add to the log."""
        self._reach()
        self.database.channel.publish(Notice(self.node, follows_ms=for_ms))

    def announce(self, announcement: Announcement) -> None:
        """Note that this node is up."""
        self._reach()
        now, known = self.database.now(), self.database.announced.get(self.node)
        since = now if known is None else known.started_at
        self.database.announced[self.node] = ServerNode(self.node, since, now, announcement)

    def withdraw(self) -> None:
        """Note that this node has stopped."""
        self._reach()
        self.database.announced.pop(self.node, None)

    def nodes(self) -> list[ServerNode]:
        """Return the nodes that were announced and have not been withdrawn."""
        self._reach()
        return list(self.database.announced.values())

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """Return those of these rows that another transaction has had for a while."""
        self._reach()
        return self.database.held(requested, for_ms)

    def end_silent_transactions(self) -> int:
        """End transactions of servers that have fallen silent; answers how many."""
        self._reach()
        gone = self._silences.over(self.database.silences(), self._monotonic())
        return sum(map(self.database.end_silent, gone))

    def vacuum_holders(self) -> list[VacuumHolder]:
        """There are none: nothing keeps old row versions."""
        self._reach()
        return []

    def durability_warnings(self) -> list[str]:
        """There are none."""
        self._reach()
        return []

    def close(self) -> None:
        """Let go of the database."""
        self._closed = True
        self.database.disconnect(self.node)
