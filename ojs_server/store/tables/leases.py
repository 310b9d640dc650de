"""Leases: the holders of active jobs, and the ends of their leases."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.jobs.job import Lease
from ojs_server.store.records import LAPSE_GRACE_MS, Held
from ojs_server.store.tables.statements import Writing


class LeaseWrites(Writing):
    """Leases in a write transaction."""

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Store the leases of jobs that were just claimed."""
        self.run_records("insert_leases", leases)

    def move_leases(self, queue: str, ids: Iterable[str]) -> None:
        """Set the queue in leases of locked jobs, in place, as a BEAT may wait for these rows."""
        moved = list(ids)
        self.run_columns("move_leases", job_id=moved, queue=(queue,) * len(moved))

    def start_lease(self, job_id: str) -> None:
        """Record that the holder of a locked job has begun to run it."""
        self.run("start_lease", job_id=job_id, now=self.now)

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self.run_ids("drop_leases", job_ids)

    def load_leases(self, job_ids: Iterable[str]) -> dict[str, Lease]:
        """Lock and read leases by job."""
        return {lease.job_id: lease for lease in self.read_ids(Lease, "load_leases", job_ids)}

    def load_fetches(self, fetch_ids: Sequence[str]) -> list[Lease]:
        """Return the held leases that were the answer to these fetches."""
        return self.read_ids(Lease, "load_fetches", fetch_ids)

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """Store the new `expires_at` of leases."""
        self.run_records("extend_leases", leases)

    def load_lapsed(self, reachable_since: int, until: int, limit: int) -> list[Held]:
        """Lock the jobs whose lease or run time ended before the moment `until`.

        A job that was delivered before `reachable_since` is judged only min(lease, 30 s) after
        that, so that an outage of the server takes no job from a live worker.
        """
        parameters = {"since": reachable_since, "until": until, "grace": LAPSE_GRACE_MS}
        return self.read(Held, "load_lapsed", **parameters, limit=limit)

    def load_held(self, worker_ids: Sequence[str]) -> list[Held]:
        """Lock the jobs that these workers hold."""
        return self.read_ids(Held, "load_held", worker_ids)
