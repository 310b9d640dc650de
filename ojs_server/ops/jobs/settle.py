"""Calls on one job: ACK, FAIL, CANCEL, ACTIVATE, retry of a dead letter, and removal."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, Generic

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict, NotFound, OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.attachments import HOLDERS
from ojs_server.domain.jobs.dead_letter import RetryChanges, limited, overridden
from ojs_server.domain.jobs.job import TERMINAL, Change, Earlier, Job, Lease, State, StoredJob
from ojs_server.domain.jobs.late_ack import delivery_of
from ojs_server.domain.jobs.repeated_settlement import (
    acknowledged_before,
    failed_before,
    given_back_before,
)
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.queues.config import NO_CONFIG, require_type
from ojs_server.ops.operation import OnJob, Result, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import Leased


class Repeated(msgspec.Struct, frozen=True):
    """A call that was made before: its answer was lost."""

    # The job as it is now.
    after: Job


class Transition(OnJob[Result], Generic[Result], frozen=True, kw_only=True):
    """A call that asks for a transition; those of a batch are decided with one read and one
    write."""

    stage = Stage.SETTLE

    # If set, jobs of other tenants are reported as missing.
    tenant: str | None = None

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Result:
        """Return the transition of this call; raises if it is not allowed."""
        raise NotImplementedError


class Ack(Transition[Change | Repeated], frozen=True):
    """ACK: the handler succeeded."""

    light = True
    tracks_workers = True

    worker_id: str | None = None
    attempt: int | None = None
    result: bytes | None = None
    # Any previous holder may complete the job late, as clients of this API do not name their
    # workers.
    any_holder: bool = False

    def can_preload(self) -> bool:
        return True

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change | Repeated:
        """Complete the job, or complete it late if its FETCH allowed that."""
        keep = work.keep(job.queue)
        try:
            return lifecycle.acknowledge(
                job,
                lease,
                worker_id=self.worker_id,
                attempt=self.attempt,
                result=self.result,
                now=work.now,
                keep=keep,
            )
        except Conflict:
            if self.repeats(work, job):
                return Repeated(job)
            earlier = self._earlier(work, job)
            if earlier is None:
                raise
        return lifecycle.acknowledge_late(job, earlier, result=self.result, now=work.now, keep=keep)

    def repeats(self, work: Work, job: Job) -> bool:
        """Tell whether this worker completed the job with this delivery."""
        if self.worker_id is None or not acknowledged_before(job, self.attempt):
            return False
        return work.tx.ended_by(job.id) == self.worker_id

    def _earlier(self, work: Work, job: Job) -> Earlier | None:
        """Return the lost delivery that this ACK is about."""
        if not (self.worker_id or self.any_holder):
            return None
        if not job.attached & HOLDERS or job.state in TERMINAL:
            return None
        return delivery_of(work.tx.load_earlier(job.id), self.worker_id, self.attempt)


class Fail(Transition[Change | Repeated], frozen=True):
    """FAIL: the handler failed, or gives the job back."""

    light = True
    tracks_workers = True

    fault: Fault
    worker_id: str | None = None
    attempt: int | None = None
    requeue: bool = False
    # Changes the job for its next delivery.
    amend: Callable[[StoredJob], StoredJob] | None = None

    def can_preload(self) -> bool:
        return True

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change | Repeated:
        """End the delivery, unless this FAIL already did."""
        try:
            return self._fail(work, job, lease)
        except Conflict:
            if self._repeats(work, job):
                return Repeated(job)
            raise

    def _repeats(self, work: Work, job: Job) -> bool:
        if self.worker_id is None or self.attempt is None:
            return False
        if self.requeue or self.fault.action == "snooze":
            # The history has no entry for it, but the job stores which worker gave it back.
            gave_back = given_back_before(job, self.attempt)
            return gave_back and work.tx.ended_by(job.id) == self.worker_id
        return failed_before(job, self.attempt, self.worker_id, self.fault)

    def _fail(self, work: Work, job: Job, lease: Lease | None) -> Change:
        left = self.fault.retries
        if left is not None:
            most = job.attempt - job.releases + left
            job = msgspec.structs.replace(job, max_attempts=most)
        change = lifecycle.fail(
            job,
            lease,
            self.fault,
            worker_id=self.worker_id,
            attempt=self.attempt,
            requeue=self.requeue,
            now=work.now,
            random=work.rng.random(),
            position=work.tx.position,
            keep=work.keep(job.queue),
        )
        if left is not None or self.amend is not None:
            whole = work.tx.load_whole([job.id])[job.id]
            if left is not None:
                whole = limited(whole, job.max_attempts)
            if self.amend is not None:
                whole = self.amend(whole)
            work.tx.override_jobs([whole])
        if self.fault.rate_limit_until is not None:
            work.rate_limits.hold(job, self.fault.rate_limit_until)
        return change


class Cancel(Transition[Change], frozen=True):
    """Cancel a job."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change:
        """Cancel at once, also while it is held."""
        return lifecycle.cancel(job, work.now, work.keep(job.queue), lease)


