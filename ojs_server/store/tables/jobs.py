"""Jobs, as far as both stores treat them alike; each claims, inserts and locks in its own way."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.job import Change, Job, Lease, StoredJob
from ojs_server.store.base import StaleWrite
from ojs_server.store.rows import (
    STORED_FIELDS,
    change_row,
    job_of,
    lease_of,
    stored_of,
    unique_of,
)
from ojs_server.store.tables.statements import Statements, Writing


class JobEnds(Statements):
    """Endings of jobs, read inside of a transaction and outside."""

    def ended_by(self, job_id: str) -> str | None:
        """The worker with which a job ended."""
        rows = self.all("ended_by", job_id=job_id) if self.can_hold(job_id) else []
        return rows[0][0] if rows else None


class JobWrites(Writing, JobEnds):
    """Jobs in a write transaction."""

    def load_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each id that exists."""
        return {row[0]: row[1] for row in self.of_ids("known_requests", ids)}

    def seize_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """Lock and read jobs, without those that another transaction has."""
        return {row[0]: job_of(row) for row in self.of_ids("seize_jobs", ids)}

    def load_whole(self, ids: Iterable[str]) -> dict[str, StoredJob]:
        """Jobs with their payloads."""
        return {row[0]: stored_of(row) for row in self.of_ids("load_whole", ids)}

    def save_priorities(self, jobs: Sequence[Job]) -> None:
        """Store the priorities of jobs."""
        self.run_rows("save_priorities", [(job.id, job.priority) for job in jobs])

    def load_states(self, ids: Iterable[str]) -> dict[str, str]:
        """The states of jobs."""
        return {row[0]: row[1] for row in self.of_ids("load_states", ids)}

    def load_due(self, limit: int) -> list[Job]:
        """Jobs whose `due_at` has come."""
        return [job_of(row) for row in self.all("load_due", now=self.now, limit=limit)]

    def write_changes(self, changes: Sequence[Change]) -> None:
        """Guarded transitions, all or none."""
        check_written(self.run_rows("write_changes", list(map(change_row, changes))), changes)

    def delete_jobs(self, ids: Sequence[str]) -> None:
        """Remove jobs for good."""
        self.run_rows("delete_jobs", [(job_id,) for job_id in ids])

    def find_unique(self, wanted: Iterable[tuple[bytes, str]]) -> dict[bytes, list[Job]]:
        """The newest job of each fingerprint and state, as the last commit left it."""
        return unique_of(self.all_rows("find_unique", list(wanted)))


def check_written(written: int, changes: Sequence[Change]) -> None:
    """Refuse a transaction in which a change found its job in another state."""
    if written != len(changes):
        raise StaleWrite("a job is no longer in the state that its change leaves")


class JobReads(JobEnds):
    """Jobs outside of a transaction."""

    def job(self, job_id: str) -> tuple[StoredJob, Lease | None] | None:
        """One whole job and who holds it."""
        rows = self.all("one_job", job_id=job_id) if self.can_hold(job_id) else []
        return (stored_of(rows[0]), lease_of(rows[0][STORED_FIELDS:])) if rows else None

    def metas(self, ids: Sequence[str]) -> list[bytes]:
        """The `meta` of jobs."""
        return [row[0] for row in self.of_ids("metas", ids)]
