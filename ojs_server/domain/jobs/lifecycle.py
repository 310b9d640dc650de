"""The state machine of jobs: the only place where a job changes its state.

                 ┌───────────┐ time  ┌───────────┐ FETCH ┌────────┐ ACK   ┌───────────┐
    enqueue ───▶ │ scheduled │ ────▶ │ available │ ────▶ │ active │ ────▶ │ completed │
       │         └───────────┘       └───────────┘       └────────┘       └───────────┘
       │         ┌─────────┐ activate   ▲   ▲  ▲  lease lost  │  │ FAIL, timeout
       ├───────▶ │ pending │ ───────────┘   │  └──────────────┤  ▼
       │         └─────────┘        backoff │     requeue     │ ┌───────────┐
       └───────▶ available                  └───────────────────│ retryable │
                                                              │ └───────────┘
    cancelled ◀── cancel, from every state that is not final  ▼ attempts used up
    discarded ──▶ available  (dead-letter retry)          discarded ◀── expired

Every function takes the stored job and `now` and returns a `Change`, or raises a Conflict
that says which state was needed. Nothing else may write `state`.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import deadlines, retry
from ojs_server.domain.jobs.attachments import PROGRESS
from ojs_server.domain.jobs.job import STATES, TERMINAL, Change, Earlier, Event, Job, Lease, State
from ojs_server.domain.jobs.late_ack import earlier_of
from ojs_server.domain.jobs.reported_error import Fault, append_entry, entry
from ojs_server.domain.retention import Retention
from ojs_server.domain.tenants.tenant import unscoped

# The states in which each call is allowed; any other state is a conflict.
LEGAL: Final = {
    "claim": frozenset({State.AVAILABLE}),
    "ack": frozenset({State.ACTIVE}),
    "ack_late": frozenset(STATES) - TERMINAL,
    "fail": frozenset({State.ACTIVE}),
    "lapse": frozenset({State.ACTIVE}),
    "cancel": frozenset(STATES) - TERMINAL,
    "activate": frozenset({State.PENDING}),
    "mature": frozenset({State.SCHEDULED, State.RETRYABLE, State.AVAILABLE, State.PENDING}),
    "revive": frozenset({State.DISCARDED}),
    "checkpoint": frozenset(STATES) - TERMINAL,
    "drop": frozenset({State.AVAILABLE}),
    "put_off": frozenset({State.AVAILABLE}),
    "rerun": frozenset({State.DISCARDED, State.RETRYABLE}),
    "delete": TERMINAL,
    "prioritize": frozenset(STATES) - TERMINAL - {State.ACTIVE},
}

Positions = Callable[[], int]


class _Spec(msgspec.Struct, frozen=True):
    retry: dict[str, object] | None = None


_spec = msgspec.json.Decoder(_Spec)


def policy_of(job: Job) -> retry.RetryPolicy:
    """Return the retry policy that was checked when the job was enqueued."""
    return retry.parse_policy(_spec.decode(job.spec).retry)


def acknowledge(
    job: Job,
    lease: Lease | None,
    *,
    worker_id: str | None,
    attempt: int | None,
    result: bytes | None,
    now: int,
    keep: Retention,
) -> Change:
    """ACK: the holder's result completes the job."""
    require(job, "ack")
    require_holder(job, lease, worker_id, attempt)
    return _completed(job, job, _holder(lease), result, now, keep)


def acknowledge_late(
    job: Job, earlier: Earlier, *, result: bytes | None, now: int, keep: Retention
) -> Change:
    """ACK by a worker whose lease was lost: completes the job, whichever worker holds it now."""
    require(job, "ack_late")
    done = msgspec.structs.replace(job, attempt=earlier.attempt, started_at=earlier.started_at)
    return _completed(job, done, earlier.worker_id, result, now, keep)


