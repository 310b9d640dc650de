"""Metrics of jobs, counted from the events of this node's commits."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec
from prometheus_client import CollectorRegistry

from ojs_server.domain.event_buffer import EventBuffer, Labels
from ojs_server.domain.jobs.job import Event
from ojs_server.observe.tallies import Tally, Times

# Most values of a label with series of their own: clients choose the values, and series are never
# removed.
MAX_SERIES: Final = 1000
OTHER: Final = "other"
# Not a valid name of a tenant.
OTHERS: Final = "_other"

_COUNTED: Final = {
    "job.enqueued": ("ojs_job_enqueued", "Jobs enqueued."),
    "job.completed": ("ojs_job_completed", "Jobs completed."),
    "job.discarded": ("ojs_job_failed", "Jobs discarded."),
    "job.retrying": ("ojs_job_retried", "Attempts that failed and will be retried."),
    "job.cancelled": ("ojs_job_cancelled", "Jobs cancelled."),
    "job.expired": ("ojs_job_expired", "Jobs discarded because they were not started in time."),
}
_OF_QUEUE: Final = {
    "backpressure.rejected": (
        "ojs_backpressure_rejected",
        "Jobs refused because their queue was full.",
    ),
    "scheduling.queue_starved": (
        "ojs_scheduling_starvation_events",
        "Turns given to queues that had waited too long.",
    ),
    "backpressure.dropped": (
        "ojs_backpressure_dropped",
        "Jobs dropped to make room for newer ones.",
    ),
}
_OF_TENANT: Final = {
    "job.enqueued": ("ojs_tenant_jobs_enqueued", "Jobs of a tenant enqueued."),
    "job.completed": ("ojs_tenant_jobs_completed", "Jobs of a tenant completed."),
    "job.discarded": ("ojs_tenant_jobs_failed", "Jobs of a tenant discarded."),
}
_RUNS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_WAITS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600)
# Events that end a duration, with the state of the attempt; a start ends the wait.
_TIMED: Final = {"job.started": "", "job.completed": "completed", "job.failed": "failed"}
# Events that are more than counted.
_LOOKED_AT: Final = frozenset({*_TIMED, *_OF_QUEUE})

Label = TypeVar("Label")


class _Rejected(msgspec.Struct):
    rejected: int = 1


_rejected: Final = msgspec.json.Decoder(_Rejected)


class Bounded(dict[Label, Label]):
    """The values of a label: the first ones up to a maximum, and one for all others."""

    def __init__(self, other: Label) -> None:
        super().__init__()
        self._other = other

    def __missing__(self, value: Label) -> Label:
        """Return a new value, or the one that replaces it."""
        if len(self) >= MAX_SERIES:
            return self._other
        self[value] = value
        return value


class JobMetrics:
    """The counters and histograms of jobs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        pair = ("queue", "type")
        self._counters = {
            kind: Tally(name, text, pair, registry=registry)
            for kind, (name, text) in _COUNTED.items()
        }
        self._of_queue = {
            kind: Tally(name, text, ("queue",), registry=registry)
            for kind, (name, text) in _OF_QUEUE.items()
        }
        self._durations = Times(
            "ojs_job_duration_seconds",
            "Run time of attempts, by result.",
            (*pair, "state"),
            buckets=_RUNS,
            registry=registry,
        )
        self._waits = Times(
            "ojs_job_queue_time_seconds",
            "Time from joining the queue to the start.",
            pair,
            buckets=_WAITS,
            registry=registry,
        )
        self._of_tenant = {
            kind: Tally(name, text, ("tenant_id",), registry=registry)
            for kind, (name, text) in _OF_TENANT.items()
        }
        self._dispatched = Tally(
            "ojs_scheduling_dispatch",
            "Jobs handed to workers of a pool.",
            ("pool", "queue"),
            registry=registry,
        )
        self._pool_waits = Times(
            "ojs_scheduling_queue_wait_duration_seconds",
            "Waiting time of jobs handed to workers of a pool.",
            ("pool",),
            buckets=_WAITS,
            registry=registry,
        )
        self._pairs = Bounded((OTHER, OTHER))
        self._of_pools = Bounded((OTHER, OTHER))
        self._tenants = Bounded(OTHERS)

    def observe(self, events: EventBuffer, counts: Mapping[Labels, int]) -> None:
        """Count the events of a commit."""
        any_looked_at = False
        for (kind, queue, job_type, tenant), count in counts.items():
            if kind in self._counters:
                self._counters[kind].add(self._pairs[queue or "", job_type or ""], count)
            if tenant is not None and kind in self._of_tenant:
                self._of_tenant[kind].add((self._tenants[tenant],), count)
            any_looked_at = any_looked_at or kind in _LOOKED_AT
        if any_looked_at:
            self._look_at(events.of(_LOOKED_AT))

    def _look_at(self, events: Iterable[Event]) -> None:
        """Observe the durations that these events carry."""
        for event in events:
            kind, pair = event.type, self._pairs[event.queue or "", event.job_type or ""]
            if event.took_ms is not None:
                if state := _TIMED[kind]:
                    self._durations.observe((*pair, state), event.took_ms / 1000)
                else:
                    self._waits.observe(pair, event.took_ms / 1000)
            if event.pool is not None:
                self._by_pool(event, event.pool)
            elif kind in self._of_queue:
                count = _rejected.decode(event.own).rejected
                self._of_queue[kind].add((pair[0],), count)

    def _by_pool(self, event: Event, name: str) -> None:
        pool, queue = self._of_pools[name, event.queue or ""]
        self._dispatched.add((pool, queue))
        if event.took_ms is not None:
            self._pool_waits.observe((pool,), event.took_ms / 1000)
