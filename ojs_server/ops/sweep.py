"""What time does: promotion, expiry, timeouts, dead workers, removal of what has aged."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import deadlines, lifecycle
from ojs_server.domain.errors import OjsError
from ojs_server.domain.job import Change, Job, Lease
from ojs_server.ops import beside
from ojs_server.ops.presence import DEATH, leave
from ojs_server.ops.work import Work
from ojs_server.store.base import JUDGED_AFTER_MS

STEP = 500
# Fetches wait for the transaction that promotes others: small steps cost them less.
MATURE_STEP = 200
# Each dead worker brings back all its jobs in the same transaction.
WORKERS_STEP = 50
# A rate key that no job names any more is remembered for this long.
LIMITS_MS = 86_400_000
# Each workflow takes what it knows of up to a thousand jobs with it.
WORKFLOWS_STEP = 20
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
    removed: int = 0
    more: bool = False
    stale: bool = False


def run(work: Work, ops: Sequence[Sweep]) -> list[Swept | OjsError]:
    """A batch holds one sweep at most."""
    return [_sweep(work, op) for op in ops]


def _sweep(work: Work, op: Sweep) -> Swept:
    if work.now - op.asked_at > STALE_MS:
        return Swept(work.now, stale=True)
    matured, removed = _mature(work)
    lapsed = _lapse(work, op.judged_since)
    dead = _bury(work, op.judged_since)
    pruned = _prune(work) if op.prune else 0
    more = matured + removed >= MATURE_STEP or max(lapsed, pruned) >= STEP or dead >= WORKERS_STEP
    return Swept(work.now, matured, lapsed, dead, removed + pruned, more)


def _mature(work: Work) -> tuple[int, int]:
    changes: list[Change] = []
    aged: list[Job] = []
    for job in work.tx.load_due(MATURE_STEP):
        change = lifecycle.mature(job, work.now, work.tx.position, work.keep(job.queue))
        if change is None:
            aged.append(job)
        else:
            changes.append(change)
    work.apply(changes)
    work.remove(aged)
    return len(changes), len(aged)


def _lapse(work: Work, judged_since: int) -> int:
    lapsed = work.tx.load_lapsed(judged_since, STEP)
    changes = [_lapsed(work, job, lease) for job, lease in lapsed]
    for event in beside.stalled(work.tx, changes):
        work.note(event)
    work.apply(changes)
    return len(lapsed)


def _lapsed(work: Work, job: Job, lease: Lease) -> Change:
    why = deadlines.loss(job, lease, work.now)
    return lifecycle.lapse(
        job,
        lease,
        why.fault,
        backoff=why.backoff,
        now=work.now,
        dice=work.luck.dice(),
        keep=work.keep(job.queue),
    )


def _bury(work: Work, judged_since: int) -> int:
    silent_for = work.rules.heartbeat_timeout_ms
    if judged_since + min(silent_for, JUDGED_AFTER_MS) > work.now:
        return 0
    silent = work.tx.load_silent_workers(work.now - silent_for, WORKERS_STEP)
    if silent:
        work.tx.save_workers(leave(work, silent, DEATH))
    return len(silent)


def _prune(work: Work) -> int:
    keep = work.rules.keep
    return max(
        work.tx.delete_events(work.now - keep.events_ms, STEP),
        work.tx.prune_receipts(work.now - keep.idempotency_ms, STEP),
        work.tx.delete_workers(work.now - keep.workers_ms, STEP),
        work.tx.prune_limits(work.now - LIMITS_MS, STEP),
        _forget_workflows(work),
    )


def _forget_workflows(work: Work) -> int:
    # A full step counts as one of the others' size, so that the next one follows at once.
    aged = work.tx.load_aged_workflows(WORKFLOWS_STEP)
    work.tx.delete_workflows(aged)
    return STEP if len(aged) == WORKFLOWS_STEP else len(aged)
