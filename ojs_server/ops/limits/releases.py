"""Wake the callers that limits of queues and tenants held up, once room has been made."""

from collections.abc import Mapping, Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.jobs.job import WAITING, Change, Job, State
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.queues.config import Bounds
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.limits.rate_limits import RateLimits
from ojs_server.store.records import BYTES


def wake_limited(ledger: Ledger, changes: Sequence[Change]) -> None:
    """Wake fetches that wait for running jobs of limited queues and tenants to end."""
    for change in changes:
        if change.before.state == State.ACTIVE and _is_counted(ledger, change.before):
            ledger.wakes[change.before.queue] += 1


def _is_counted(ledger: Ledger, job: Job) -> bool:
    """True if the number of running jobs is limited for the job's queue or tenant."""
    config = ledger.tx.configs.get(job.queue)
    tenant = ledger.tx.sharing.tenants.get(job.tenant or "")
    return (config is not None and config.policy.concurrency is not None) or (
        tenant is not None and tenant.max_concurrency is not None
    )


def note_freed(ledger: Ledger) -> dict[str, Bounds]:
    """Wake the producers that wait for bounded queues that have become shorter; return these."""
    configs = ledger.tx.configs
    fallen: dict[str, Bounds] = {}
    for name in ledger.moved_queues():
        bounds = configs[name].bounds if name in configs else None
        if bounds is None:
            continue
        # Count all departures, not the net change: producers refused a moment ago have not seen
        # them.
        if bounds.strategy == "block" and ledger.departed[name]:
            ledger.freed[name] += ledger.departed[name]
        if sum(ledger.pending(name, state) for state in WAITING) < 0:
            fallen[name] = bounds
    return fallen


def note_cleared(ledger: Ledger, rate_limits: RateLimits, fallen: Mapping[str, Bounds]) -> None:
    """End the warnings about bounded queues that have become short enough."""
    rate_limits.update(OF_QUEUE + name for name in fallen)
    high = [name for name in fallen if rate_limits.row(OF_QUEUE + name).waits_since is not None]
    loads = ledger.tx.queue_loads(high) if high else {}
    for name in high:
        load = loads[name]
        depth = load.depth + sum(ledger.pending(name, state) for state in WAITING)
        size = load.bytes + ledger.pending(name, BYTES)
        if all(
            used < fallen[name].warning * bound
            for used, bound in ((depth, fallen[name].depth), (size, fallen[name].bytes))
            if bound is not None
        ):
            row = rate_limits.row(OF_QUEUE + name)
            rate_limits.put(msgspec.structs.replace(row, waits_since=None))
            bound = fallen[name].depth or fallen[name].bytes
            ledger.note(events.of_queue("backpressure.cleared", name, depth=depth, bound=bound))
