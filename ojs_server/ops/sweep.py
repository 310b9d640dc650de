"""Housekeeping that depends on time: promotion, expiry, timeouts, dead workers, retention."""

from collections.abc import Callable
from itertools import chain

import msgspec

from ojs_server.domain import events
from ojs_server.domain.jobs import deadlines, lifecycle
from ojs_server.domain.jobs.job import Change, Job, Lease, State
from ojs_server.domain.workers.worker import Worker
from ojs_server.ops.jobs import attachments
from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.retention import STEP, Pruned, prune
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import DEATH, DROPPED, declare_dead, noticed
from ojs_server.store.records import LAPSE_GRACE_MS

# Small, because fetches wait for this transaction.
MATURE_STEP = 200
# Small, because each dead worker returns all its jobs in the same transaction.
WORKERS_STEP = 50
# If jobs are overdue for this long, larger steps are acceptable.
BEHIND_MS = 1_000
BEHIND_STEP = 2_000


class Swept(msgspec.Struct, frozen=True):
    """The number of records handled; `more` if a step was full."""

    now: int
    matured: int = 0
    lapsed: int = 0
    dead: int = 0
    noticed: int = 0
    removed: int = 0
    more: bool = False


class Sweep(Operation[Swept], frozen=True):
    """One round of housekeeping.

    `reachable_since` is the time since which heartbeats could arrive without a gap, `requested_at`
    the time at which the round was requested. Leases and workers are judged as of `requested_at`,
    because a later heartbeat may still be in the socket of a server that was suspended in between.
    The round overtakes waiting requests, so it judges as of the arrival of the oldest one if that
    was earlier: all requests before it have been carried out.
    """

    stage = Stage.SWEEP
    tracks_workers = True
    expires_workers = True
    due = True

    reachable_since: int
    requested_at: int
    # Called during the sweep: true if a sign of life was refused meanwhile; then no worker is
    # declared dead.
    missed: Callable[[], bool] = lambda: False
    # Called during the sweep: returns how long the oldest waiting request has waited.
    behind_ms: Callable[[], int] = lambda: 0
    prune: bool = False
    # True if changes of presence are to be announced.
    check: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        return ("sweep",)

    def arrived_until(self, now: int) -> int:
        """Return the time before which all requests that arrived have been carried out."""
        return min(self.requested_at, now - self.behind_ms())

    def lock(self, locks: Locks) -> None:
        locks.searches.append(lambda work: chain(*lock_dead(work, self)))

    def carry_out(self, work: Work) -> Swept:
        may_expire = not self.missed()
        silent, dropped = lock_dead(work, self) if may_expire else ([], [])
        if silent or dropped:
            # Lock their jobs and leases before the steps below, which skip locked rows.
            work.tx.lock((), (), (), [worker.id for worker in (*silent, *dropped)])
        step = BEHIND_STEP if work.now - self.requested_at > BEHIND_MS else MATURE_STEP
        # In maintenance only leases expire.
        matured, removed = _mature(work, step) if work.tx.maintenance is None else (0, 0)
        lapsed = _lapse(work, self) if may_expire else 0
        for workers, why in ((silent, DEATH), (dropped, DROPPED)):
            if workers:
                work.tx.save_workers(declare_dead(work, workers, why))
        dead = len(silent) + len(dropped)
        changed = _notice(work, self) if self.check and may_expire else 0
        pruned = prune(work) if self.prune else Pruned()
        more = matured + removed >= step or lapsed >= STEP or max(dead, changed) >= WORKERS_STEP
        return Swept(
            work.now, matured, lapsed, dead, changed, removed + pruned.removed, more or pruned.more
        )


def _mature(work: Work, step: int) -> tuple[int, int]:
    changes: list[Change] = []
    aged: list[Job] = []
    for job in work.tx.load_due(step):
        change = lifecycle.mature(job, work.now, work.places(job), work.keep(job.queue))
        if change is None:
            aged.append(job)
        else:
            changes.append(change)
    work.apply(changes)
    work.remove(aged)
    for job in aged:
        if job.state == State.DISCARDED:
            work.note(events.pruned(job, "age"))
    return len(changes), len(aged)


def _lapse(work: Work, op: Sweep) -> int:
    lapsed = work.tx.load_lapsed(op.reachable_since, op.arrived_until(work.now), STEP)
    changes = [_lapsed(work, job, lease) for job, lease in lapsed]
    for event in attachments.stalled(work.tx, changes):
        work.note(event)
    work.apply(changes)
    return len(lapsed)


def _lapsed(work: Work, job: Job, lease: Lease) -> Change:
    why = deadlines.loss(job, lease, work.now, work.rules.profile)
    return lifecycle.lapse(
        job,
        lease,
        why.fault,
        backoff=why.backoff,
        free=why.free,
        now=work.now,
        random=work.rng.random(),
        keep=work.keep(job.queue),
    )


def lock_dead(work: Work, op: Sweep) -> tuple[list[Worker], list[Worker]]:
    """Lock the workers that a sweep takes for dead: those that were silent for too long, and those
    that dropped their session and did not come back."""
    tx, profile, until = work.tx, work.rules.profile, op.arrived_until(work.now)
    silent = _missed(op, until, profile.dead_after_ms, tx.load_silent_workers)
    known = {worker.id for worker in silent}
    dropped = _missed(op, until, profile.session_grace_ms, tx.load_dropped_workers)
    return silent, [worker for worker in dropped if worker.id not in known]


def _missed(
    op: Sweep, until: int, patience_ms: int | None, load: Callable[[int, int], list[Worker]]
) -> list[Worker]:
    if patience_ms is None or _is_early(op, until, patience_ms):
        return []
    return load(until - patience_ms, WORKERS_STEP)


def _notice(work: Work, op: Sweep) -> int:
    """Announce changes of presence, and delete workers that have been silent for long enough."""
    limits, until = work.rules.profile.thresholds, op.arrived_until(work.now)
    if _is_early(op, until, limits.unreachable_ms):
        return 0
    changed = work.tx.load_changed_workers(
        until - limits.unreachable_ms,
        until - limits.offline_ms,
        until - limits.deleted_ms,
        WORKERS_STEP,
    )
    if changed:
        work.tx.save_workers([noticed(work, worker, until) for worker in changed])
    return len(changed)


def _is_early(op: Sweep, until: int, silence_ms: int) -> bool:
    """True if workers have not had enough time to send a sign of life."""
    return op.reachable_since + min(silence_ms, LAPSE_GRACE_MS) > until
