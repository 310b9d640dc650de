"""Leases: who holds which job until when."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.job import Job, Lease
from ojs_server.store.base import JUDGED_AFTER_MS
from ojs_server.store.rows import held_of, lease_row
from ojs_server.store.tables.statements import Writing


class LeaseWrites(Writing):
    """Leases in a write transaction."""

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Who holds what was just claimed."""
        self.run_rows("insert_leases", [lease_row(lease) for lease in leases])

    def move_leases(self, queue: str, ids: Iterable[str]) -> None:
        """The jobs of these leases stand in this queue now; the leases are as they were."""
        self.run_rows("move_leases", [(job_id, queue) for job_id in ids])

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self.run_rows("drop_leases", [(job_id,) for job_id in job_ids])

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Lock and read leases by job."""
        return {row[0]: Lease(*row) for row in self.of_ids("load_leases", job_ids)}

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """Lock and read leases by fetch."""
        return [Lease(*row) for row in self.of_ids("load_fetches", fetch_ids)]

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """New ends of leases; one that has gone stays gone."""
        self.run_rows("extend_leases", [(lease.job_id, lease.expires_at) for lease in leases])

    def load_lapsed(self, judged_since: int, until: int, limit: int) -> list[tuple[Job, Lease]]:
        """Lock the jobs whose lease or run time was over by a moment."""
        rows = self.all(
            "load_lapsed", until=until, since=judged_since, grace=JUDGED_AFTER_MS, limit=limit
        )
        return [held_of(row) for row in rows]

    def load_held(self, worker_ids: Sequence[str]) -> list[tuple[Job, Lease]]:
        """Lock the jobs that workers hold."""
        return [held_of(row) for row in self.of_ids("load_held", worker_ids)]
