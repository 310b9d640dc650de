"""Claim only jobs whose version and tags a worker supports.

Jobs with equal requirements share one text, and have an index that leaves all other jobs out. A
claim for a worker that has declared something reads which requirements wait in its queues. Only if
it does not meet all of them, it claims separately: jobs without any, and those of each that it
meets.
"""

from collections.abc import Sequence

from ojs_server.domain.workers.requirements import Ability, may_run, read_demand
from ojs_server.store.base import Tx
from ojs_server.store.records import MAX_DEMANDS, Claimed


def claim(
    tx: Tx,
    queues: Sequence[str],
    job_types: Sequence[str] | None,
    ability: Ability | None,
    limit: int,
) -> list[Claimed]:
    """Take up to `limit` jobs that the worker may run."""
    allowed = allowed_demands(tx, queues, job_types, ability)
    if allowed is None:
        return tx.claim(queues, job_types, limit)
    return tx.claim_meeting(queues, job_types, allowed, limit)


def allowed_demands(
    tx: Tx, queues: Sequence[str], job_types: Sequence[str] | None, ability: Ability | None
) -> list[tuple[str, str]] | None:
    """Return the (queue, requirement) pairs of waiting jobs that the worker meets; None if all."""
    if ability is None:
        return None
    waiting = tx.demands(queues)
    kinds = None if job_types is None else set(job_types)
    found = [
        (queue, demand)
        for queue, demand in waiting
        if (kinds is None or read_demand(demand).type in kinds) and may_run(ability, demand)
    ]
    return None if len(found) == len(waiting) < MAX_DEMANDS else found
