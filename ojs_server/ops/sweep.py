"""What time does: promotion, expiry, timeouts, dead workers, removal of what has aged."""

from collections.abc import Callable, Sequence

import msgspec

from ojs_server.domain import deadlines, events, lifecycle
from ojs_server.domain.errors import OjsError
from ojs_server.domain.job import Change, Job, Lease, State
from ojs_server.domain.workers import Worker
from ojs_server.ops import beside
from ojs_server.ops.presence import DEATH, DROPPED, Farewell, bury, noticed
from ojs_server.ops.prune import STEP, Pruned, prune
from ojs_server.ops.work import Work
from ojs_server.store.base import JUDGED_AFTER_MS

# Fetches wait for the transaction that promotes others: small steps cost them less.
MATURE_STEP = 200
# Each dead worker brings back all its jobs in the same transaction.
WORKERS_STEP = 50
# A sweep that was asked for this long ago was asked for before a stall.
STALE_MS = 2_000


class Sweep(msgspec.Struct, frozen=True):
    """One round of housekeeping.

    `judged_since` is the moment since which the store has been reachable without a gap, and
    `asked_at` when the round was asked for: a server that was stopped in between must not act
    on what it believed before.
    """

    judged_since: int
    asked_at: int
    prune: bool = False
    # Whether to look who has become unreachable or was silent for long enough to be deleted.
    check: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("sweep",)


class Swept(msgspec.Struct, frozen=True):
    """How much was done; `more` when a step was full."""

    now: int
    matured: int = 0
    lapsed: int = 0
    dead: int = 0
    noticed: int = 0
    removed: int = 0
    more: bool = False
    stale: bool = False


def run(work: Work, ops: Sequence[Sweep]) -> list[Swept | OjsError]:
    """A batch holds one sweep at most."""
    return [_sweep(work, op) for op in ops]


def _sweep(work: Work, op: Sweep) -> Swept:
    if work.now - op.asked_at > STALE_MS:
        return Swept(work.now, stale=True)
    # In maintenance nothing becomes due but the leases of those who still work.
    matured, removed = _mature(work) if work.tx.maintenance is None else (0, 0)
    lapsed = _lapse(work, op.judged_since)
    tx, profile, since = work.tx, work.rules.profile, op.judged_since
    dead = _bury(work, since, profile.dead_after_ms, tx.load_silent_workers, DEATH)
    dead += _bury(work, since, profile.session_grace_ms, tx.load_dropped_workers, DROPPED)
    changed = _notice(work, op.judged_since) if op.check else 0
    pruned = prune(work) if op.prune else Pruned()
    more = matured + removed >= MATURE_STEP or lapsed >= STEP or max(dead, changed) >= WORKERS_STEP
    return Swept(
        work.now, matured, lapsed, dead, changed, removed + pruned.removed, more or pruned.more
    )


def _mature(work: Work) -> tuple[int, int]:
    changes: list[Change] = []
    aged: list[Job] = []
    for job in work.tx.load_due(MATURE_STEP):
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


def _lapse(work: Work, judged_since: int) -> int:
    lapsed = work.tx.load_lapsed(judged_since, STEP)
    changes = [_lapsed(work, job, lease) for job, lease in lapsed]
    for event in beside.stalled(work.tx, changes):
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
        dice=work.luck.dice(),
        keep=work.keep(job.queue),
    )


def _bury(
    work: Work,
    judged_since: int,
    patience_ms: int | None,
    load: Callable[[int, int], list[Worker]],
    why: Farewell,
) -> int:
    """Take workers for dead that something has been missed of for longer than the patience."""
    if patience_ms is None or _is_early(work, judged_since, patience_ms):
        return 0
    missed = load(work.now - patience_ms, WORKERS_STEP)
    if missed:
        work.tx.save_workers(bury(work, missed, why))
    return len(missed)


def _notice(work: Work, judged_since: int) -> int:
    """Tell of what silence has made of workers; those silent for long enough are deleted."""
    limits = work.rules.profile.thresholds
    if _is_early(work, judged_since, limits.unreachable_ms):
        return 0
    changed = work.tx.load_changed_workers(
        work.now - limits.unreachable_ms,
        work.now - limits.offline_ms,
        work.now - limits.deleted_ms,
        WORKERS_STEP,
    )
    if changed:
        work.tx.save_workers([noticed(work, worker) for worker in changed])
    return len(changed)


def _is_early(work: Work, judged_since: int, silence_ms: int) -> bool:
    """Whether workers have not had the time yet to be heard again."""
    return judged_since + min(silence_ms, JUDGED_AFTER_MS) > work.now
