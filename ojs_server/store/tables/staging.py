"""Jobs that programs have enqueued within transactions of their own, until a node stores them."""

from collections.abc import Sequence

from ojs_server.store.records import Staged, StagedOutcome
from ojs_server.store.tables.statements import Statements, Writing


class StagingReads(Statements):
    """Outcomes of staged jobs."""

    def staged_outcome(self, job_id: str) -> StagedOutcome | None:
        """Return the outcome of a staged job, unless it was stored as it is."""
        return next(iter(self.read(StagedOutcome, "staged_outcome", job_id=job_id)), None)


class StagingWrites(Writing):
    """Staged jobs in a write transaction."""

    def take_staged(self, ids: Sequence[str]) -> set[str]:
        """Remove staged jobs; answers those that no other node takes or has taken."""
        return {row[0] for row in self.all_ids("take_staged", ids)}

    def insert_staged(self, jobs: Sequence[Staged]) -> None:
        """Stage jobs, as a program does."""
        self.run_records("insert_staged", jobs)

    def insert_staged_outcomes(self, outcomes: Sequence[StagedOutcome]) -> None:
        """Store what became of staged jobs that were not stored as they are."""
        self.run_records("insert_staged_outcomes", outcomes)

    def prune_staged_outcomes(self, before: int, limit: int) -> int:
        """Remove outcomes that are older than a moment; answers how many."""
        return self.run("prune_staged_outcomes", before=before, limit=limit)
