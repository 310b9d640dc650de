"""Reading a SQLite store."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.domain.job import Lease, StoredJob
from ojs_server.store.base import (
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
from ojs_server.store.queries import Query
from ojs_server.store.rows import (
    STORED_FIELDS,
    cron_of,
    lease_of,
    queue_of,
    run_of,
    stored_of,
    worker_of,
)


class SqliteReader:
    """The read operations of the store contract."""

    def __init__(
        self, connection: sqlite3.Connection, queries: Mapping[str, Query], clock: Clock
    ) -> None:
        self._connection = connection
        self._queries = queries
        self._clock = clock

    def now(self) -> int:
        """The store's clock."""
        return self._clock()

    def ping(self) -> None:
        """Touch the file."""
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def job(self, job_id: str) -> tuple[StoredJob, Lease | None] | None:
        """One whole job and who holds it."""
        rows = self._all("one_job", (job_id,))
        return (stored_of(rows[0]), lease_of(rows[0][STORED_FIELDS:])) if rows else None

    def metas(self, ids: Sequence[str]) -> list[bytes]:
        """The `meta` of jobs."""
        return [row[0] for row in self._of_ids("metas", ids)]

    def dead_letters(
        self, queue: str | None, job_type: str | None, limit: int, offset: int, after: Place | None
    ) -> JobPage:
        """Discarded jobs, newest first."""
        place = after or (None, None)
        rows = self._all("dead_letters", (queue, job_type, *place, limit + 1, offset))
        total = self._all("count_dead_letters", (queue, job_type))[0][0]
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
        """Events after a position; one writer, so everything committed is in order."""
        return read_page(
            lambda start, count: self._all("events_after", (start, count)), after, wanted, limit
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

    def _all(self, name: str, bound: Sequence[Any]) -> list[Any]:
        return self._connection.execute(self._queries[name].sql, bound).fetchall()

    def _of_ids(self, name: str, ids: Sequence[str]) -> list[Any]:
        rows: list[Any] = []
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            rows += self._connection.execute(
                self._queries[name].of_rows(len(part)), tuple(part)
            ).fetchall()
        return rows
