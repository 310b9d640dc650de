"""Apply the changes of a transaction to limits, and wake callers that they held up."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.jobs.job import WAITING, Change, Job, State
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.queues.config import Bounds
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.limits.rate_limits import RateLimits
from ojs_server.store.records import BYTES


class LimitListener:
    """Listens to the ledger of a transaction for the limits of keys, queues and tenants."""

    def __init__(self, ledger: Ledger, rate_limits: RateLimits) -> None:
        self._ledger = ledger
        self._rate_limits = rate_limits
        self.added = rate_limits.added
        self.moved = rate_limits.moved
        self.removed = rate_limits.removed

    def changed(self, changes: Sequence[Change]) -> None:
        """Pass changes to the rate limits, and wake fetches that wait for running jobs to end."""
        self._rate_limits.changed(changes)
        tx = self._ledger.tx
        if tx.configs or tx.sharing.tenants:
            for change in changes:
                if change.before.state == State.ACTIVE and self._is_counted(change.before):
                    self._ledger.wakes[change.before.queue] += 1

    def flush(self) -> None:
        """Write the limits that have changed."""
        if self._ledger.tx.configs:
            self._note_freed()
        self._rate_limits.save()

    def _is_counted(self, job: Job) -> bool:
        """True if the number of running jobs is limited for the job's queue or tenant."""
        config = self._ledger.tx.configs.get(job.queue)
        tenant = self._ledger.tx.sharing.tenants.get(job.tenant or "")
        return (config is not None and config.policy.concurrency is not None) or (
            tenant is not None and tenant.max_concurrency is not None
        )

    def _note_freed(self) -> None:
        """Wake the producers that wait for bounded queues that have become shorter."""
        ledger, configs = self._ledger, self._ledger.tx.configs
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
        if not fallen:
            return
        self._rate_limits.update(OF_QUEUE + name for name in fallen)
        high = [
            name
            for name in fallen
            if self._rate_limits.row(OF_QUEUE + name).waits_since is not None
        ]
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
                row = self._rate_limits.row(OF_QUEUE + name)
                self._rate_limits.put(msgspec.structs.replace(row, waits_since=None))
                bound = fallen[name].depth or fallen[name].bytes
                ledger.note(events.of_queue("backpressure.cleared", name, depth=depth, bound=bound))
