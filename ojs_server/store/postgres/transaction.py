"""One PostgreSQL write transaction. Every statement takes the whole batch at once.

Locks are taken in one order, so that nodes wait for each other but never in a circle: cron
entries, workers, jobs, then leases, each in the order of their ids; a mixed batch locks first and
reads then.
Fingerprints of unique jobs are locked in their order before the jobs that they lead to.
Sweeps wait for nobody: they leave what is locked to whoever holds the lock.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import msgspec
import psycopg

from ojs_server.domain.cron_entry import CronEntry, CronRun
from ojs_server.domain.job import Change, Event, Job, Lease, StoredJob
from ojs_server.domain.workers import Worker
from ojs_server.store.base import (
    JUDGED_AFTER_MS,
    MAX_POSITIONS,
    WIPED,
    Claimed,
    Receipt,
    StaleWrite,
)
from ojs_server.store.postgres.arrays import texts
from ojs_server.store.postgres.statements import STATEMENTS, with_lanes
from ojs_server.store.rows import (
    JOB_FIELDS,
    STATES,
    change_row,
    cron_of,
    cron_row,
    held_of,
    insert_row,
    job_of,
    lease_row,
    run_of,
    run_row,
    stored_of,
    unique_of,
    worker_of,
    worker_row,
)
from ojs_wire.codec import encode

# A notice of more than 8000 bytes is refused by the database.
MAX_NEWS: Final = 7000

_FIRST: Final = itemgetter(0)
_job_ids = msgspec.json.Decoder(tuple[str, ...])


class Place(msgspec.Struct, frozen=True):
    """Who writes, and where its notices go."""

    node: str
    channel: str


class PostgresTx:
    """The write operations of the store contract."""

    def __init__(
        self, cursor: psycopg.Cursor[tuple[Any, ...]], now: int, base: int, place: Place
    ) -> None:
        self.now = now
        self._cursor = cursor
        self._base = base
        self._used = 0
        self._place = place

    def position(self) -> int:
        """The next place in commit order."""
        self._used += 1
        if self._used >= MAX_POSITIONS:
            raise OverflowError("a transaction ran out of positions")
        return self._base + self._used

    def lock(
        self,
        workers: Iterable[str],
        jobs: Iterable[str],
        leases: Iterable[str],
        leaving: Iterable[str] = (),
    ) -> None:
        """Take the locks of a whole batch in the one order."""
        self._select("lock_workers", workers)
        held = [row[1] for row in self._select("held_by", leaving)]
        self._select("lock_jobs", {*jobs, *held})
        self._select("lock_leases", {*leases, *held})

    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that another node stored before."""
        # In the order of ids, or two nodes that store the same ones could wait in a circle.
        rows = sorted((insert_row(job) for job in jobs), key=_FIRST)
        stored = {row[0] for row in self._rows("insert_jobs", rows)}
        return {job.job.id for job in jobs} - stored

    def load_jobs(self, ids: Iterable[str]) -> dict[str, tuple[Job, Lease | None]]:
        """Lock and read jobs with their leases."""
        jobs = [job_of(row) for row in self._select("load_jobs", ids)]
        active = [job.id for job in jobs if job.state == "active"]
        leases = {row[0]: Lease(*row) for row in self._select("leases_of", active)}
        return {job.id: (job, leases.get(job.id)) for job in jobs}

    def load_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each id that exists."""
        return {row[0]: row[1] for row in self._select("known_requests", ids)}

    def load_whole(self, ids: Iterable[str]) -> dict[str, StoredJob]:
        """Jobs with their payloads."""
        return {row[0]: stored_of(row) for row in self._select("load_whole", ids)}

    def load_due(self, limit: int) -> list[Job]:
        """Lock the jobs whose `due_at` has come."""
        return [job_of(row) for row in self._all("load_due", (self.now, limit))]

    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Hand out available jobs."""
        bound = {"queues": texts(dict.fromkeys(queues)), "now": self.now, "limit": limit}
        if job_types is None:
            sql = STATEMENTS["claim"].sql
        elif job_types:
            sql = with_lanes(STATEMENTS["claim_types"], len(job_types))
            bound["types"] = texts(job_types)
        else:
            return []
        rows = self._cursor.execute(sql, bound).fetchall()
        # RETURNING promises no order.
        rows.sort(key=lambda row: (row[-1], -row[4], row[5]))
        return [Claimed(job_of(row), row[JOB_FIELDS], row[JOB_FIELDS + 1]) for row in rows]

    def write_changes(self, changes: Sequence[Change]) -> None:
        """Guarded transitions, all or none."""
        if self._run_rows("write_changes", [change_row(c) for c in changes]) != len(changes):
            raise StaleWrite("a job is no longer in the state that its change leaves")

    def delete_jobs(self, ids: Sequence[str]) -> None:
        """Remove jobs for good."""
        self._run_rows("delete_jobs", [(job_id,) for job_id in ids])

    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """Wait for every other transaction that has one of these fingerprints."""
        # In order, or two nodes could wait in a circle.
        rows = [(key,) for key in sorted(set(keys))]
        self._run_rows("lock_unique", rows)
        self._run_rows("unlock_unique", rows)

    def find_unique(self, wanted: Iterable[tuple[bytes, str]]) -> dict[bytes, list[Job]]:
        """The newest job of each fingerprint and state, as the last commit left it."""
        return unique_of(self._rows("find_unique", list(wanted)))

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Who holds what was just claimed."""
        self._run_rows("insert_leases", [lease_row(lease) for lease in leases])

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self._run_rows("drop_leases", [(job_id,) for job_id in job_ids])

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Lock and read leases by job."""
        return {row[0]: Lease(*row) for row in self._select("load_leases", job_ids)}

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """Lock and read leases by fetch."""
        return [Lease(*row) for row in self._select("load_fetches", fetch_ids)]

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """New ends of leases; one that has gone stays gone."""
        self._run_rows("extend_leases", [(lease.job_id, lease.expires_at) for lease in leases])

    def load_lapsed(self, judged_since: int, limit: int) -> list[tuple[Job, Lease]]:
        """Lock the jobs whose lease or run time is over."""
        bound = {"now": self.now, "since": judged_since, "grace": JUDGED_AFTER_MS, "limit": limit}
        return [held_of(row) for row in self._all("load_lapsed", bound)]

    def load_held(self, worker_ids: Sequence[str]) -> list[tuple[Job, Lease]]:
        """Lock the jobs that workers hold."""
        return [held_of(row) for row in self._select("load_held", worker_ids)]

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers."""
        return {row[0]: worker_of(row) for row in self._select("load_workers", ids)}

    def load_all_workers(self) -> list[Worker]:
        """Lock and read the workers that are not gone."""
        return [worker_of(row) for row in self._all("load_all_workers", ())]

    def load_silent_workers(self, before: int, limit: int) -> list[Worker]:
        """Lock the workers without a recent sign of life."""
        return [worker_of(row) for row in self._all("load_silent_workers", (before, limit))]

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers."""
        self._run_rows("save_workers", sorted(map(worker_row, workers), key=_FIRST))

    def delete_workers(self, gone_before: int, limit: int) -> int:
        """Remove workers that went long ago."""
        return self._run("delete_workers", {"before": gone_before, "limit": limit})

    def set_paused(self, queue: str, paused: bool) -> None:
        """Pause or resume a queue."""
        self._run("set_paused", {"queue": queue, "paused": paused, "now": self.now})

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues."""
        self._run_rows(
            "add_counts",
            [
                (queue, self._place.node, self.now, *(delta.get(state, 0) for state in STATES))
                for queue, delta in sorted(deltas.items())
            ],
        )

    def insert_events(self, events: Sequence[Event]) -> None:
        """Append to the event log."""
        self._run_rows(
            "insert_events",
            [
                (
                    self.position(),
                    self.now,
                    event.type,
                    event.subject,
                    event.queue,
                    event.job_type,
                    event.data,
                )
                for event in events
            ],
        )

    def delete_events(self, before: int, limit: int) -> int:
        """Remove the oldest events."""
        return self._run("delete_events", (limit, before))

    def insert_receipts(
        self, receipts: Mapping[tuple[str, str, str], Receipt]
    ) -> dict[tuple[str, str, str], Receipt]:
        """Store receipts; answers those already there."""
        rows = [
            (*key, receipt.body_hash, encode(receipt.job_ids).decode(), self.now)
            for key, receipt in sorted(receipts.items())
        ]
        stored = set(self._rows("insert_receipts", rows))
        taken = [key for key in receipts if key not in stored]
        return {
            (row[0], row[1], row[2]): Receipt(row[3], _job_ids.decode(row[4]))
            for row in self._rows("load_receipts", taken)
        }

    def delete_receipts(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Take receipts back."""
        self._run_rows("delete_receipts", keys)

    def prune_receipts(self, before: int, limit: int) -> int:
        """Remove old receipts."""
        return self._run("prune_receipts", (before, limit))

    # Cron entries.
    def insert_cron(self, entries: Sequence[CronEntry]) -> set[str]:
        """Store new entries; answers the names that were there before."""
        stored = {row[0] for row in self._rows("insert_cron", [cron_row(e) for e in entries])}
        return {entry.name for entry in entries} - stored

    def load_cron(self, names: Iterable[str]) -> dict[str, CronEntry]:
        """Entries by name."""
        return {row[0]: cron_of(row) for row in self._select("load_cron", names)}

    def load_due_cron(self, limit: int) -> list[CronEntry]:
        """Entries whose time has come."""
        return [cron_of(row) for row in self._all("load_due_cron", (self.now, limit))]

    def load_held_cron(self, limit: int) -> list[CronEntry]:
        """Entries that may let a held run go."""
        return [cron_of(row) for row in self._all("load_held_cron", (limit,))]

    def update_cron(self, entries: Sequence[CronEntry]) -> None:
        """Changed entries, all or none."""
        if self._run_rows("update_cron", [cron_row(e) for e in entries]) != len(entries):
            raise StaleWrite("a cron entry is no longer there")

    def delete_cron(self, names: Sequence[str]) -> None:
        """Forget entries."""
        self._run_rows("delete_cron_runs", [(name,) for name in names])
        self._run_rows("delete_cron", [(name,) for name in names])

    def insert_cron_runs(self, runs: Sequence[CronRun], keep: int) -> None:
        """Append to histories, and cut them."""
        self._run_rows("insert_cron_runs", [run_row(run) for run in runs])
        for name in sorted({run.name for run in runs}):
            self._run("trim_cron_runs", {"name": name, "keep": keep})

    def load_held_runs(self, name: str) -> list[CronRun]:
        """Runs that are held back."""
        return [run_of(row) for row in self._all("load_held_runs", (name,))]

    def release_cron_runs(self, positions: Sequence[int]) -> None:
        """Hold runs back no more."""
        self._run_rows("release_cron_runs", [(position,) for position in positions])

    def load_states(self, ids: Iterable[str]) -> dict[str, str]:
        """The states of jobs."""
        return dict(self._select("load_states", ids))

    def announce(self, queues: Mapping[str, int]) -> None:
        """Send one notice, at commit, if a fetch waits at another node."""
        news = encode({"node": self._place.node, "queues": queues})
        if len(news) > MAX_NEWS:
            news = encode({"node": self._place.node})
        self._run(
            "announce",
            {
                "channel": self._place.channel,
                "news": news.decode(),
                "node": self._place.node,
                "now": self.now,
            },
        )

    def synchronous_commit(self) -> str:
        """How this connection waits for its commits."""
        return str(self._all("synchronous_commit", ())[0][0])

    def wipe(self) -> None:
        """Remove everything."""
        for table in WIPED:
            self._cursor.execute(b"DELETE FROM " + table.encode())

    def _run(self, name: str, bound: Mapping[str, Any] | Sequence[Any]) -> int:
        return self._cursor.execute(STATEMENTS[name].sql.encode(), bound).rowcount

    def _all(self, name: str, bound: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        return self._cursor.execute(STATEMENTS[name].sql.encode(), bound).fetchall()

    def _run_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for all rows; answers how many rows it touched."""
        return self._run(name, STATEMENTS[name].bind(rows)) if rows else 0

    def _rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Run a statement for all rows; answers the rows it returns."""
        return self._all(name, STATEMENTS[name].bind(rows)) if rows else []

    def _select(self, name: str, ids: Iterable[str]) -> list[Any]:
        return self._rows(name, [(item,) for item in storable(ids)])


def storable(ids: Iterable[str]) -> list[str]:
    """The ids that can be in the database at all; it takes no NUL in text."""
    return [item for item in ids if "\0" not in item]