class CancelOnce(Transition[Change | Repeated], frozen=True):
    """Cancel a job unless it is cancelled already, for clients whose calls may be repeated."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change | Repeated:
        """Cancel as `Cancel` does; a cancelled job stays as it is."""
        if job.state == State.CANCELLED:
            return Repeated(job)
        return lifecycle.cancel(job, work.now, work.keep(job.queue), lease)


class Activate(Transition[Change], frozen=True):
    """ACTIVATE: make a pending job available."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change:
        """Activate the job."""
        return lifecycle.activate(job, work.now, work.tx.position)


class Revive(Transition[Change], frozen=True):
    """Retry a discarded job with new attempts, and optionally another queue, payload or policy."""

    override: RetryChanges | None = None

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change:
        """Return the change that makes the job available again."""
        if self.override is None:
            return lifecycle.revive(job, work.now, work.tx.position)
        queue = self.override.queue
        if queue is not None:
            require_type(work.tx.configs.get(queue, NO_CONFIG), queue, job.type)
        stored = overridden(work.tx.load_whole([job.id])[job.id], self.override)
        change = lifecycle.revive(stored.job, work.now, work.tx.position)
        work.tx.override_jobs([stored])
        return msgspec.structs.replace(change, before=job)


class Rerun(Transition[Change], frozen=True):
    """Retry a discarded job from its beginning, or end the wait of a retryable one."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change:
        """Return the change that makes the job available."""
        return lifecycle.rerun(job, work.now, work.places(job))


class Remove(Transition[Change], frozen=True):
    """Delete a discarded job."""

    def decide(self, work: Work, job: Job, lease: Lease | None) -> Change:
        """Require a dead letter; the row is deleted, so no change is written."""
        lifecycle.require(job, "revive")
        return Change(job, job, (events.removed(job),))


_DEAD_LETTER = (Revive, Remove)


Outcome = Change | Repeated | OjsError
_job_id: Final[Callable[[Transition[Any]], str]] = attrgetter("job_id")


@handles(Stage.SETTLE, at_once=True)
def run(work: Work, ops: Sequence[Transition[Change | Repeated]]) -> list[Outcome]:
    """Settle many jobs with one read and one guarded write."""
    stored = work.tx.load_jobs(sorted(set(map(_job_id, ops))))
    outcomes: list[Outcome] = []
    changes: list[Change] = []
    removed: list[Change] = []
    changed: set[str] = set()
    for op in ops:
        if op.job_id in changed:
            # A call may name a job twice; write the first change before the second is decided.
            work.apply(changes)
            changes = []
            changed.clear()
        outcome = _decide(work, op, stored.get(op.job_id))
        outcomes.append(outcome)
        if isinstance(outcome, Change):
            (removed if isinstance(op, Remove) else changes).append(outcome)
            changed.add(op.job_id)
            stored[op.job_id] = Leased(outcome.after, None)
    work.apply(changes)
    if removed:
        work.remove([change.before for change in removed])
        for change in removed:
            for event in change.events:
                work.note(event)
    return outcomes


def _decide(
    work: Work, op: Transition[Change | Repeated], found: tuple[Job, Lease | None] | None
) -> Outcome:
    dead_letter = isinstance(op, _DEAD_LETTER)
    if found is not None and op.tenant is not None and found[0].tenant != op.tenant:
        found = None
    if found is None or (dead_letter and found[0].state != State.DISCARDED):
        return missing(op.job_id, "dead_letter_job" if dead_letter else "job")
    try:
        return op.decide(work, *found)
    except OjsError as error:
        return error


def missing(job_id: str, kind: str = "job") -> NotFound:
    """Return the error for an unknown id."""
    where = "among the dead letters" if kind == "dead_letter_job" else "here"
    return NotFound(
        f"there is no job {job_id} {where}",
        details={"resource_type": kind, "resource_id": job_id},
        hint="finished jobs are removed when their retention ends; check the id",
    )
