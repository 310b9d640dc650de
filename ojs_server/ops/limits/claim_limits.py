"""Apply rate limits to claims: limits of queues before a claim, limits of rate keys after it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from ojs_server.domain.fairness.fair_choice import InOrder, QueueOrder
from ojs_server.domain.fairness.sharing import guards, limited_pools
from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.ops.fairness import requirements
from ojs_server.ops.fairness.fair_claim import (
    ClaimCriteria,
    is_shared,
    order_of,
    pool_of,
    startable_tenants,
)
from ojs_server.ops.fairness.fair_claim import claim as claim_shared
from ojs_server.ops.limits.rate_limits import guarded
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import Claimed

# Repetitions of a claim whose jobs are refused by the limits of their keys.
ROUNDS: Final = 100

# Claims up to a number of further jobs, besides those already kept.
Claims = Callable[[int, Sequence[Claimed]], list[Claimed]]


class LimitedClaims:
    """Applies limits to the claims of one transaction."""

    def __init__(self, work: Work, claims: Sequence[ClaimCriteria]) -> None:
        """Lock the limits of these claims' queues, tenants and pools, if there are any."""
        self._work = work
        configs, sharing = work.tx.configs, work.tx.sharing
        queues = [queue for criteria in claims for queue in criteria.queues]
        self._limited = {name for name in queues if name in configs and configs[name].limits}
        tenants = startable_tenants(claims, sharing) if sharing.tenants else {}
        self._tenants = {
            scoped(name, ""): tenant.max_concurrency
            for name, tenant in tenants.items()
            if tenant.max_concurrency is not None
        }
        # Include queues with only a bound: the claim shortens them, and this is the place of their
        # limits in the order of locks.
        pools = limited_pools(sharing) if any(criteria.serving for criteria in claims) else []
        work.update_limits(
            [*(guarded(configs, queues) if configs else ()), *guards(tenants, pools)]
        )
        # Read under the locks: other claims from these queues have committed, or wait for them.
        counters = self._limited | self._tenants.keys()
        for pool in (pool_of(criteria, sharing) for criteria in claims):
            counters |= set(() if pool is None else pool.queues)
        self._loads = work.tx.queue_loads(counters) if counters else {}

    def take(self, criteria: ClaimCriteria, limit: int) -> list[Claimed]:
        """Claim up to this many jobs that all limits allow."""
        if is_shared(criteria, self._work.tx.sharing):
            return self._take_shared(criteria, limit)
        if self._limited.isdisjoint(criteria.queues):
            return self._take(criteria, limit)
        taken: list[Claimed] = []
        for names in self._stretches(criteria.queues):
            left = limit - len(taken)
            if left <= 0:
                break
            part = msgspec.structs.replace(criteria, queues=tuple(names))
            if names[0] in self._limited:
                taken += self._take_limited(part, left)
            else:
                taken += self._take(part, left)
        return taken

    def _stretches(self, queues: Sequence[str]) -> Iterator[list[str]]:
        """Yield the queues in order: limited ones alone, the others between them together."""
        free: list[str] = []
        for name in queues:
            if name in self._limited:
                if free:
                    yield free
                yield [name]
                free = []
            else:
                free.append(name)
        if free:
            yield free

    def _take_limited(self, criteria: ClaimCriteria, limit: int) -> list[Claimed]:
        (queue,) = criteria.queues
        free = limits.capacity(self._row(queue), self._work.now)
        taken: list[Claimed] = []
        if free.count != 0:
            taken = self._take(criteria, limit if free.count is None else min(limit, free.count))
        self._started(queue, len(taken))
        return taken

    def _take_shared(self, criteria: ClaimCriteria, limit: int) -> list[Claimed]:
        work = self._work
        order: QueueOrder = InOrder()
        if (pool := pool_of(criteria, work.tx.sharing)) is not None:
            active = {queue: self._active(queue) for queue in pool.queues}
            if pool.concurrency is not None:
                limit = max(0, min(limit, pool.concurrency - sum(active.values())))
            order = order_of(work, criteria, pool, active)
        capacities = {
            name: max(0, most - self._active(name)) for name, most in self._tenants.items()
        }
        limited = sorted(self._limited.intersection(criteria.queues))
        for queue in limited:
            free = limits.capacity(self._row(queue), work.now)
            if free.count is not None:
                capacities[queue] = free.count
        taken = self._admitted(
            criteria,
            limit,
            lambda count, kept: claim_shared(work, criteria, count, capacities, kept, order),
        )
        for queue in limited:
            self._started(queue, sum(one.job.queue == queue for one in taken))
        return taken

    def _started(self, queue: str, count: int) -> None:
        """Count starts in a limited queue, and schedule the wake-up for when it may start more."""
        row = self._row(queue)
        row = limits.start(row, self._work.now, count) if count else row
        free = limits.capacity(row, self._work.now)
        opens_at = free.opens_at if free.count == 0 else None
        self._work.expect_here(opens_at)
        self._work.rate_limits.put(msgspec.structs.replace(row, active=0, opens_at=opens_at))

    def _row(self, queue: str) -> Limit:
        """Return the queue's limit, with its running jobs by the store's count and this
        transaction's."""
        return msgspec.structs.replace(
            self._work.rate_limits.row(OF_QUEUE + queue),
            policy=self._work.tx.configs[queue].policy,
            active=self._active(queue),
        )

    def _active(self, counter: str) -> int:
        load = self._loads.get(counter)
        return (load.active if load else 0) + self._work.pending(counter, "active")

    def _take(self, criteria: ClaimCriteria, limit: int) -> list[Claimed]:
        tx = self._work.tx
        return self._admitted(
            criteria,
            limit,
            lambda count, kept: requirements.claim(
                tx, criteria.queues, criteria.job_types, criteria.ability, count
            ),
        )

    def _admitted(self, criteria: ClaimCriteria, limit: int, claim: Claims) -> list[Claimed]:
        """Claim jobs until the limits of their keys admit enough of them."""
        work = self._work
        kept: list[Claimed] = []
        for _ in range(ROUNDS):
            claimed = claim(limit - len(kept), kept)
            if not any(one.job.rate_key is not None for one in claimed):
                return kept + claimed
            admitted, back = work.rate_limits.admit(claimed)
            kept += admitted
            if len(kept) >= limit or not (work.rate_limits.update() or back):
                return kept
        for queue in criteria.queues:
            work.wakes[queue] += 1
        return kept
