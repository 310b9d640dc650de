"""The unit of work: a transaction's ledger, its limits, and the making of jobs from drafts."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar, TypeVarTuple

from ojs_server.domain.errors import OjsError
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs.build_job import build_job, template_of
from ojs_server.domain.jobs.job import Change, Job, State, StoredJob
from ojs_server.domain.jobs.uniform_jobs import UniformJobs, shared_parts, uniform_jobs
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.jobs.version_routing import routed
from ojs_server.domain.limits.rate_limit import place_of_retry
from ojs_server.environment import Chance
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.limits.rate_limits import RateLimits
from ojs_server.ops.limits.releases import note_cleared, note_freed, wake_limited
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Tx

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")


def outcome_of(decide: Callable[[*Arguments], Answer], *arguments: *Arguments) -> Answer | OjsError:
    """Return the result of a call, or the error to be shown to its caller."""
    try:
        return decide(*arguments)
    except OjsError as error:
        return error


class Work(Ledger):
    """The unit of work of one transaction, in which operations are carried out."""

    def __init__(self, tx: Tx, rules: Rules, rng: Chance, schedulers: Schedulers) -> None:
        super().__init__(tx, rules, rng, schedulers)
        self._rate_limits: RateLimits | None = None
        # The shared parts of the last draft, and the template made of them.
        self._parts: object = None
        self._template: Job

    @property
    def rate_limits(self) -> RateLimits:
        """The limits of this transaction: few transactions have any."""
        if self._rate_limits is None:
            self._rate_limits = RateLimits(self)
        return self._rate_limits

    def update_limits(self, names: Collection[str] = ()) -> None:
        """Update the limits of keys whose jobs have moved, and lock the named ones, if any."""
        if names or self._rate_limits is not None:
            self.rate_limits.update(names)

    def added(self, job: Job) -> None:
        """Note the rate key of new jobs."""
        if job.rate_key is not None:
            self.rate_limits.added(job)

    def moved(self, job: Job) -> None:
        """Note the rate key of jobs that have moved."""
        if job.rate_key is not None:
            self.rate_limits.moved(job)

    def changed(self, changes: Sequence[Change]) -> None:
        """Note the rate keys of changed jobs, and wake fetches that wait for jobs to end."""
        for change in changes:
            if change.before.rate_key is not None:
                self.rate_limits.changed(change)
        if self.tx.configs or self.tx.sharing.tenants:
            wake_limited(self, changes)

    def removed(self, job: Job) -> None:
        """Note the rate key of jobs that are gone."""
        if job.rate_key is not None:
            self.rate_limits.removed(job)

    def flush(self) -> None:
        """Write limits, counters and events; the last act before the commit."""
        if self.tx.configs and (fallen := note_freed(self)):
            note_cleared(self, self.rate_limits, fallen)
        if self._rate_limits is not None:
            self._rate_limits.save()
            # They refer to this unit of work: end the reference cycle.
            self._rate_limits = None
        super().flush()

    def routed(self, draft: Draft) -> Draft:
        """Return the draft with a version, if its type is routed and it names none."""
        return routed(self.tx.routings, self.schedulers, draft)

    def build_job(self, draft: Draft, job_id: str | None = None) -> StoredJob:
        """Return the job that a draft becomes in this transaction."""
        if self.tx.routings:
            draft = self.routed(draft)
        job_id = draft.id or job_id or self.new_id()
        return build_job(draft, self._template_of(draft), job_id, self.tx.position())

    def uniform_jobs(self, drafts: Sequence[Draft]) -> UniformJobs:
        """Build the jobs of drafts that share all but arguments and metadata."""
        count = len(drafts)
        ids = self.rng.new_ids(self.now, count)
        return uniform_jobs(drafts, self._template_of(drafts[0]), ids, self.tx.positions(count))

    def places(self, job: Job) -> Callable[[], int]:
        """Return the function that gives a job its position in its queue; retries may differ."""
        preference = self.rules.retry_priority
        if job.state != State.RETRYABLE or preference == "equal":
            return self.tx.position
        config = self.tx.configs.get(job.queue)
        if job.rate_key is None and not (config and config.limits):
            return self.tx.position
        return lambda: place_of_retry(self.tx.position(), preference)

    def _template_of(self, draft: Draft) -> Job:
        # Reused, because jobs of one producer arrive together and share these parts.
        parts = shared_parts(draft)
        if parts != self._parts:
            self._parts = parts
            self._template = template_of(draft, self.now, self.rules.profile.max_attempts)
        return self._template
