"""The claim of a job manager's worker: the oldest task of the jobs that it runs."""

from collections.abc import Iterable, Mapping

from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.claim import Claim, ClaimPolicy, FetchedJobs, held_again
from ojs_server.systems.jobmanager.domain.names import queue_of
from ojs_server.systems.jobmanager.tables import oldest_lanes


class OldestTask(ClaimPolicy, frozen=True):
    """Claim the task that has waited longest, of exactly the jobs that the worker is linked to.

    With `resume_after_ms` a job that was claimed longer ago than this and not begun is handed out
    again: the answer to its claim was lost.
    """

    chooses = True

    resume_after_ms: int | None = None

    @property
    def locks_held(self) -> bool:
        """True if tasks are handed out again."""
        return self.resume_after_ms is not None

    def queues(self, work: Work, op: Claim) -> Iterable[str]:
        """Return the queues of the rooms whose jobs the worker is linked to."""
        return sorted({queue_of(room) for room, _ in work.tx.linked([op.worker_id or ""])})

    def lanes(self, work: Work, op: Claim) -> Iterable[tuple[str, str]]:
        """Return the queue and type of each of its jobs for which tasks wait, oldest first."""
        return oldest_lanes(work.tx, op.worker_id or "")

    def again(self, work: Work, ops: Mapping[int, Claim]) -> dict[int, FetchedJobs]:
        """Return the claims whose worker got a task some time ago and never began it."""
        if self.resume_after_ms is None:
            return {}
        resuming = {op.worker_id: index for index, op in ops.items() if op.worker_id is not None}
        found: dict[int, tuple[Job, Lease]] = {}
        for job, lease in work.tx.load_held(sorted(resuming)):
            index = resuming[lease.worker_id or ""]
            claimed_at = job.started_at or 0
            began = lease.running_at is not None or claimed_at > work.now - self.resume_after_ms
            if not began and (index not in found or job.seq < found[index][0].seq):
                found[index] = (job, lease)
        stored = work.tx.load_whole([job.id for job, _ in found.values()]) if found else {}
        return {
            index: FetchedJobs([held_again(stored[job.id], lease)])
            for index, (job, lease) in found.items()
        }
