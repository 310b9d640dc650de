"""Pools: groups of queues that share workers, and the order in which workers serve the queues."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.fairness.weighted_fair import FairScheduler, StarvationGuard
from ojs_server.domain.fields import flag, object_of, parse_queue
from ojs_server.domain.limits.rate_limit import parse_count
from ojs_server.domain.suggestions import nearest, refuse_unknown
from ojs_wire.values import format_duration, kind_of, parse_duration

STRATEGIES: Final = ("strict", "round-robin", "weighted", "least-loaded")
DEFAULT_STRATEGY: Final = "round-robin"
MAX_QUEUES: Final = 100
MAX_WEIGHT: Final = 1000
# Prefix of the row that is locked to check a pool's concurrency.
OF_POOL: Final = "#pool:"
LABEL: Final = "pool:"
MEMBERS: Final = frozenset(
    {"name", "queues", "concurrency", "strategy", "weights", "isolated", "starvation_prevention"}
)
_STARVING: Final = frozenset({"enabled", "rotation_interval", "min_dispatch_ratio"})


class Starving(msgspec.Struct, frozen=True):
    """The bounds on a queue's waiting: the time, and the number of other queues' turns."""

    rotation_ms: int = 30_000
    least_share: float = 0.05

    def as_wire(self) -> dict[str, Any]:
        """Return it in the form of a request."""
        return {
            "enabled": True,
            "rotation_interval": format_duration(self.rotation_ms),
            "min_dispatch_ratio": self.least_share,
        }


class Pool(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pool. `isolated` keeps workers of no pool, or of another one, from its queues."""

    queues: tuple[str, ...]
    concurrency: int | None = None
    strategy: str = DEFAULT_STRATEGY
    weights: dict[str, int] = {}
    isolated: bool = False
    starving: Starving | None = None

    def as_wire(self) -> dict[str, Any]:
        """Return the pool with all its settings."""
        starving = {"enabled": False} if self.starving is None else self.starving.as_wire()
        return {
            "queues": list(self.queues),
            "concurrency": self.concurrency,
            "strategy": self.strategy,
            "weights": self.weights,
            "isolated": self.isolated,
            "starvation_prevention": starving,
        }


def parse_pool(body: Mapping[str, Any]) -> Pool:
    """Check a pool; `queues` is an array, or an object of weights by queue.

    Unknown members are always refused: ignoring one would share jobs in another way than the
    operator expects.
    """
    refuse_unknown("", body, MEMBERS)
    given = body.get("queues")
    weights: dict[str, int] = {}
    if isinstance(given, dict):
        for name, value in given.items():
            terms = object_of(f"queues.{name}", value) or {}
            refuse_unknown(f"queues.{name}.", terms, {"weight"})
            weights |= parse_weights(f"queues.{name}", {name: terms.get("weight", 1)})
    elif not isinstance(given, list):
        raise invalid("queues", f"must be an array or an object, not {kind_of(given)}")
    if not 0 < len(given) <= MAX_QUEUES:
        raise invalid("queues", f"must name 1 to {MAX_QUEUES} queues")
    queues = tuple(dict.fromkeys(parse_queue("queues", name) for name in given))
    weights |= parse_weights("weights", object_of("weights", body.get("weights")) or {})
    for name in weights:
        if name not in queues:
            raise invalid("weights", f"names {name}, which is not among the pool's queues")
    concurrency = body.get("concurrency")
    return Pool(
        queues,
        None if concurrency is None else parse_count("concurrency", concurrency, 0),
        parse_strategy("strategy", body.get("strategy")) or "round-robin",
        weights,
        flag(body, "isolated"),
        _starving(body.get("starvation_prevention")),
    )


def parse_strategy(field: str, value: object) -> str | None:
    """Check the name of a strategy."""
    if value is not None and value not in STRATEGIES:
        raise invalid(
            field,
            f"must be one of {', '.join(STRATEGIES)}{nearest(value, STRATEGIES)}",
            allowed=list(STRATEGIES),
        )
    return None if value is None else str(value)


def parse_weights(field: str, given: Mapping[str, Any]) -> dict[str, int]:
    """Check the weights of queues."""
    if len(given) > MAX_QUEUES:
        raise invalid(field, f"must name at most {MAX_QUEUES} queues")
    return {
        parse_queue(field, name): parse_count(f"{field}.{name}", value, 0, MAX_WEIGHT)
        for name, value in given.items()
    }


def declared(profile: Mapping[str, Any]) -> str | None:
    """Return the pool that a worker declares, by name or by a label such as `pool:critical`."""
    if profile.get("pool"):
        return str(profile["pool"])
    labels = [label for label in profile.get("labels") or () if label.startswith(LABEL)]
    return labels[0].removeprefix(LABEL) if labels else None


class PoolOrder:
    """The order of a pool's queues; `active` counts the running jobs of each."""

    def __init__(
        self,
        pool: Pool,
        scheduler: FairScheduler,
        guard: StarvationGuard,
        active: Mapping[str, int],
        now: int,
        starved: Callable[[str], None] = lambda queue: None,
    ) -> None:
        self._pool = pool
        self._scheduler = scheduler
        self._guard = guard
        self._active = dict(active)
        self._now = now
        self._starved = starved

    def next(self, queues: Sequence[str]) -> str:
        """Return the next queue of those that have jobs, given in the requested order."""
        queue = self._overdue(queues) or self._regular(queues)
        self._active[queue] = self._active.get(queue, 0) + 1
        self._guard.served(queue, self._now)
        return queue

    def _overdue(self, queues: Sequence[str]) -> str | None:
        rule = self._pool.starving
        if rule is None:
            return None
        turns = round(1 / rule.least_share)
        queue = self._guard.overdue(queues, self._now, rule.rotation_ms, turns)
        if queue is not None:
            self._starved(queue)
        return queue

    def _regular(self, queues: Sequence[str]) -> str:
        match self._pool.strategy:
            case "strict":
                return queues[0]
            case "least-loaded":
                return min(queues, key=lambda queue: self._active.get(queue, 0))
            case "weighted":
                return self._scheduler.take(queues, self._pool.weights)
            case _:
                return self._scheduler.take(queues, {})


def _starving(value: object) -> Starving | None:
    given = object_of("starvation_prevention", value) or {}
    refuse_unknown("starvation_prevention.", given, _STARVING)
    enabled = flag(given, "enabled")
    share = given.get("min_dispatch_ratio")
    if share is None:
        share = Starving().least_share
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.001 <= share <= 1:
        raise invalid(
            "starvation_prevention.min_dispatch_ratio", "must be a number from 0.001 to 1"
        )
    interval = given.get("rotation_interval")
    try:
        rotation_ms = Starving().rotation_ms if interval is None else parse_duration(interval, 1000)
    except ValueError as error:
        raise invalid("starvation_prevention.rotation_interval", str(error)) from None
    if rotation_ms <= 0:
        raise invalid("starvation_prevention.rotation_interval", "must be longer than zero")
    return Starving(rotation_ms, float(share)) if enabled else None