def fail(
    job: Job,
    lease: Lease | None,
    fault: Fault,
    *,
    worker_id: str | None,
    attempt: int | None,
    requeue: bool,
    now: int,
    random: float,
    position: Positions,
    keep: Retention,
) -> Change:
    """FAIL: retry later, give back, snooze, or discard."""
    require(job, "fail")
    require_holder(job, lease, worker_id, attempt)
    if requeue:
        return _release(job, lease)
    if fault.action == "snooze":
        return _snooze(job, lease, now + fault.snooze_ms, now, position)
    return _failed(job, lease, fault, now, random, keep)


def fail_late(job: Job, fault: Fault, *, now: int, keep: Retention) -> Change:
    """A final FAIL by a worker whose lease was lost, and whose ACK would have counted."""
    require(job, "ack_late")
    return _discard(job, job, fault, (), now, keep, dead_letter=True)


def lapse(
    job: Job,
    lease: Lease,
    fault: Fault,
    *,
    backoff: bool,
    now: int,
    random: float,
    keep: Retention,
    free: bool = False,
) -> Change:
    """The lease is lost: the timer ran out, the worker died, or the run took too long.

    Without `backoff` the job keeps its place in the queue and is available at once. The
    attempt was counted when the job was handed out; it stays counted unless the loss is `free`.
    """
    require(job, "lapse")
    counted = msgspec.structs.replace(job, releases=job.releases + free)
    final = _exhausted(counted) or retry.is_non_retryable(policy_of(job), fault.names)
    if backoff or final:
        change = _failed(job, lease, fault, now, random, keep)
    else:
        change = _offered_again(job, counted, lease, fault, now)
    return msgspec.structs.replace(change, lost=earlier_of(job, lease))


def _offered_again(job: Job, counted: Job, lease: Lease, fault: Fault, now: int) -> Change:
    noted = _entry(job, lease, fault, now)
    after = msgspec.structs.replace(
        counted,
        state=State.AVAILABLE,
        started_at=None,
        error=noted,
        errors=append_entry(job.errors, noted),
        due_at=job.expires_at,
    )
    return Change(job, after, _failure(job, lease, fault, now))


def cancel(job: Job, now: int, keep: Retention, lease: Lease | None = None) -> Change:
    """CANCEL: immediate, even while a worker holds the job, which learns of it by its next BEAT."""
    require(job, "cancel")
    after = msgspec.structs.replace(
        job, state=State.CANCELLED, finished_at=now, due_at=now + keep.cancelled_ms
    )
    return Change(job, after, (events.cancelled(job),), ended_by=_holder(lease))


def activate(job: Job, now: int, position: Positions) -> Change:
    """ACTIVATE: a pending job joins its queue."""
    require(job, "activate")
    after = _enter_queue(job, now, position)
    return Change(job, after, (events.enqueued(after),))


def revive(job: Job, now: int, position: Positions) -> Change:
    """Dead-letter retry: fresh attempts and time; the history is kept, `error` is cleared."""
    require(job, "revive")
    expires_at = deadlines.restarted(job, now)
    after = msgspec.structs.replace(
        _enter_queue(job, now, position),
        attempt=0,
        releases=0,
        error=None,
        started_at=None,
        finished_at=None,
        completed_at=None,
        retry_delay_ms=None,
        expires_at=expires_at,
        due_at=expires_at,
    )
    return Change(job, after, (events.revived(job),))


def rerun(job: Job, now: int, position: Positions) -> Change:
    """Bulk retry: a dead letter starts over, a job that waits for its retry waits no longer."""
    require(job, "rerun")
    if job.state == State.DISCARDED:
        return revive(job, now, position)
    after = _enter_queue(job, now, position)
    return Change(job, after, (events.enqueued(after),))


def mature(job: Job, now: int, position: Positions, keep: Retention) -> Change | None:
    """Apply the change that falls due at `due_at`; None if the job is to be removed."""
    if job.state in TERMINAL:
        return None
    require(job, "mature")
    if job.expires_at is not None and job.expires_at <= now:
        return _expire(job, now, keep)
    after = _enter_queue(job, now, position)
    # No event for a retry: `job.retrying` has announced the time already.
    return Change(job, after, () if job.state == State.RETRYABLE else (events.enqueued(after),))


