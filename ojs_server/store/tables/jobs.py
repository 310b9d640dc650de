"""Jobs: the statements that both stores share; claims, inserts and locks differ."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.jobs.job import Change, Job, StoredJob
from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.store.errors import StaleWrite
from ojs_server.store.records import Claimed, Keyed, WholeJob
from ojs_server.store.tables.statements import Statements, Values, Writing, by_name


class JobEnds(Statements):
    """Endings of jobs, read inside of a transaction and outside."""

    def ended_by(self, job_id: str) -> str | None:
        """The worker with which a locked job ended."""
        rows = self.all("ended_by", job_id=job_id) if self.can_hold(job_id) else []
        return rows[0][0] if rows else None


class JobWrites(Writing, JobEnds):
    """Jobs in a write transaction."""

    def load_requests(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The request hash of each of these ids that exists."""
        return dict(self.all_ids("known_requests", ids))

    def seize_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """Lock and read jobs, without waiting for those that another transaction has."""
        return {job.id: job for job in self.read_ids(Job, "seize_jobs", ids)}

    def load_whole(self, ids: Iterable[str]) -> dict[str, StoredJob]:
        """Read jobs with their payloads."""
        return {stored.job.id: stored for stored in self.read_ids(StoredJob, "load_whole", ids)}

    def save_priorities(self, jobs: Sequence[Job]) -> None:
        """Store the priorities of locked jobs."""
        self.run_records("save_priorities", jobs)

    def load_states(self, ids: Iterable[str]) -> dict[str, str]:
        """The states of those of these jobs that exist, without locking them."""
        return dict(self.all_ids("load_states", ids))

    def load_due(self, limit: int) -> list[Job]:
        """Lock the jobs whose `due_at` has come, earliest first."""
        return self.read(Job, "load_due", now=self.now, limit=limit)

    def write_changes(self, changes: Sequence[Change]) -> None:
        """Store decided transitions, each guarded by the state and attempt it leaves."""
        check_written(self.run_records("write_changes", changes), changes)

    def delete_jobs(self, ids: Sequence[str]) -> None:
        """Remove jobs for good."""
        self.run_ids("delete_jobs", ids)

    def find_unique(self, keys: Iterable[tuple[bytes, str]]) -> dict[bytes, list[Job]]:
        """The newest job that has each of these fingerprints in each of these states."""
        rows = self.all_columns("find_unique", **by_name(keys, "unique_key", "state"))
        found: dict[bytes, list[Job]] = {}
        for row in self.made(Keyed, "find_unique", rows):
            found.setdefault(row.unique_key, []).append(row.job)
        return found

    def new_jobs(self, name: str, jobs: Sequence[StoredJob]) -> Sequence[Values]:
        """New jobs, of which there are some, as the columns that a statement takes."""
        if not isinstance(jobs, UniformJobs):
            return self.columns_of(name, jobs)
        count = len(jobs)
        shared = self.columns_of(name, [StoredJob(jobs.template, b"", b"")])
        own: dict[str, Values] = {
            "id": jobs.ids,
            "seq": jobs.positions,
            "size": jobs.sizes,
            "args": jobs.args,
            "meta": jobs.metas,
        }
        names = self.names_of(name)
        return [own.get(name) or (*same,) * count for name, same in zip(names, shared, strict=True)]


def check_written(written: int, changes: Sequence[Change]) -> None:
    """Raise StaleWrite if a change found its job in another state."""
    if written != len(changes):
        raise StaleWrite("a job is no longer in the state that its change leaves")


def in_turn(claimed: list[Claimed], queues: Iterable[str]) -> list[Claimed]:
    """Return claimed jobs in the order of delivery: queue, priority, sequence.

    RETURNING promises no order.
    """
    lanes = {queue: lane for lane, queue in enumerate(dict.fromkeys(queues))}
    claimed.sort(key=lambda claim: (lanes[claim.job.queue], -claim.job.priority, claim.job.seq))
    return claimed


class JobReads(JobEnds):
    """Jobs outside of a transaction."""

    def job(self, job_id: str) -> WholeJob | None:
        """Return a complete job with its lease."""
        found = self.read(WholeJob, "one_job", job_id=job_id) if self.can_hold(job_id) else []
        return found[0] if found else None

    def metas(self, ids: Sequence[str]) -> list[bytes]:
        """The `meta` of these jobs."""
        return [meta for (meta,) in self.all_ids("metas", ids)]
