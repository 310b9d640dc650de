"""One SQLite write transaction. Every statement takes the whole set at once.

Row by row, each step gives the interpreter lock away beside a busy event loop; set by set,
a statement costs one such hand-over however many jobs it moves.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

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
from ojs_server.store.queries import Query
from ojs_server.store.rows import (
    JOB_FIELDS,
    STATES,
    change_row,
    cron_of,
    cron_row,
    held_of,
    insert_row,
    job_of,
    lease_of,
    lease_row,
    run_of,
    run_row,
    stored_of,
    unique_of,
    worker_of,
    worker_row,
)
from ojs_wire.codec import encode

# SQLite binds at most 32,766 values to a statement.
CHUNK: Final = 500
# And it joins at most 500 selects.
LANES: Final = 400

_job_ids = msgspec.json.Decoder(tuple[str, ...])


class SqliteTx:
    """The write operations of the store contract."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        queries: Mapping[str, Query],
        now: int,
        base: int,
        node: str,
    ) -> None:
        self.now = now
        self._connection = connection
        self._queries = queries
        self._base = base
        self._used = 0
        self._node = node

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
        """The one writer has everything to itself."""

    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that were there before."""
        # Looked up first: RETURNING would give the interpreter lock away for every new row.
        taken = set(self.load_requests([stored.job.id for stored in jobs]))
        self._rows(
            "insert_jobs", [insert_row(stored) for stored in jobs if stored.job.id not in taken]
        )
        return taken

    def load_jobs(self, ids: Iterable[str]) -> dict[str, tuple[Job, Lease | None]]:
        """Jobs with their leases."""
        return {
            row[0]: (job_of(row), lease_of(row[JOB_FIELDS:]))
            for row in self._select("load_jobs", ids)
        }

    def load_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each id that exists."""
        return dict(self._select("known_requests", ids))

    def load_whole(self, ids: Iterable[str]) -> dict[str, StoredJob]:
        """Jobs with their payloads."""
        return {row[0]: stored_of(row) for row in self._select("load_whole", ids)}

    def load_due(self, limit: int) -> list[Job]:
        """Jobs whose `due_at` has come."""
        return [job_of(row) for row in self._all("load_due", (self.now, limit))]

    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Hand out available jobs."""
        names = list(dict.fromkeys(queues))
        kinds = None if job_types is None else list(dict.fromkeys(job_types))
        claimed: list[Claimed] = []
        if kinds == []:
            return claimed
        for part in _chunks(names, max(1, LANES // len(kinds)) if kinds else LANES):
            if len(claimed) < limit:
                claimed += self._claim(part, kinds, limit - len(claimed))
        return claimed

    def _claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        query = self._queries["claim" if job_types is None else "claim_types"]
        bound: list[Any] = [self.now]
        for lane, queue in enumerate(queues):
            for kind in [()] if job_types is None else [(job_type,) for job_type in job_types]:
                bound += (lane, queue, *kind, self.now, queue, limit)
        lanes = len(queues) * (1 if job_types is None else len(job_types))
        sql = query.sql.replace("{lanes}", " UNION ALL ".join([query.row] * lanes))
        rows = self._connection.execute(sql, (*bound, limit)).fetchall()
        claimed = [Claimed(job_of(row), row[JOB_FIELDS], row[JOB_FIELDS + 1]) for row in rows]
        lane_of = {queue: lane for lane, queue in enumerate(queues)}
        # RETURNING promises no order.
        claimed.sort(key=lambda one: (lane_of[one.job.queue], -one.job.priority, one.job.seq))
        return claimed

    def write_changes(self, changes: Sequence[Change]) -> None:
        """Guarded transitions, all or none."""
        if self._rows("write_changes", [change_row(change) for change in changes]) != len(changes):
            raise StaleWrite("a job is no longer in the state that its change leaves")

    def delete_jobs(self, ids: Sequence[str]) -> None:
        """Remove jobs for good."""
        self._rows("delete_jobs", [(job_id,) for job_id in ids])

    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """There is no other transaction: the file has one writer."""

    def find_unique(self, wanted: Iterable[tuple[bytes, str]]) -> dict[bytes, list[Job]]:
        """The newest job of each fingerprint and state."""
        return unique_of(self._fetch_rows("find_unique", list(wanted)))

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Who holds what was just claimed."""
        self._rows("insert_leases", [lease_row(lease) for lease in leases])

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self._rows("drop_leases", [(job_id,) for job_id in job_ids])

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Leases by job."""
        return {row[0]: Lease(*row) for row in self._select("load_leases", job_ids)}

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """Leases by fetch."""
        return [Lease(*row) for row in self._select("load_fetches", fetch_ids)]

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """New ends of leases."""
        self._rows("extend_leases", [(lease.job_id, lease.expires_at) for lease in leases])

    def load_lapsed(self, judged_since: int, limit: int) -> list[tuple[Job, Lease]]:
        """Jobs whose lease or run time is over."""
        bound = (self.now, judged_since, JUDGED_AFTER_MS, limit)
        return [held_of(row) for row in self._all("load_lapsed", bound)]

    def load_held(self, worker_ids: Sequence[str]) -> list[tuple[Job, Lease]]:
        """Jobs that workers hold."""
        return [held_of(row) for row in self._select("load_held", worker_ids)]

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Workers by id."""
        return {row[0]: worker_of(row) for row in self._select("load_workers", ids)}

    def load_all_workers(self) -> list[Worker]:
        """Workers that are not gone."""
        return [worker_of(row) for row in self._all("load_all_workers", ())]

    def load_silent_workers(self, before: int, limit: int) -> list[Worker]:
        """Workers without a recent sign of life."""
        return [worker_of(row) for row in self._all("load_silent_workers", (before, limit))]

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers."""
        self._rows("save_workers", [worker_row(worker) for worker in workers])

    def delete_workers(self, gone_before: int, limit: int) -> int:
        """Remove workers that went long ago."""
        return self._run("delete_workers", (gone_before, limit))

    def set_paused(self, queue: str, paused: bool) -> None:
        """Pause or resume a queue."""
        self._run("set_paused", (queue, paused, self.now))

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues."""
        self._rows(
            "add_counts",
            [
                (queue, self._node, self.now, *(delta.get(state, 0) for state in STATES))
                for queue, delta in deltas.items()
            ],
        )

    def insert_events(self, events: Sequence[Event]) -> None:
        """Append to the event log."""
        self._rows(
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
        return self._run("delete_events", (before, limit))

    def insert_receipts(
        self, receipts: Mapping[tuple[str, str, str], Receipt]
    ) -> dict[tuple[str, str, str], Receipt]:
        """Store receipts; answers those already there."""
        known = {
            (row[0], row[1], row[2]): Receipt(row[3], _job_ids.decode(row[4]))
            for row in self._fetch_rows("load_receipts", list(receipts))
        }
        self._rows(
            "insert_receipts",
            [
                (*key, receipt.body_hash, encode(receipt.job_ids).decode(), self.now)
                for key, receipt in receipts.items()
                if key not in known
            ],
        )
        return known

    def delete_receipts(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Take receipts back."""
        self._rows("delete_receipts", list(keys))

    def prune_receipts(self, before: int, limit: int) -> int:
        """Remove old receipts."""
        return self._run("prune_receipts", (before, limit))

    # Cron entries.
    def insert_cron(self, entries: Sequence[CronEntry]) -> set[str]:
        """Store new entries; answers the names that were there before."""
        stored = {row[0] for row in self._fetch_rows("insert_cron", [cron_row(e) for e in entries])}
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
        if self._rows("update_cron", [cron_row(e) for e in entries]) != len(entries):
            raise StaleWrite("a cron entry is no longer there")

    def delete_cron(self, names: Sequence[str]) -> None:
        """Forget entries."""
        self._rows("delete_cron_runs", [(name,) for name in names])
        self._rows("delete_cron", [(name,) for name in names])

    def insert_cron_runs(self, runs: Sequence[CronRun], keep: int) -> None:
        """Append to histories, and cut them."""
        self._rows("insert_cron_runs", [run_row(run) for run in runs])
        for name in sorted({run.name for run in runs}):
            self._run("trim_cron_runs", (name, keep))

    def load_held_runs(self, name: str) -> list[CronRun]:
        """Runs that are held back."""
        return [run_of(row) for row in self._all("load_held_runs", (name,))]

    def release_cron_runs(self, positions: Sequence[int]) -> None:
        """Hold runs back no more."""
        self._rows("release_cron_runs", [(position,) for position in positions])

    def load_states(self, ids: Iterable[str]) -> dict[str, str]:
        """The states of jobs."""
        return dict(self._select("load_states", ids))

    def announce(self, queues: Mapping[str, int]) -> None:
        """There is no other node to tell: the file has one server."""

    def wipe(self) -> None:
        """Remove everything."""
        for table in WIPED:
            self._connection.execute(f"DELETE FROM {table}")

    def _run(self, name: str, bound: Sequence[Any]) -> int:
        return self._connection.execute(self._queries[name].sql, bound).rowcount

    def _all(self, name: str, bound: Sequence[Any]) -> list[Any]:
        return self._connection.execute(self._queries[name].sql, bound).fetchall()

    def _rows(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for all rows; answers how many rows it touched."""
        query = self._queries[name]
        return sum(
            self._connection.execute(
                query.of_rows(len(part)), tuple(chain.from_iterable(part))
            ).rowcount
            for part in _chunks(rows)
        )

    def _fetch_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
        query = self._queries[name]
        for part in _chunks(rows):
            bound = tuple(chain.from_iterable(part))
            yield from self._connection.execute(query.of_rows(len(part)), bound).fetchall()

    def _select(self, name: str, ids: Iterable[str]) -> Iterator[Any]:
        return self._fetch_rows(name, [(item,) for item in ids])


def _chunks(rows: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
