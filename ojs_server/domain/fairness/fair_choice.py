"""Choose the jobs that a claim takes where tenants share queues.

Queues are served in the order given; in a queue the highest priority first; within a priority the
tenants take turns, and each tenant's jobs are taken first in, first out.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Final, NamedTuple, Protocol

from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.tenants.tenant import DEFAULT, Tenant, scoped

_PLAIN: Final = Tenant()


class Candidate(NamedTuple):
    """A job that a claim may choose."""

    id: str
    queue: str
    tenant: str | None
    priority: int
    seq: int
    demand: str | None = None


class QueueOrder(Protocol):
    """An order in which queues are served."""

    def next(self, queues: Sequence[str]) -> str:
        """Return the next queue of those that have jobs, given in the requested order."""


class InOrder:
    """The order of the request: the first queue that has jobs."""

    def next(self, queues: Sequence[str]) -> str:
        """Return the first queue."""
        return queues[0]


class _Shelf:
    """The waiting jobs of one queue by priority and tenant."""

    def __init__(self, queue: str, tenants: Mapping[str, Tenant], schedulers: Schedulers) -> None:
        self._scheduler = schedulers.of(f"tenants:{queue}")
        self._tenants = tenants
        self._weights = {name: tenant.fairness_weight for name, tenant in tenants.items()}
        self._levels: defaultdict[int, defaultdict[str, deque[Candidate]]] = defaultdict(
            lambda: defaultdict(deque)
        )

    def put(self, candidate: Candidate) -> None:
        """Add a job; jobs are added in the order of their positions."""
        tenant = candidate.tenant or DEFAULT
        level = candidate.priority + self._tenants.get(tenant, _PLAIN).priority_boost
        self._levels[level][tenant].append(candidate)

    def take(self, capacities: Mapping[str, int]) -> Candidate | None:
        """Take the next job of a tenant that may run one more."""
        for level in sorted(self._levels, reverse=True):
            jobs = self._levels[level]
            wanting = [
                name
                for name, own in jobs.items()
                if own and capacities.get(scoped(name, ""), 1) > 0
            ]
            if wanting:
                return jobs[self._scheduler.take(wanting, self._weights)].popleft()
        return None


def choose(
    candidates: Iterable[Candidate],
    queues: Sequence[str],
    limit: int,
    *,
    order: QueueOrder,
    tenants: Mapping[str, Tenant],
    capacities: MutableMapping[str, int],
    schedulers: Schedulers,
) -> list[Candidate]:
    """Choose up to `limit` jobs, in the order in which they are delivered.

    `capacities` says how many more jobs may run where that is limited, by the names of counters.
    """
    candidates = set(candidates)
    there = {candidate.queue for candidate in candidates}
    shelves = {queue: _Shelf(queue, tenants, schedulers) for queue in queues if queue in there}
    for candidate in sorted(candidates, key=lambda waiting: (-waiting.priority, waiting.seq)):
        shelves[candidate.queue].put(candidate)
    chosen: list[Candidate] = []
    left = list(shelves)
    while len(chosen) < limit and (left := [name for name in left if capacities.get(name, 1) > 0]):
        queue = order.next(left)
        if (taken := shelves[queue].take(capacities)) is None:
            left.remove(queue)
            continue
        chosen.append(taken)
        for name in (queue, scoped(taken.tenant or DEFAULT, "")):
            if name in capacities:
                capacities[name] -= 1
    return chosen
