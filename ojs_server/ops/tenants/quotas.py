"""Quotas of tenants for enqueues: depth, rate, and scheduled jobs.

The row of a limited tenant is locked first, so that only one node at a time checks and adds.
Tenants without limits are not checked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import TenantFull
from ojs_server.domain.fairness.sharing import guards, limited_tenants
from ojs_server.domain.jobs.job import WAITING, State
from ojs_server.domain.limits import limit_state as limits
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import Policy
from ojs_server.domain.tenants.tenant import DEFAULT, OF_TENANT, scoped
from ojs_server.ops.limits.backpressure import RETRY_AFTER_S, Newcomers
from ojs_server.ops.unit_of_work import Work

_JOBS: Final = "jobs"
_DEPTH: Final = "depth"


class Quotas:
    """Checks the enqueues of one transaction against the quotas of their tenants."""

    def __init__(self, work: Work, newcomers: Iterable[Newcomers]) -> None:
        self._work = work
        self._tenants = limited_tenants(
            work.tx.sharing,
            {name for new in newcomers for name in _named(new)} if work.tx.sharing.tenants else (),
        )
        self._used: dict[str, Counter[str]] = {}
        self._refused: dict[str, TenantFull] = {}
        if self._tenants:
            work.rate_limits.lock(guards(self._tenants), {})
            loads = work.tx.queue_loads([scoped(name, "") for name in self._tenants])
            for name in self._tenants:
                load = loads.get(scoped(name, ""))
                stored = Counter(
                    {_DEPTH: load.depth, State.SCHEDULED: load.scheduled} if load else {}
                )
                # The stored counters do not include jobs added by this transaction.
                for state in WAITING:
                    stored[_DEPTH] += work.pending(scoped(name, ""), state)
                stored[State.SCHEDULED] += work.pending(scoped(name, ""), State.SCHEDULED)
                self._used[name] = stored

    def refusal(self, new: Newcomers) -> TenantFull | None:
        """Return the error if a quota does not allow the whole request."""
        for name, more in self._needed(new).items():
            tenant = self._tenants[name]
            for field, kind, most in (
                ("max_queue_depth", _DEPTH, tenant.max_queue_depth),
                ("max_scheduled", State.SCHEDULED, tenant.max_scheduled),
            ):
                current = self._used[name][kind]
                if most is not None and more[kind] > 0 and current + more[kind] > most:
                    return self._full(name, field, current, most, RETRY_AFTER_S)
            if tenant.max_enqueue_rate is not None:
                row, now = self._row(name), self._work.now
                capacity = limits.capacity(row, now)
                if capacity.count is not None and more[_JOBS] > capacity.count:
                    opens_at = capacity.opens_at or limits.resets_at(row, now) or now
                    wait_s = max(RETRY_AFTER_S, -(-(opens_at - now) // 1000))
                    current = limits.started(row, now)
                    most = tenant.max_enqueue_rate.limit
                    return self._full(name, "max_enqueue_rate", current, most, wait_s)
        return None

    def add(self, new: Newcomers) -> None:
        """Count an admitted request."""
        for name, more in self._needed(new).items():
            self._used[name].update(more)
            if self._tenants[name].max_enqueue_rate is not None and more[_JOBS]:
                # An enqueue counts as a start for the rate, but not as a running job.
                row = limits.start(self._row(name), self._work.now, more[_JOBS])
                self._work.rate_limits.put(msgspec.structs.replace(row, active=0))

    def close(self) -> None:
        """Emit one event for each tenant with refused requests."""
        for name, error in sorted(self._refused.items()):
            self._work.note(events.of_tenant("tenant.limit_exceeded", name, error.details or {}))

    def _needed(self, new: Newcomers) -> Mapping[str, Counter[str]]:
        if not self._tenants:
            return {}
        needed = {name: Counter[str]() for name in self._tenants}
        moves = [(stored.job, 1) for stored in new.jobs]
        moves += [(change.before, -1) for change in new.replaced]
        for job, by in moves:
            if (counts := needed.get(job.tenant or DEFAULT)) is not None:
                counts[_JOBS] += by > 0
                counts[_DEPTH] += by * (job.state in WAITING)
                counts[State.SCHEDULED] += by * (job.state == State.SCHEDULED)
        for name in new.later:
            if (counts := needed.get(name or DEFAULT)) is not None:
                counts[_JOBS] += 1
        return needed

    def _row(self, name: str) -> Limit:
        policy = Policy(rate=self._tenants[name].max_enqueue_rate)
        return msgspec.structs.replace(self._work.rate_limits.row(OF_TENANT + name), policy=policy)

    def _full(self, name: str, limit: str, current: int, most: int, wait_s: int) -> TenantFull:
        error = TenantFull(
            f"tenant {name} has reached its `{limit}`: {current} of {most}",
            details={"tenant_id": name, "limit": limit, "current": current, "maximum": most},
            headers={"Retry-After": str(wait_s)},
        )
        self._refused[name] = error
        return error


def require_room(work: Work, new: Newcomers) -> None:
    """Check enqueues other than requests for jobs against quotas; raise if one is exceeded."""
    if not work.tx.sharing.tenants:
        return
    quotas = Quotas(work, [new])
    refusal = quotas.refusal(new)
    quotas.close()
    if refusal is not None:
        raise refusal
    quotas.add(new)


def _named(new: Newcomers) -> Iterator[str]:
    for name in (*(stored.job.tenant for stored in new.jobs), *new.later):
        yield name or DEFAULT
