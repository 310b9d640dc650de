"""Remove expired or surplus records in steps: events, dead letters, keys, statistics and others.

Statistics are counted from the event log, here and before they are read, so that calls on jobs pay
nothing for them. Events are removed only once they are counted.
"""

from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.admin.statistics import KEPT
from ojs_server.ops.unit_of_work import Work

STEP: Final = 500
# Larger than a step of removal, because counting is cheaper.
COUNT_STEP: Final = 20_000
# Retention of rate keys that no job names any more.
LIMITS_MS: Final = 86_400_000
# Small, because each workflow includes up to a thousand records of jobs.
WORKFLOWS_STEP: Final = 20


class Pruned(msgspec.Struct, frozen=True):
    """The number of removed records; `more` if a step was full."""

    removed: int = 0
    more: bool = False


def prune(work: Work) -> Pruned:
    """Remove one step of each kind of record."""
    keep = work.rules.keep
    removed, behind = _events(work)
    counts = (
        removed,
        _dead_letters(work),
        work.tx.prune_receipts(work.now - keep.idempotency_ms, STEP),
        work.tx.prune_staged_outcomes(work.now - keep.idempotency_ms, STEP),
        work.tx.delete_workers(work.now - keep.workers_ms, STEP),
        work.tx.prune_limits(work.now - LIMITS_MS, STEP),
        _workflows(work),
        work.tx.prune_deliveries(work.now - keep.deliveries_ms, STEP),
        _statistics(work),
        work.tx.prune_logins(STEP),
        work.tx.prune_actions(work.now - keep.actions_ms, STEP),
    )
    return Pruned(sum(counts), behind or max(counts) >= STEP)


def _statistics(work: Work) -> int:
    return max(work.tx.prune_statistics(step, work.now - kept, STEP) for step, kept in KEPT.items())


def _workflows(work: Work) -> int:
    # A full step counts like one of the other kinds, so that the next round follows at once.
    aged = work.tx.load_aged_workflows(WORKFLOWS_STEP)
    work.tx.delete_workflows(aged)
    return STEP if len(aged) == WORKFLOWS_STEP else len(aged)


def _events(work: Work) -> tuple[int, bool]:
    tally = work.tx.tally_events(COUNT_STEP)
    if tally is None:
        return 0, False
    # Only on the node that counts events, so that no two nodes sample at once.
    work.tx.sample_depths()
    surplus = max(0, tally.total - work.rules.keep.events)
    return work.tx.delete_events(work.now - work.rules.keep.events_ms, surplus, STEP), tally.behind


def _dead_letters(work: Work) -> int:
    configs = work.tx.configs
    own = {
        name: config.dead_letters
        for name, config in configs.items()
        if config.dead_letters is not None
    }
    surplus = work.tx.load_surplus(work.rules.keep.dead_letters, own, STEP)
    work.remove(surplus)
    for job in surplus:
        work.note(events.pruned(job, "count"))
    return len(surplus)
