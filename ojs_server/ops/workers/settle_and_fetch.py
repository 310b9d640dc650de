"""Settle many jobs and fetch the next ones in one transaction.

It is split into operations that are carried out with all others of the batch, the
settlements before the fetch: jobs that it gives back it may fetch again.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ojs_server.domain.errors import Conflict, OjsError
from ojs_server.domain.jobs.job import Change
from ojs_server.ops.jobs.settle import Ack, Fail, Repeated
from ojs_server.ops.operation import Composite
from ojs_server.ops.workers.claim import Claim, FetchedJobs

Settlement = Ack | Fail
SettlementOutcome = Change | Repeated | OjsError


class SettledAndFetched(msgspec.Struct, frozen=True):
    """Outcomes of the settlements, in their order, and the jobs that were fetched, or why the
    FETCH was refused."""

    settled: Sequence[SettlementOutcome]
    jobs: FetchedJobs
    refusal: Conflict | None = None


class SettleAndFetch(Composite[SettledAndFetched], frozen=True):
    """Settlements, and the claim that follows them."""

    light = True

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
            # The settlements are stored, and the FETCH is refused for good because of its worker.
            return SettledAndFetched(settled, FetchedJobs(), jobs)
        # Without jobs there is no answer. The client repeats the call, which finds the settlements.
        if isinstance(jobs, BaseException):
            return jobs
        return SettledAndFetched(settled, jobs)
