"""Metrics of jobs, counted from the events of this node's commits."""

from collections import Counter as Tally
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram

from ojs_server.domain.job import Event

# So many values of a label have series of their own. Clients choose them, and a series is never
# forgotten.
MAX_SERIES: Final = 1000
OTHER: Final = "other"
# No tenant can be called so.
OTHERS: Final = "_other"

_COUNTED: Final = {
    "job.enqueued": ("ojs_job_enqueued", "Jobs that joined their queue as new."),
    "job.completed": ("ojs_job_completed", "Jobs whose result was accepted."),
    "job.discarded": ("ojs_job_failed", "Jobs that are not tried again."),
    "job.retrying": ("ojs_job_retried", "Attempts that failed and are followed by another one."),
    "job.cancelled": ("ojs_job_cancelled", "Jobs that were called off."),
    "job.expired": ("ojs_job_expired", "Jobs that were not started in time."),
}
_OF_QUEUE: Final = {
    "backpressure.rejected": ("ojs_backpressure_rejected", "Jobs that found their queue full."),
    "scheduling.queue_starved": (
        "ojs_scheduling_starvation_events",
        "Turns of queues that had waited too long for one.",
    ),
    "backpressure.dropped": ("ojs_backpressure_dropped", "Jobs that made room for newer ones."),
}
_OF_TENANT: Final = {
    "job.enqueued": ("ojs_tenant_jobs_enqueued", "Jobs of a tenant that joined their queue."),
    "job.completed": ("ojs_tenant_jobs_completed", "Jobs of a tenant whose result was accepted."),
    "job.discarded": ("ojs_tenant_jobs_failed", "Jobs of a tenant that are not tried again."),
}
# What only events of tenants' jobs have in them: others need not be read.
_OWNED: Final = b'"tenant_id":'
_RUNS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_WAITS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600)
# With the state in which an attempt ended; a start ends the wait.
_TIMED: Final = {"job.started": "", "job.completed": "completed", "job.failed": "failed"}

Pair = tuple[str, str]
Label = TypeVar("Label")


class _Told(msgspec.Struct):
    """The members of events that are measured."""

    duration_ms: int | None = None
    queue_time_ms: int | None = None
    rejected: int = 1
    tenant_id: str | None = None
    pool: str | None = None


_told: Final = msgspec.json.Decoder(_Told)


class Bounded(Generic[Label]):
    """The values that a label may have: the first so many, and one for all others."""

    def __init__(self, other: Label) -> None:
        self._known: set[Label] = set()
        self._other = other

    def of(self, value: Label) -> Label:
        """The value, or the one that stands for it."""
        if value not in self._known:
            if len(self._known) >= MAX_SERIES:
                return self._other
            self._known.add(value)
        return value


class JobMetrics:
    """The counters and histograms of jobs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        pair = ("queue", "type")
        self._counters = {
            kind: Counter(name, text, pair, registry=registry)
            for kind, (name, text) in _COUNTED.items()
        }
        self._of_queue = {
            kind: Counter(name, text, ("queue",), registry=registry)
            for kind, (name, text) in _OF_QUEUE.items()
        }
        self._durations = Histogram(
            "ojs_job_duration_seconds",
            "How long attempts ran, by how they ended.",
            (*pair, "state"),
            buckets=_RUNS,
            registry=registry,
        )
        self._waits = Histogram(
            "ojs_job_queue_time_seconds",
            "Time from joining the queue to the start.",
            pair,
            buckets=_WAITS,
            registry=registry,
        )
        self._of_tenant = {
            kind: Counter(name, text, ("tenant_id",), registry=registry)
            for kind, (name, text) in _OF_TENANT.items()
        }
        self._dispatched = Counter(
            "ojs_scheduling_dispatch",
            "Jobs that members of a pool were handed.",
            ("pool", "queue"),
            registry=registry,
        )
        self._pool_waits = Histogram(
            "ojs_scheduling_queue_wait_duration_seconds",
            "How long jobs had waited that members of a pool were handed.",
            ("pool",),
            buckets=_WAITS,
            registry=registry,
        )
        self._pairs = Bounded((OTHER, OTHER))
        self._of_pools = Bounded((OTHER, OTHER))
        self._tenants = Bounded(OTHERS)
        self._children: dict[tuple[str, Pair], Histogram] = {}

    def observe(self, events: Sequence[Event]) -> None:
        """What a commit did to jobs."""
        tally: Tally[tuple[str, Pair]] = Tally()
        for event in events:
            kind = event.type
            if kind in self._counters:
                tally[kind, self._pair(event)] += 1
            if kind in self._of_tenant and _OWNED in event.data:
                tenant = _told.decode(event.data).tenant_id
                if tenant is not None:
                    self._of_tenant[kind].labels(self._tenants.of(tenant)).inc()
            if kind in _TIMED:
                told = _told.decode(event.data)
                took = told.queue_time_ms if kind == "job.started" else told.duration_ms
                if took is not None:
                    self._times(kind, self._pair(event)).observe(took / 1000)
                if told.pool is not None:
                    self._by_pool(told.pool, event.queue or "", took)
            elif kind in self._of_queue:
                queue = self._pair(event)[0]
                self._of_queue[kind].labels(queue).inc(_told.decode(event.data).rejected)
        for (kind, pair), count in tally.items():
            self._counters[kind].labels(*pair).inc(count)

    def _by_pool(self, name: str, queue: str, waited_ms: int | None) -> None:
        pool, queue = self._of_pools.of((name, queue))
        self._dispatched.labels(pool, queue).inc()
        if waited_ms is not None:
            self._pool_waits.labels(pool).observe(waited_ms / 1000)

    def _times(self, kind: str, pair: Pair) -> Histogram:
        times = self._children.get((kind, pair))
        if times is None:
            # Looking a child up by its labels costs more than observing.
            state = _TIMED[kind]
            times = self._durations.labels(*pair, state) if state else self._waits.labels(*pair)
            self._children[kind, pair] = times
        return times

    def _pair(self, event: Event) -> Pair:
        return self._pairs.of((event.queue or "", event.job_type or ""))
