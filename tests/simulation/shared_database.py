"""A database that several simulated nodes share, with the faults of one at the end of a network.

It is a SQLite store that one node after the other uses. Each transaction runs whole, so nodes meet
at the boundaries of transactions alone: for what happens between their statements there is
PostgreSQL itself.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from ojs_server.domain.admin.server_node import ServerNode
from ojs_server.environment import Environment
from ojs_server.store.base import Clock, StoreUnreachable
from ojs_server.store.postgres.listen import Notice
from ojs_server.store.postgres.silence import Silence
from ojs_server.store.records import Contended, Staged
from ojs_server.store.sqlite.store import SqliteStore
from tests.simulation.node_transaction import NodeReader, NodeTx
from tests.simulation.notices import Channel, Send

Fate = Literal[
    "", "busy", "unreachable", "lost", "stale", "unknown, carried out", "unknown, not carried out"
]


class StoreFaults(msgspec.Struct, kw_only=True):
    """The shares of transactions, reads and questions that meet a fault."""

    # A lock is not obtained in time; nothing was done.
    busy: float = 0.0
    # No connection is obtained; nothing was done.
    unreachable: float = 0.0
    # The connection is lost before the COMMIT; all is rolled back.
    lost: float = 0.0
    # Another node has changed the same rows; all is rolled back.
    stale: float = 0.0
    # The COMMIT is carried out, and its answer is lost.
    carried_out: float = 0.0
    # The COMMIT is lost on its way, and all is rolled back.
    not_carried_out: float = 0.0
    # Questions for the outcome of a COMMIT that get no answer.
    unanswered: float = 0.0
    # The connection of a reader is lost.
    reads_lost: float = 0.0


class Hold(msgspec.Struct, frozen=True):
    """A silent transaction: the rows that it has locked, its beginning by the database's clock, and
    its position in the event log, which readers do not pass."""

    rows: Contended
    since: int
    position: int
    silence: Silence


class _RolledBack(Exception):
    """The program rolls its transaction back."""


class _Store(SqliteStore):
    transactions = NodeTx
    readers = NodeReader


class SharedDatabase:
    """The database of several nodes, each of which has a `NodeStore`."""

    def __init__(
        self,
        path: str | Path,
        environment: Environment,
        chance: random.Random,
        send: Send,
        *,
        faults: StoreFaults | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`environment` and `clock` are those of the database's machine."""
        self.store = _Store(str(path), environment=environment, clock=clock)
        self.faults = faults or StoreFaults()
        # Counts the faults that happened, by kind.
        self.fired: Counter[str] = Counter()
        self.channel = Channel(send)
        self.announced: dict[str, ServerNode] = {}
        # True while a node is in a transaction.
        self.in_transaction = False
        self._chance = chance
        self._away = False
        self._holds: dict[str, Hold] = {}
        self._ended: set[str] = set()
        self._number = 0

    @property
    def away(self) -> bool:
        """True while no node reaches the database; each loses its connections then."""
        return self._away

    @away.setter
    def away(self, away: bool) -> None:
        if away and not self._away:
            self.fired["away"] += 1
            self.channel.lose_all()
        self._away = away

    def now(self) -> int:
        """Return the time of the database."""
        with self.store.reader() as reader:
            return reader.now()

    def reach(self) -> None:
        """Raise StoreUnreachable while the database is away."""
        if self._away:
            raise StoreUnreachable("connection refused")

    def hold(self, node: str, rows: Contended) -> None:
        """Let a node fall silent in a transaction that has locked these rows.

        Others get StoreBusy for them, and the log ends before it, until it is ended or the node
        begins its next transaction, which takes its place: that fails if this one was ended.
        """
        self._number += 1
        with self.store.transaction() as tx:
            now, position = tx.now, tx.position()
        self.fired["hold"] += 1
        self._holds[node] = Hold(rows, now, position, Silence(self._number, node, str(now)))

    def resume(self, node: str) -> bool:
        """Let a node go on with the transaction in which it was silent; False if that was ended."""
        self._holds.pop(node, None)
        if node in self._ended:
            self._ended.remove(node)
            return False
        return True

    def disconnect(self, node: str) -> None:
        """End all connections of a node, whose process is dead."""
        self.channel.lose(node)
        self._holds.pop(node, None)
        self._ended.discard(node)

    def silences(self) -> list[Silence]:
        """Return the transactions that wait for their clients."""
        return [hold.silence for hold in self._holds.values()]

    def end_silent(self, silence: Silence) -> int:
        """End a transaction if it is still silent; return the number that were ended."""
        for node, hold in list(self._holds.items()):
            if hold.silence == silence:
                del self._holds[node]
                self._ended.add(node)
                self.fired["hold ended"] += 1
                return 1
        return 0

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """Return those of these rows that a silent transaction has locked for some time."""
        old = [one.rows for one in self._holds.values() if self.now() - one.since >= for_ms]
        limits = _all(old, "limits")
        return Contended(
            {*limits & {*requested.limits}, *(name for name in limits if name.startswith("#"))},
            _all(old, "jobs") & {*requested.jobs},
            _all(old, "workers") & {*requested.workers},
        )

    def complete_to(self) -> int | None:
        """Return the end of the event log for readers, if a silent transaction holds it up."""
        return min((hold.position for hold in self._holds.values()), default=None)

    def locked_for(self, node: str, rows: Contended) -> bool:
        """Tell whether a silent transaction of another node has one of these rows."""
        others = [hold.rows for other, hold in self._holds.items() if other != node]
        if not any(_all(others, table).intersection(getattr(rows, table)) for table in _TABLES):
            return False
        self.fired["held up"] += 1
        return True

    def fate(self) -> Fate:
        """Draw what befalls the next transaction."""
        faults = self.faults
        drawn = self._chance.random()
        fates: Sequence[tuple[Fate, float]] = (
            ("busy", faults.busy),
            ("unreachable", faults.unreachable),
            ("lost", faults.lost),
            ("stale", faults.stale),
            ("unknown, carried out", faults.carried_out),
            ("unknown, not carried out", faults.not_carried_out),
        )
        for fate, share in fates:
            drawn -= share
            if drawn < 0:
                return fate
        return ""

    def befalls(self, share: float, kind: str) -> bool:
        """Draw whether a fault happens, and count it."""
        if self._chance.random() >= share:
            return False
        self.fired[kind] += 1
        return True

    def stage(self, jobs: Sequence[Staged], *, commits: bool) -> None:
        """Stage jobs in a transaction of a program, which commits or rolls back."""
        self.reach()
        with suppress(_RolledBack), self.store.transaction() as tx:
            tx.insert_staged(jobs)
            if not commits:
                raise _RolledBack
        if commits:
            self.channel.publish(Notice("", staged=True))

    def close(self) -> None:
        """Close the database; its nodes are closed before."""
        self.store.close()


_TABLES: Final = ("limits", "jobs", "workers")


def _all(rows: Iterable[Contended], table: str) -> set[str]:
    names: Iterable[Collection[str]] = (getattr(one, table) for one in rows)
    return {name for some in names for name in some}
