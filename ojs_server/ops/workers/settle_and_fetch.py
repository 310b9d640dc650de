"""Settle many jobs and fetch the next ones in one transaction.

It is split into operations that are carried out with all others of the batch, the
settlements before the fetch: jobs that it gives back it may fetch again.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ojs_server.domain.errors import Conflict, OjsError
from ojs_server.domain.jobs.job import Change, Job, Lease
from ojs_server.domain.jobs.repeated_settlement import acknowledged_before, failed_before
from ojs_server.ops.jobs.settle import Ack, Failing, Repeated
from ojs_server.ops.operation import Composite
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.claim import Claim, FetchedJobs


class RepeatableAck(Ack, frozen=True):
    """An ACK whose answer may have been lost."""

    def repeats(self, work: Work, job: Job) -> bool:
        """Tell whether this delivery, by its number, completed the job."""
        return acknowledged_before(job, self.attempt)


class RepeatableFail(Failing[Change | Repeated], frozen=True):
    """A FAIL whose answer may have been lost."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change | Repeated:
        """End the delivery, unless this FAIL did."""
        try:
            return self.fail(work, job, lease)
        except Conflict:
            if failed_before(job, self.attempt, self.fault, requeue=self.requeue):
                return Repeated(job)
            raise


Settlement = RepeatableAck | RepeatableFail
SettlementOutcome = Change | Repeated | OjsError


class SettledAndFetched(msgspec.Struct, frozen=True):
    """Outcomes of the settlements, in their order, and the jobs that were fetched, or why the
    FETCH was refused."""

    settled: Sequence[SettlementOutcome]
    jobs: FetchedJobs
    refusal: Conflict | None = None


class SettleAndFetch(Composite[SettledAndFetched], frozen=True):
    """Settlements, and the claim that follows them."""

    settlements: tuple[Settlement, ...]
    claim: Claim | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        mine = tuple(one.job_id for one in self.settlements)
        return mine if self.claim is None else mine + self.claim.keys

    @property
    def job_count(self) -> int:
        return sum(part.job_count for part in self.parts)

    @property
    def parts(self) -> tuple[Settlement | Claim, ...]:
        return self.settlements if self.claim is None else (*self.settlements, self.claim)

    def outcome(self, answers: Sequence[Any]) -> SettledAndFetched | BaseException:
        if self.claim is None:
            return SettledAndFetched(answers, FetchedJobs())
        *settled, jobs = answers
        if isinstance(jobs, Conflict):
            # The settlements are done, and this refusal is about the worker, now and later.
            return SettledAndFetched(settled, FetchedJobs(), jobs)
        # Without the jobs there is no answer; the call is repeated, and finds what was settled.
        if isinstance(jobs, BaseException):
            return jobs
        return SettledAndFetched(settled, jobs)
