"""Read from a PostgreSQL store without a write transaction."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg

from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.store.base import Clock
from ojs_server.store.postgres.connect import plan_by_index
from ojs_server.store.postgres.due_floors import DueFloors
from ojs_server.store.postgres.silence import Silence
from ojs_server.store.postgres.staged_floor import StagedFloor, StagedLook
from ojs_server.store.postgres.statements import STATEMENTS, PostgresStatements, Statement, can_hold
from ojs_server.store.records import Contended, DueTimes, Staged
from ojs_server.store.tables.contract import Reader
from ojs_server.store.tables.statements import Values


class PostgresReader(PostgresStatements, Reader):
    """The read operations of the store contract."""

    def __init__(
        self,
        cursor: psycopg.Cursor[tuple[Any, ...]],
        clock: Clock | None,
        due_floors: DueFloors,
        staged_floor: StagedFloor,
        *,
        pooled: bool,
    ) -> None:
        self._cursor = cursor
        self._clock = clock
        self._due_floors = due_floors
        self._staged_floor = staged_floor
        self._pooled = pooled

    def _rows(self, statement: Statement, bound: Mapping[str, Any]) -> list[Any]:
        with self._planned():
            self._cursor.execute(statement.sql.encode(), bound)
        return self._cursor.fetchall()

    def _touched(self, statement: Statement, bound: Mapping[str, Any]) -> int:
        with self._planned():
            self._cursor.execute(statement.sql.encode(), bound)
        return self._cursor.rowcount

    @contextmanager
    def _planned(self) -> Iterator[None]:
        """Run one statement with the settings of the planner.

        Behind a pooler sessions have no such settings. All that is sent up to one Sync is one
        transaction there, so the settings travel with the statement, apply to it alone, and cost no
        round trip.
        """
        if not self._pooled:
            yield
            return
        connection = self._cursor.connection
        with connection.pipeline():
            plan_by_index(connection, local=True)
            yield

    def run_batch(self, name: str, columns: Sequence[Values]) -> int:
        """Run a statement for all rows of a table; answers how many rows it touched."""
        statement = STATEMENTS[name]
        return self._touched(statement, statement.bound(columns))

    def all_batch(self, name: str, columns: Sequence[Values]) -> list[Any]:
        """Run a statement for all rows of a table; answers the rows it returns."""
        statement = STATEMENTS[name]
        return self._rows(statement, statement.bound(columns))

    def now(self) -> int:
        """The store's clock."""
        return self._clock() if self._clock else int(self.all("clock")[0][0])

    def due(self) -> DueTimes:
        """Return the times at which housekeeping is needed next."""
        look = self._due_floors.look(self.now())
        (due,) = self.read(DueTimes, "next_due", jobs=look.jobs, leases=look.leases)
        self._due_floors.found(look, due.job, due.lease)
        return due

    def staged(self, limit: int) -> list[Staged]:
        """Return the first staged jobs, without a look at what earlier looks have passed."""
        look = self._staged_floor.look()
        # Before the look for jobs: what has ended by now is visible to it.
        ((since, unfinished),) = self.all("snapshot")
        found = self.read(
            Staged, "staged", since=look.since, unfinished=[*look.unfinished], limit=limit
        )
        if not found:
            self._staged_floor.passed(StagedLook(since, unfinished))
        return found

    def ping(self) -> None:
        """Check that the database answers."""
        self._cursor.execute("SELECT 1")

    def unsafe_settings(self) -> list[str]:
        """Return the server's settings that give up durability."""
        return [row[0] for row in self.all("unsafe_settings")]

    def note_waiting(self, node: str, until: int) -> None:
        """Fetches wait at a node. What nodes say of themselves is written here, as it decides
        nothing."""
        self.run("note_waiting", node=node, now=self.now(), until=until)

    def announce_node(self, node: str, announcement: Announcement) -> None:
        """Note that a node is up."""
        self.run("announce_node", node=node, now=self.now(), **msgspec.structs.asdict(announcement))

    def withdraw_node(self, node: str) -> None:
        """Note that a node has stopped."""
        self.run("withdraw_node", node=node)

    def nodes(self) -> list[ServerNode]:
        """Return the nodes that are up, or were when they were last heard of."""
        return [
            ServerNode(node, started_at, seen_at, Announcement(*announcement))
            for node, started_at, seen_at, *announcement in self.all("nodes")
        ]

    def held(self, requested: Contended, for_ms: int) -> Contended:
        """Return the rows that are locked by a transaction that has been open for a given time."""
        found: dict[str, set[str]] = {"limits": set(), "jobs": set(), "workers": set()}
        names = {table: [*filter(can_hold, getattr(requested, table))] for table in found}
        with self._cursor.connection.transaction():
            # The tables themselves may be locked.
            self.all("wait_briefly")
            for table, name in self.all("held", for_ms=for_ms, **names):
                found[table].add(name)
        return Contended(**found)

    def silent(self) -> list[Silence]:
        """Return the transactions that wait for their clients."""
        return [Silence(*row) for row in self.all("silent")]

    def end_silent(self, silence: Silence) -> int:
        """End a transaction if it is still silent; return the number that were ended."""
        of = {"pid": silence.pid, "backend": silence.backend, "since": silence.since}
        return sum(row[0] for row in self.all("end_silent", **of))

    def vacuum_holders(self) -> list[tuple[Any, ...]]:
        """Return what keeps old row versions alive."""
        return self.all("vacuum_holders")

    def notify(self, channel: str, notice: str) -> None:
        """Send a notice to every node; it changes nothing that is stored."""
        self.run("tell", channel=channel, notice=notice)
