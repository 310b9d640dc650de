"""Leases: who holds which job until when."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.job import Lease
from ojs_server.store.base import JUDGED_AFTER_MS
from ojs_server.store.records import Held
from ojs_server.store.tables.statements import Writing


class LeaseWrites(Writing):
    """Leases in a write transaction."""

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Who holds what was just claimed."""
        self.run_records("insert_leases", leases)

    def move_leases(self, queue: str, ids: Iterable[str]) -> None:
        """The jobs of these leases stand in this queue now; the leases are as they were."""
        moved = list(ids)
        self.run_columns("move_leases", job_id=moved, queue=(queue,) * len(moved))

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self.run_ids("drop_leases", job_ids)

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Lock and read leases by job."""
        return {one.job_id: one for one in self.read_ids(Lease, "load_leases", job_ids)}

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """Lock and read leases by fetch."""
        return self.read_ids(Lease, "load_fetches", fetch_ids)

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """New ends of leases; one that has gone stays gone."""
        self.run_records("extend_leases", leases)

    def load_lapsed(self, judged_since: int, until: int, limit: int) -> list[Held]:
        """Lock the jobs whose lease or run time was over by a moment."""
        judged = {"since": judged_since, "until": until, "grace": JUDGED_AFTER_MS}
        return self.read(Held, "load_lapsed", **judged, limit=limit)

    def load_held(self, worker_ids: Sequence[str]) -> list[Held]:
        """Lock the jobs that workers hold."""
        return self.read_ids(Held, "load_held", worker_ids)
