"""A SQLite write transaction: the statements that differ from PostgreSQL."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import apsw

from ojs_server.domain.fairness.fair_choice import Candidate
from ojs_server.domain.fairness.sharing import ALONE
from ojs_server.domain.jobs.job import Job, StoredJob
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.store.columns import Row
from ojs_server.store.records import Claimed, Lane, Leased, Released
from ojs_server.store.sqlite.statements import (
    QUERIES,
    SqliteStatements,
    filled_up,
    of_lanes,
    of_list,
    parts,
)
from ojs_server.store.tables.catalog import wiped_tables
from ojs_server.store.tables.contract import Tx
from ojs_server.store.tables.jobs import in_turn
from ojs_server.store.tables.sharing import waiting_in
from ojs_server.store.tables.statements import Writing

# SQLite joins at most 500 selects.
LANES: Final = 400


class SqliteTx(SqliteStatements, Tx):
    """The write operations of the store contract."""

    def __init__(
        self,
        connection: apsw.Connection,
        now: int,
        base: int,
        node: str,
        configs: Mapping[str, QueueConfig],
    ) -> None:
        SqliteStatements.__init__(self, connection)
        Writing.__init__(self, now, base, node)
        self.configs = configs
        self.changed_configs = False

    def log_end(self) -> int:
        """Return the position of this transaction, whose own events may be written already."""
        return self._base

    def configs_changed(self) -> None:
        """Have the store reload the settings when this transaction has been committed."""
        self.changed_configs = True

    def lock(
        self,
        workers: Iterable[str],
        jobs: Iterable[str],
        leases: Iterable[str],
        leaving: Iterable[str] = (),
    ) -> None:
        """Nothing to lock: the file has one writer."""

    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """Nothing to lock: the file has one writer."""

    def lock_workflows(self, jobs: Collection[str], ids: Collection[str]) -> None:
        """Nothing to lock: the file has one writer."""

    def lock_settings(self) -> None:
        """Nothing to lock: the file has one writer."""

    def lock_schemas(self) -> None:
        """Nothing to lock: the file has one writer."""

    def announce(self, queues: Mapping[str, int]) -> None:
        """There is no other node to tell: the file has one server."""

    def announce_due(self, moment: int) -> None:
        """There is no other node to tell: the file has one server."""

    def touch(self) -> str:
        """Rewrite a page unchanged."""
        self.run("touch")
        return str(self._connection.filename)

    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that were there before."""
        # Looked up first: RETURNING would give the interpreter lock away for every new row.
        taken = set(self.load_requests([stored.job.id for stored in jobs]))
        self.insert_new_jobs([stored for stored in jobs if stored.job.id not in taken])
        return taken

    def insert_new_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store jobs with ids that were just made."""
        if jobs:
            self.run_batch("insert_new_jobs", self.new_jobs("insert_new_jobs", jobs))

    def load_jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Jobs with their leases."""
        return {leased.job.id: leased for leased in self.read_ids(Leased, "load_jobs", ids)}

    def due_queues(self, queues: Iterable[str]) -> list[str]:
        """Queues in which a scheduled job or a retry is due, looked at one by one."""
        return [
            name
            for name in dict.fromkeys(queues)
            if self.all("is_due_in", queue=name, now=self.now)
        ]

    def load_due_in(self, queues: Sequence[str], each: int) -> list[Job]:
        """Scheduled jobs and retries that are due; queue by queue, which costs little here."""
        jobs = [
            job
            for queue in queues
            for job in self.read(Job, "load_due_in", queue=queue, now=self.now, limit=each)
        ]
        return sorted(jobs, key=lambda job: (job.due_at or 0, job.id))

    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Claim available jobs."""
        names = list(dict.fromkeys(queues))
        kinds = None if job_types is None else list(dict.fromkeys(job_types))
        claimed: list[Claimed] = []
        if kinds == []:
            return claimed
        most = max(1, LANES // len(kinds)) if kinds else LANES
        for start in range(0, len(names), most):
            if len(claimed) < limit:
                part = names[start : start + most]
                claimed += self._claim(part, kinds, limit - len(claimed))
        return claimed

    def _claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        name = "claim" if job_types is None else "claim_types"
        bound = {f"queue{lane}": queue for lane, queue in enumerate(queues)}
        bound |= {f"type{n}": job_type for n, job_type in enumerate(job_types or ())}
        sql = of_lanes(QUERIES[name], len(queues), len(job_types or (None,)))
        found = self._connection.execute(sql, {**bound, "now": self.now, "limit": limit})
        return in_turn(self.made(Claimed, name, found.fetchall()), queues)

    def next_types(
        self, queues: Sequence[str], job_types: Sequence[str], most: int
    ) -> list[tuple[str, str]]:
        """The wanted types of each queue, by their first jobs.

        From each type that is found the index is entered again at the next one that is wanted, so
        that neither many wanted types nor many others are all looked at.
        """
        kinds = sorted({*job_types})
        found: list[tuple[str, str]] = []
        for queue in dict.fromkeys(queues):
            heads: list[tuple[int, int, str]] = []
            place = 0
            while place < len(kinds):
                rows = self.all("type_from", queue=queue, type=kinds[place])
                if not rows:
                    break
                ((job_type, priority, seq),) = rows
                place = bisect_left(kinds, job_type, place)
                if place < len(kinds) and kinds[place] == job_type:
                    heads.append((-priority, seq, job_type))
                    place += 1
            found += ((queue, job_type) for *_, job_type in sorted(heads)[:most])
        return found

    def tenants_waiting(self, queues: Mapping[str, str], limit: int) -> list[tuple[str, str]]:
        """Return the tenants that have jobs in queues, read queue by queue."""
        return [
            (queue, row[0])
            for queue, after in queues.items()
            for row in self.all("tenants_waiting", queue=queue, after=after, limit=limit)
        ]

    def waiting(self, lanes: Sequence[Lane], limit: int) -> list[Candidate]:
        """The first jobs of lanes."""
        return [
            row
            for lane in lanes
            for row in self.read(
                Candidate, waiting_in(lane), **lane._asdict(), now=self.now, limit=limit
            )
        ]

    def claim_chosen(self, ids: Sequence[str]) -> list[Claimed]:
        """Claim chosen jobs."""
        rows: list[Row] = []
        for part in parts(len(ids)):
            some = filled_up(ids[part])
            # The moment is what the statement names first, and so what is bound first.
            sql = of_list(QUERIES["claim_chosen"], len(some))
            rows += self._connection.execute(sql, (self.now, *some)).fetchall()
        return self.made(Claimed, "claim_chosen", rows)

    def release_gated(self, counts: Mapping[str, int]) -> list[Released]:
        """Let the next jobs of keys be claimed; key by key, which costs little in one process."""
        return [
            released
            for name, count in counts.items()
            for released in self.read(Released, "release_gated", name=name, limit=count)
        ]

    def wipe(self) -> None:
        """Delete all data."""
        for table in wiped_tables():
            self._connection.execute(f"DELETE FROM {table}")
        self.configs = {}
        self.maintenance, self.schemas = None, {}
        self.sharing, self.routings = ALONE, {}
        self.configs_changed()
        self.run("begin_tally")
