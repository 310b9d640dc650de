"""Prometheus metrics: activity of this node, and the state of the store."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.workers.worker import Presence
from ojs_server.observe.job_metrics import MAX_SERIES, OTHER, OTHERS, Bounded, JobMetrics
from ojs_server.observe.store_metrics import StoreMetrics
from ojs_server.observe.tallies import Tally, Times

CONTENT_TYPE = CONTENT_TYPE_LATEST

_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_PRESENCES = {f"worker.{presence}": str(presence) for presence in Presence}


class Metrics:
    """The metrics registry of one node; not global, so that two servers fit into one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.jobs = JobMetrics(self._registry)
        self.store = StoreMetrics(self._registry)
        self._requests = Tally(
            "ojs_http_requests",
            "Requests answered, by route and status.",
            ("route", "status"),
            registry=self._registry,
        )
        self._wrong_keys = Counter(
            "ojs_wrong_keys",
            "Keys that were wrong, by the status of the answer.",
            ("status",),
            registry=self._registry,
        )
        self._closed_sessions = Counter(
            "ojs_socketio_closed",
            "Sessions of Socket.IO that the server refused or closed, by reason.",
            ("reason",),
            registry=self._registry,
        )
        self._latency = Times(
            "ojs_http_request_duration_seconds",
            "Time from a request's headers to its answer, without waiting fetches.",
            ("route",),
            buckets=_LATENCIES,
            registry=self._registry,
        )
        self._depth = Gauge(
            "ojs_queue_depth",
            "Jobs in the store by queue and state.",
            ("queue", "state"),
            registry=self._registry,
        )
        self._tenants = Gauge(
            "ojs_tenant_queue_depth",
            "Jobs in the store by tenant and state.",
            ("tenant_id", "state"),
            registry=self._registry,
        )
        self._pool_jobs = Gauge(
            "ojs_scheduling_pool_active",
            "Jobs that run in the queues of a pool.",
            ("pool",),
            registry=self._registry,
        )
        self._pool_use = Gauge(
            "ojs_scheduling_pool_utilization",
            "Running jobs of a pool relative to its limit, from 0 to 1.",
            ("pool",),
            registry=self._registry,
        )
        self._workers = Gauge(
            "ojs_workers_presence",
            "Workers by presence.",
            ("presence",),
            registry=self._registry,
        )
        self._presences = Counter(
            "ojs_workers_presence_changes",
            "Changes of workers to online, unreachable, offline or deleted.",
            ("presence",),
            registry=self._registry,
        )

        self._busy = Gauge(
            "ojs_workers_busy",
            "Workers that hold jobs, by the queues that they serve.",
            ("queue",),
            registry=self._registry,
        )
        self._pressure = Gauge(
            "ojs_backpressure_pressure",
            "Fill level of bounded queues, from 0 to 1.",
            ("queue",),
            registry=self._registry,
        )
        self._enqueues = Times(
            "ojs_job_enqueue_duration_seconds",
            "Time to store the jobs of a request, by the queue of the first.",
            ("queue",),
            buckets=_LATENCIES,
            registry=self._registry,
        )
        self._enqueued_to = Bounded(OTHER)
        self._webhooks = Gauge(
            "ojs_webhook_subscriptions",
            "Subscriptions to webhooks.",
            registry=self._registry,
        )

        self._waiting = Gauge(
            "ojs_waiting_fetches",
            "Fetches of this node that wait for a job.",
            registry=self._registry,
        )

        self._streams = Gauge(
            "ojs_event_streams",
            "Event streams that are open at this node.",
            registry=self._registry,
        )

        self._closed = Counter(
            "ojs_connections_closed",
            "Connections that were closed or refused because a port had too many.",
            ("port",),
            registry=self._registry,
        )

        self._deliveries = Counter(
            "ojs_webhook_deliveries",
            "Attempts to deliver a webhook, by event type and result.",
            ("event_type", "status"),
            registry=self._registry,
        )
        self._delivery_times = Histogram(
            "ojs_webhook_delivery_duration_seconds",
            "Response time of webhook targets.",
            registry=self._registry,
            buckets=_LATENCIES,
        )

    def connections_closed(self, port: str) -> Callable[[int], None]:
        """Return the counter of the connections that a bound of a port has closed."""
        return self._closed.labels(port).inc

    def observe_delivery(self, event_type: str, status: str, seconds: float) -> None:
        """One attempt to deliver a webhook."""
        self._deliveries.labels(event_type, status).inc()
        self._delivery_times.observe(seconds)

    def observe_streams(self, count: int) -> None:
        """Set the number of open event streams."""
        self._streams.set(count)

    def observe_waiting(self, count: int) -> None:
        """Set the number of waiting fetches."""
        self._waiting.set(count)

    def observe_request(self, route: str, status: int, seconds: float | None) -> None:
        """One answer; `seconds` is None where the time says nothing."""
        self._requests.add((route, status))
        if seconds is not None:
            self._latency.observe((route,), seconds)

    def observe_wrong_key(self, status: int) -> None:
        """Count a wrong key, by the status of its answer."""
        self._wrong_keys.labels(str(status)).inc()

    def observe_closed_session(self, reason: str) -> None:
        """Count a session of Socket.IO that the server refused or closed."""
        self._closed_sessions.labels(reason).inc()

    def observe_queues(self, depth: Mapping[tuple[str, str], int]) -> None:
        """The depth of every queue, as of now."""
        self._depth.clear()
        for (queue, state), count in depth.items():
            self._depth.labels(queue, state).set(count)

    def observe_tenants(self, depth: Mapping[str, Mapping[str, int]]) -> None:
        """Set the depth of each tenant; those beyond a maximum are summed up."""
        self._tenants.clear()
        for place, name in enumerate(sorted(depth)):
            label = name if place < MAX_SERIES else OTHERS
            for state, count in depth[name].items():
                self._tenants.labels(label, state).inc(count)

    def observe_pools(self, active: Mapping[str, tuple[int, int | None]]) -> None:
        """Set the number of running jobs of each pool, and its limit."""
        self._pool_jobs.clear()
        self._pool_use.clear()
        for name in sorted(active)[:MAX_SERIES]:
            count, limit = active[name]
            self._pool_jobs.labels(name).set(count)
            if limit:
                self._pool_use.labels(name).set(count / limit)

    def observe_pressure(self, pressures: Mapping[str, float]) -> None:
        """Set the fill level of each bounded queue."""
        self._pressure.clear()
        for queue, pressure in pressures.items():
            self._pressure.labels(queue).set(pressure)

    def observe_workers(self, counts: Mapping[str, int], busy: Mapping[str, int]) -> None:
        """Workers by presence, and those that hold jobs by queue, as of now."""
        for presence, count in counts.items():
            self._workers.labels(presence).set(count)
        self._busy.clear()
        for queue, count in busy.items():
            self._busy.labels(queue).set(count)

    def observe_webhooks(self, count: int) -> None:
        """Set the number of webhook subscriptions."""
        self._webhooks.set(count)

    def observe_enqueue(self, queue: str, seconds: float) -> None:
        """One request's jobs were taken by the store."""
        self._enqueues.observe((self._enqueued_to[queue],), seconds)

    def observe_events(self, events: EventBuffer) -> None:
        """Count the events of a commit of this node: those of jobs, and of workers' presence."""
        counts = events.counts()
        self.jobs.observe(events, counts)
        for (kind, *_), count in counts.items():
            if kind in _PRESENCES:
                self._presences.labels(_PRESENCES[kind]).inc(count)

    def forget_stored(self) -> None:
        """Remove the figures that are read from the store, while it cannot be read."""
        for gauge in (
            *(self._depth, self._tenants, self._pool_jobs, self._pool_use),
            *(self._workers, self._busy, self._pressure),
        ):
            gauge.clear()

    def families(self) -> Iterable[Metric]:
        """All metrics, each with its samples."""
        return self._registry.collect()

    def render(self) -> bytes:
        """The exposition text."""
        return generate_latest(self._registry)