def drop(job: Job, fault: Fault, emitted: Event, now: int, keep: Retention) -> Change:
    """Discard a job before its start: its rate key is exhausted, or its queue is full."""
    require(job, "drop")
    return _discard(job, job, fault, (emitted,), now, keep, dead_letter=_wants_dead_letter(job))


def put_off(job: Job, until: int) -> Change:
    """Reschedule a job to the moment at which its rate key may have room."""
    require(job, "put_off")
    waiting = msgspec.structs.replace(job, state=State.SCHEDULED, scheduled_at=until, due_at=until)
    after = msgspec.structs.replace(waiting, due_at=due_of(waiting))
    return Change(job, after, (events.scheduled(after),))


def due_of(job: Job) -> int | None:
    """Return the next moment at which time changes a `scheduled` or `retryable` job."""
    moments = [moment for moment in (job.due_at, job.expires_at) if moment is not None]
    return min(moments, default=None)


def require(job: Job, call: str) -> None:
    """Raise Conflict if a call is not allowed in the job's state."""
    legal = LEGAL[call]
    if job.state not in legal:
        expected = " or ".join(sorted(legal))
        raise Conflict(
            f"job {job.id} is {job.state}; this needs {expected}",
            details={"job_id": job.id, "current_state": job.state, "expected_state": expected},
        )


def require_holder(
    job: Job, lease: Lease | None, worker_id: str | None, attempt: int | None
) -> None:
    """Raise Conflict if a worker or delivery is named that does not hold the job."""
    if attempt is not None and attempt != job.attempt:
        raise Conflict(
            f"delivery {attempt} of job {job.id} is over; the job is in delivery {job.attempt}",
            details={
                "job_id": job.id,
                "current_state": job.state,
                "expected_state": State.ACTIVE,
                "current_attempt": job.attempt,
                "lease_expired": True,
            },
        )
    holder = _holder(lease)
    if worker_id is not None and holder is not None and worker_id != holder:
        raise Conflict(
            f"job {job.id} is held by another worker",
            details={
                "job_id": job.id,
                "current_state": job.state,
                "expected_state": State.ACTIVE,
                "holder": holder,
                "lease_expired": True,
            },
        )


def _holder(lease: Lease | None) -> str | None:
    return lease.worker_id if lease else None


def _exhausted(job: Job) -> bool:
    return job.attempt - job.releases >= max(1, job.max_attempts)


def _enter_queue(job: Job, now: int, position: Positions) -> Job:
    return msgspec.structs.replace(
        job, state=State.AVAILABLE, enqueued_at=now, seq=position(), due_at=job.expires_at
    )


def _completed(
    before: Job, done: Job, worker_id: str | None, result: bytes | None, now: int, keep: Retention
) -> Change:
    """Enter `completed`, the only way to do so; `done` is the job with the delivery that completes
    it."""
    after = msgspec.structs.replace(
        done,
        state=State.COMPLETED,
        completed_at=now,
        finished_at=now,
        error=None,
        due_at=now + keep.completed_ms,
    )
    emitted: tuple[Event, ...] = (events.completed(done, worker_id, now),)
    if before.attached & PROGRESS:
        emitted = (events.progress_completed(done, now), *emitted)
    return Change(before, after, emitted, result, ended_by=worker_id)


def _release(job: Job, lease: Lease | None) -> Change:
    # Requeue: the job keeps its place in the queue, and the attempt does not count.
    after = msgspec.structs.replace(
        job,
        state=State.AVAILABLE,
        started_at=None,
        releases=job.releases + 1,
        due_at=job.expires_at,
    )
    return Change(job, after, (events.released(job, lease),), ended_by=_holder(lease))


def _snooze(job: Job, lease: Lease | None, until: int, now: int, position: Positions) -> Change:
    waiting = msgspec.structs.replace(
        job, state=State.SCHEDULED, releases=job.releases + 1, scheduled_at=until, due_at=until
    )
    if until <= now:
        after, emitted = _enter_queue(waiting, now, position), events.enqueued(waiting)
    else:
        after = msgspec.structs.replace(waiting, due_at=due_of(waiting))
        emitted = events.scheduled(after)
    return Change(job, after, (emitted,), ended_by=_holder(lease))


