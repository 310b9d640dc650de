"""Fair claims: share queues between tenants, and a worker's time between the queues of its pool.

Such a claim reads the next candidates, lets `domain/fairness/fair_choice.py` choose, and takes the
chosen jobs. The read takes no locks, so another node may be faster; then it reads again. Turns are
kept in memory, by each node for the jobs that it hands out. Without tenants and pools a claim is
one statement.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.fairness.fair_choice import QueueOrder, choose
from ojs_server.domain.fairness.pool import Pool, PoolOrder, declared
from ojs_server.domain.fairness.sharing import Sharing, limited_tenants
from ojs_server.domain.jobs.job import counters_of
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.domain.workers.requirements import Ability, may_run
from ojs_server.domain.workers.worker import Worker, profile_of
from ojs_server.ops.fairness import requirements
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import Claimed, Lane

# Tenants of a queue that one claim considers; the next claim continues after them.
MOST_TENANTS: Final = 100
# Attempts of a claim whose jobs other nodes take first.
LOOKS: Final = 3
# Extra jobs read from each lane if the worker may not run all of them.
MOST_PASSED: Final = 200


class ServingOrder(msgspec.Struct, frozen=True):
    """The order in which queues are served, given by the pool or else by the fetch."""

    pool: str | None
    strategy: str = "strict"
    weights: tuple[tuple[str, int], ...] = ()


class ClaimCriteria(msgspec.Struct, frozen=True):
    """The filters of a fetch; fetches with equal ones are answered together."""

    queues: tuple[str, ...]
    job_types: tuple[str, ...] | None = None
    tenant: str | None = None
    ability: Ability | None = None
    serving: ServingOrder | None = None


def is_shared(criteria: ClaimCriteria, sharing: Sharing) -> bool:
    """True if a claim needs fair sharing, so that one plain claim statement is not enough."""
    return sharing.tenancy or criteria.tenant is not None or criteria.serving is not None


def criteria_of(
    sharing: Sharing,
    criteria: ClaimCriteria,
    worker: Worker | None,
) -> ClaimCriteria:
    """Return the criteria restricted to the worker's pool, if it belongs to one."""
    if not sharing.pools:
        return criteria
    member = None if worker is None else declared(profile_of(worker))
    pool = sharing.pools.get(member or "")
    closed = {
        queue
        for name, pool in sharing.pools.items()
        if pool.isolated and name != member
        for queue in pool.queues
    }
    queues = tuple(
        queue
        for queue in criteria.queues
        if queue not in closed and (pool is None or queue in pool.queues)
    )
    serving = criteria.serving if pool is None else ServingOrder(member)
    return msgspec.structs.replace(criteria, queues=queues, serving=serving)


def pool_of(criteria: ClaimCriteria, sharing: Sharing) -> Pool | None:
    """Return the pool whose rules a claim follows, or one made from the FETCH itself."""
    if criteria.serving is None:
        return None
    if criteria.serving.pool is not None:
        return sharing.pools.get(criteria.serving.pool)
    return Pool(
        criteria.queues, strategy=criteria.serving.strategy, weights=dict(criteria.serving.weights)
    )


def startable_tenants(claims: Iterable[ClaimCriteria], sharing: Sharing) -> Mapping[str, Tenant]:
    """Return the limited tenants whose jobs these claims may start; a claim without a tenant may
    start any."""
    names = [criteria.tenant for criteria in claims]
    return limited_tenants(sharing, None if None in names else [name for name in names if name])


def order_of(
    work: Work, criteria: ClaimCriteria, pool: Pool, active: Mapping[str, int]
) -> PoolOrder:
    """Return the order of a pool's queues; it continues where the last claim of this node ended."""
    named = criteria.serving is not None and criteria.serving.pool
    name = f"pool:{named}" if named else f"queues:{','.join(sorted(criteria.queues))}"
    note = partial(_note_starved, work, named or None)
    return PoolOrder(
        pool, work.schedulers.of(name), work.schedulers.guard(name), active, work.now, note
    )


def _note_starved(work: Work, pool: str | None, queue: str) -> None:
    work.note(events.of_queue("scheduling.queue_starved", queue, pool=pool))


def claim(
    work: Work,
    criteria: ClaimCriteria,
    limit: int,
    capacities: Mapping[str, int],
    kept: Sequence[Claimed],
    order: QueueOrder,
) -> list[Claimed]:
    """Claim up to `limit` more jobs; `capacities` are the bounds of counters, including `kept`."""
    if criteria.tenant is not None and not work.tx.sharing.tenancy:
        # No job has ever had a tenant.
        return []
    taken: list[Claimed] = []
    lost: set[str] = set()
    allowed = requirements.allowed_demands(
        work.tx, criteria.queues, criteria.job_types, criteria.ability
    )
    passed = 0 if allowed is None else MOST_PASSED
    for _ in range(LOOKS):
        used = Counter(name for claimed in (*kept, *taken) for name in counters_of(claimed.job))
        missing = limit - len(taken)
        found = work.tx.waiting(_lanes(work, criteria), missing + len(lost) + passed)
        chosen = choose(
            (
                candidate
                for candidate in found
                if candidate.id not in lost and may_run(criteria.ability, candidate.demand)
            ),
            criteria.queues,
            missing,
            order=order,
            tenants=work.tx.sharing.tenants,
            capacities={name: count - used[name] for name, count in capacities.items()},
            schedulers=work.schedulers,
        )
        places = {candidate.id: place for place, candidate in enumerate(chosen)}
        got = work.tx.claim_chosen(list(places)) if places else []
        taken += sorted(got, key=lambda claimed: places[claimed.job.id])
        if len(got) == len(chosen):
            break
        lost |= places.keys() - {claimed.job.id for claimed in got}
    return taken


def _lanes(work: Work, criteria: ClaimCriteria) -> list[Lane]:
    tenants: list[tuple[str, str | None]]
    if criteria.tenant is not None:
        tenants = [(queue, criteria.tenant) for queue in criteria.queues]
    else:
        # Include jobs without a tenant, which were stored before there were any.
        tenants = [(queue, None) for queue in criteria.queues]
        if work.tx.sharing.tenancy:
            tenants += _tenants(work, criteria.queues)
    return [
        Lane(queue, tenant, job_type)
        for (queue, tenant), job_type in product(tenants, criteria.job_types or (None,))
    ]


def _tenants(work: Work, queues: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return the tenants of queues to consider now: a hundred of each, in turn."""
    left_off = {queue: work.schedulers.left_off(queue) for queue in queues}
    found = work.tx.tenants_waiting(left_off, MOST_TENANTS)
    again = [queue for queue, name in left_off.items() if name]
    if again:
        # The scan began in the middle, so continue at the first tenant.
        found += work.tx.tenants_waiting(dict.fromkeys(again, ""), MOST_TENANTS)
    by_queue: dict[str, dict[str, None]] = {queue: {} for queue in queues}
    for queue, tenant in found:
        by_queue[queue][tenant] = None
    for queue, names in by_queue.items():
        seen = list(names)[:MOST_TENANTS]
        work.schedulers.leave_off(queue, seen[-1] if len(seen) == MOST_TENANTS else "")
        yield from ((queue, tenant) for tenant in seen)
