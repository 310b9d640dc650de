"""Reading a PostgreSQL store."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.domain.job import Lease, StoredJob
from ojs_server.store.base import (
    POSITION_BITS,
    Clock,
    DueTimes,
    EventFilter,
    EventPage,
    JobPage,
    Place,
    QueueCounts,
    WorkerLoad,
)
from ojs_server.store.event_log import read_page
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.postgres.transaction import storable
from ojs_server.store.rows import (
    STORED_FIELDS,
    cron_of,
    lease_of,
    queue_of,
    run_of,
    stored_of,
    worker_of,
)


class PostgresReader:
    """The read operations of the store contract."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]], clock: Clock | None) -> None:
        self._cursor = cursor
        self._clock = clock

    def now(self) -> int:
        """The store's clock."""
        return self._clock() if self._clock else int(self._all("clock", ())[0][0])

    def ping(self) -> None:
        """Ask for an answer."""
        self._cursor.execute("SELECT 1")

    def job(self, job_id: str) -> tuple[StoredJob, Lease | None] | None:
        """One whole job and who holds it."""
        rows = self._all("one_job", (job_id,)) if storable([job_id]) else []
        return (stored_of(rows[0]), lease_of(rows[0][STORED_FIELDS:])) if rows else None

    def metas(self, ids: Sequence[str]) -> list[bytes]:
        """The `meta` of jobs."""
        return [row[0] for row in self._of_ids("metas", ids)]

    def dead_letters(
        self, queue: str | None, job_type: str | None, limit: int, offset: int, after: Place | None
    ) -> JobPage:
        """Discarded jobs, newest first."""
        end, last = after or (None, None)
        given = [text for text in (queue, job_type, last) if text is not None]
        if storable(given) != given:
            return JobPage([], 0, False)
        bound = {
            "queue": queue,
            "type": job_type,
            "after_end": end,
            "after_id": last,
            "limit": limit + 1,
            "offset": offset,
        }
        rows = self._all("dead_letters", bound)
        total = self._all("count_dead_letters", bound)[0][0]
        return JobPage([stored_of(row) for row in rows[:limit]], total, len(rows) > limit)

    def queues(self, names: Sequence[str] | None = None) -> list[QueueCounts]:
        """All queues, or some."""
        rows = self._all("queues", ()) if names is None else self._of_ids("some_queues", names)
        return [queue_of(row) for row in rows]

    def workers(self, ids: Sequence[str] | None = None) -> list[WorkerLoad]:
        """All workers, or some, with the jobs they hold."""
        rows = self._all("list_workers", ()) if ids is None else self._of_ids("some_workers", ids)
        workers = [worker_of(row) for row in rows]
        held: dict[str, list[str]] = {}
        for worker_id, job_id in self._of_ids("held_by", [worker.id for worker in workers]):
            held.setdefault(worker_id, []).append(job_id)
        return [WorkerLoad(worker, tuple(held.get(worker.id, ()))) for worker in workers]

    def events(self, after: int, wanted: EventFilter, limit: int) -> EventPage:
        """Events after a position, below the first transaction that still runs on any node."""
        return read_page(
            lambda start, count: self._all("events_after", (start, POSITION_BITS, count)),
            after,
            wanted,
            limit,
        )

    def cron(self, names: Sequence[str] | None = None) -> list[CronEntry]:
        """All cron entries, or some."""
        rows = self._all("list_cron", ()) if names is None else self._of_ids("some_cron", names)
        return [cron_of(row) for row in rows]

    def cron_runs(self, name: str) -> list[CronRun]:
        """The history of a cron entry."""
        return [run_of(row) for row in self._all("list_cron_runs", (name,))]

    def due(self) -> DueTimes:
        """When housekeeping is needed next."""
        return DueTimes(*self._all("next_due", ())[0])

    def synchronous_commit(self) -> str:
        """How this connection waits for its commits."""
        return str(self._all("synchronous_commit", ())[0][0])

    def unsafe_settings(self) -> list[str]:
        """The server's settings that give up durability."""
        return [row[0] for row in self._all("unsafe_settings", ())]

    def note_waiting(self, node: str, until: int) -> None:
        """Fetches wait at a node: the one thing that is written here, as it decides nothing."""
        bound = {"node": node, "now": self.now(), "until": until}
        self._cursor.execute(STATEMENTS["note_waiting"].sql.encode(), bound)

    def _all(self, name: str, bound: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        return self._cursor.execute(STATEMENTS[name].sql.encode(), bound).fetchall()

    def _of_ids(self, name: str, ids: Sequence[str]) -> list[Any]:
        rows = [(item,) for item in storable(ids)]
        return self._all(name, STATEMENTS[name].bind(rows)) if rows else []