def _failed(
    job: Job, lease: Lease | None, fault: Fault, now: int, random: float, keep: Retention
) -> Change:
    policy = policy_of(job)
    emitted = _failure(job, lease, fault, now)
    errors = job.errors
    if not _is_final(job, policy, fault):
        noted = _entry(job, lease, fault, now)
        errors = append_entry(errors, noted)
        delay = fault.retry_delay_ms
        if delay is None:
            delay = retry.next_delay(policy, job.attempt - job.releases, random)
        late = deadlines.no_time_left(job, now + delay, now)
        if late is None:
            waiting = msgspec.structs.replace(
                job,
                state=State.RETRYABLE,
                retry_delay_ms=delay,
                due_at=now + delay,
                error=noted,
                errors=errors,
            )
            after = msgspec.structs.replace(waiting, due_at=due_of(waiting))
            return Change(job, after, (*emitted, events.retrying(after, fault, now + delay)))
        # The history has both the failure and the reason why there is no retry.
        fault, emitted = late, (*emitted, events.timed_out(job, late))
    dead_letter = fault.action == "dead_letter" or (
        fault.action != "discard" and policy.on_exhaustion == "dead_letter"
    )
    ended = msgspec.structs.replace(job, completed_at=now, errors=errors)
    return _discard(job, ended, fault, emitted, now, keep, dead_letter=dead_letter, lease=lease)


def _discard(
    before: Job,
    ended: Job,
    fault: Fault,
    preceding: tuple[Event, ...],
    now: int,
    keep: Retention,
    *,
    dead_letter: bool,
    lease: Lease | None = None,
) -> Change:
    """Enter `discarded`, the only way to do so: append the error, and announce a dead letter."""
    noted = _entry(before, lease, fault, now)
    after = msgspec.structs.replace(
        ended,
        state=State.DISCARDED,
        finished_at=now,
        due_at=now + (keep.dead_letter_ms if dead_letter else keep.discarded_ms),
        error=noted,
        errors=append_entry(ended.errors, noted),
    )
    emitted = (*preceding, events.discarded(after, fault), events.dead_letter_added(after, fault))
    return Change(before, after, emitted, dead_letter=dead_letter, ended_by=_holder(lease))


def _entry(job: Job, lease: Lease | None, fault: Fault, now: int) -> bytes:
    """The entry of the history; of a job that no worker had it names no start and no worker."""
    if job.state != State.ACTIVE:
        return entry(fault, job.attempt, now)
    holder = _holder(lease)
    worker_id = holder and unscoped(job.tenant, holder)
    return entry(fault, job.attempt, now, started_at=job.started_at, worker_id=worker_id)


def _wants_dead_letter(job: Job) -> bool:
    return policy_of(job).on_exhaustion == "dead_letter"


def _is_final(job: Job, policy: retry.RetryPolicy, fault: Fault) -> bool:
    return (
        fault.action in ("discard", "dead_letter")
        or not fault.retryable
        or _exhausted(job)
        or retry.is_non_retryable(policy, fault.names)
    )


def _failure(job: Job, lease: Lease | None, fault: Fault, now: int) -> tuple[Event, ...]:
    failed = events.failed(job, lease, fault, now)
    return (failed,) if fault.timeout_kind is None else (events.timed_out(job, fault), failed)


def _expire(job: Job, now: int, keep: Retention) -> Change:
    fault = deadlines.overdue(job, now)
    # A job that exceeded its total timeout gets the event of the timeout only, not `job.expired`
    # too.
    emitted = () if fault.timeout_kind == "total" else (events.expired(job, now),)
    if fault.timeout_kind is not None:
        emitted = (*emitted, events.timed_out(job, fault))
    # No completed_at: unlike a job that has used up its attempts, this one never finished.
    return _discard(job, job, fault, emitted, now, keep, dead_letter=_wants_dead_letter(job))
