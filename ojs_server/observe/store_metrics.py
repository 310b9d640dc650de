"""Metrics of the database connection: its availability for writes, and lost connections."""

from collections.abc import Iterator, Sequence

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from ojs_server.domain.admin.vacuum_holder import VacuumHolder
from ojs_server.ops.engine.engine import Engine


class StoreState(msgspec.Struct, frozen=True):
    """State of a node's database at a moment."""

    writable: bool = True
    waiting_writes: int = 0
    lost_connections: int = 0
    unknown_outcomes: int = 0
    vacuum_holders: Sequence[VacuumHolder] = ()


def state_of(engine: Engine) -> StoreState:
    """Return the state of an engine's database as it is now."""
    return StoreState(
        writable=engine.writable,
        waiting_writes=engine.depth,
        lost_connections=engine.store.lost_connections,
        unknown_outcomes=engine.availability.unknown,
        vacuum_holders=engine.vacuum_holders,
    )


class StoreMetrics(Collector):
    """The state that was observed last, in the form of Prometheus."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._state = StoreState()
        registry.register(self)

    def observe(self, state: StoreState) -> None:
        """Set the present state."""
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Return all metrics, for the registry."""
        state = self._state
        yield GaugeMetricFamily(
            "ojs_store_writable",
            "1 while the database accepts writes, else 0.",
            value=float(state.writable),
        )
        yield GaugeMetricFamily(
            "ojs_store_waiting_writes",
            "Changes that wait for their transaction at this node.",
            value=state.waiting_writes,
        )
        yield CounterMetricFamily(
            "ojs_store_reconnects",
            "Connections to the database that were lost and replaced.",
            value=state.lost_connections,
        )
        yield CounterMetricFamily(
            "ojs_store_unknown_outcomes",
            "Changes answered with an error although they may have been stored.",
            value=state.unknown_outcomes,
        )
        held = GaugeMetricFamily(
            "ojs_store_vacuum_held_seconds",
            "For how long something has kept the database from removing old row versions.",
            labels=("kind", "name", "application", "user"),
        )
        for holder in state.vacuum_holders:
            held.add_metric(
                (holder.kind, holder.name, holder.application or "", holder.user or ""),
                holder.held_s,
            )
        yield held
