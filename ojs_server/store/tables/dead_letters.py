"""Dead letters: their marks, their lists, and the ones beyond a queue's limit."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.jobs.dead_letter import Mark
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import Job, StoredJob
from ojs_server.store.records import DeadLetterGroup, DeadLetterStats, JobPage, ListPosition
from ojs_server.store.tables.job_lists import parameters_of
from ojs_server.store.tables.statements import Statements, Writing

# Most types of errors that are counted.
ERROR_TYPES: Final = 1000
# Most of the newest dead letters that are grouped by their failure, and most groups returned.
GROUPED: Final = 10_000
GROUPS: Final = 100
# Behind every place that a dead letter can have.
_END: Final = ListPosition(1 << 62, "")


class DeadLetterWrites(Writing):
    """Dead letters in a write transaction."""

    def mark_dead(self, marks: Sequence[Mark]) -> None:
        """Store the records by which just discarded jobs are found and counted."""
        self.run_records("mark_dead", marks)

    def override_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store the queue, policies, payload and fingerprint of locked jobs as they are now."""
        self.run_records("override_jobs", jobs)

    def load_surplus(self, most: int, own: Mapping[str, int], limit: int) -> list[Job]:
        """Lock dead letters that are kept beyond `most` of their queue, each queue's oldest first.

        Queues that are among `own` have a number of their own.
        Counters of queues show which are full, so that only those are read.
        """
        found: list[Job] = []
        least = min([most, *own.values()])
        for queue, discarded in self.all("full_queues", most=least):
            allowed = own.get(queue, most)
            if discarded <= allowed:
                continue
            for end, last in self.all("surplus_from", queue=queue, most=allowed):
                room = limit - len(found)
                place = {"queue": queue, "end": end, "last": last}
                found += self.read(Job, "load_surplus", **place, limit=room)
            if len(found) >= limit:
                break
        return found


class DeadLetterReads(Statements):
    """Dead letters outside of a transaction."""

    def dead_letters(
        self, job_filter: JobFilter, limit: int, offset: int, after: ListPosition | None
    ) -> JobPage:
        """Return discarded jobs, newest first, after the position where the last page ended."""
        end, last = after or _END
        if not self.can_hold(job_filter.queue, job_filter.type, job_filter.error_type, last):
            return JobPage([], 0, False)
        lead = _lead(job_filter)
        bound: dict[str, Any] = parameters_of(job_filter)
        place = {"end": end, "last": last, "limit": limit + 1, "offset": offset}
        jobs = self.read(StoredJob, f"dead_letters{lead}", **bound, **place)
        return JobPage(jobs[:limit], self._total(job_filter, lead, bound), len(jobs) > limit)

    def _total(self, job_filter: JobFilter, lead: str, bound: dict[str, Any]) -> int:
        if not job_filter.simple or job_filter.tenant is not None:
            return int(self.all(f"count_dead_letters{lead}", **bound)[0][0])
        # Read from the index alone, where the filter asks for nothing that is not in it.
        counts: dict[str, int] = dict(self.all("dead_letters_by_queue"))
        return sum(counts.values()) if job_filter.queue is None else counts.get(job_filter.queue, 0)

    def dead_letter_stats(self) -> DeadLetterStats:
        """Counts of discarded jobs by queue and by error."""
        oldest, newest = self.all("dead_letter_ages")[0]
        return DeadLetterStats(
            by_queue=dict(self.all("dead_letters_by_queue")),
            by_error_type=dict(self.all("dead_letters_by_error", limit=ERROR_TYPES)),
            groups=[
                DeadLetterGroup(*row)
                for row in self.all("dead_letter_groups", look=GROUPED, limit=GROUPS)
            ],
            oldest_at=oldest,
            newest_at=newest,
        )


def _lead(job_filter: JobFilter) -> str:
    """Return the index that makes the list smallest."""
    if job_filter.tenant is not None:
        return "_of_tenant"
    return "_of_error" if job_filter.error_type else "_of_queue" if job_filter.queue else ""
