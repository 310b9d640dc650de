"""All budgets: what each measures, its bounds, and how long it takes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from benchmarks.budgets import (
    fleets,
    long,
    pages,
    postgres,
    socketio,
    streams,
    transactions,
    workers,
)
from benchmarks.stand import STORES, StoreKind, Values

# A bound of all stores, or of each.
Bound = float | Mapping[StoreKind, float]
NONE: Final[Mapping[str, Bound]] = {}


class Figure(msgspec.Struct, frozen=True):
    """One value that was measured, and its bounds."""

    budget: str
    store: StoreKind
    name: str
    value: float
    most: float | None = None
    least: float | None = None

    @property
    def kept(self) -> bool:
        """True if the value is within its bounds."""
        above = self.most is not None and self.value > self.most
        below = self.least is not None and self.value < self.least
        return not (above or below)

    def line(self) -> str:
        """The figure as a line of text."""
        bounds = {"at most": self.most, "at least": self.least}
        told = [f"{word} {bound:,g}" for word, bound in bounds.items() if bound is not None]
        verdict = f"  ({' and '.join(told)}{'' if self.kept else ': NOT KEPT'})" if told else ""
        return f"{self.budget:<13}{self.store:<10}{self.name:<52}{self.value:>12,.2f}{verdict}"


class Budget(msgspec.Struct, frozen=True):
    """A measurement; its arguments are the sizes that a command may change."""

    measure: Callable[..., Values | Awaitable[Values]]
    takes: str
    # By the names of figures.
    most: Mapping[str, Bound] = NONE
    least: Mapping[str, Bound] = NONE
    stores: tuple[StoreKind, ...] = STORES

    def judged(self, name: str, store: StoreKind, values: Values) -> list[Figure]:
        """Return what was measured with its bounds, each of which must have a figure."""
        if unmeasured := (self.most.keys() | self.least.keys()) - values.keys():
            raise LookupError(f"{name}: not measured, but bounded: {', '.join(unmeasured)}")
        most, least = (
            {each: _of(bound, store) for each, bound in some.items()}
            for some in (self.most, self.least)
        )
        return [
            Figure(name, store, each, value, most.get(each), least.get(each))
            for each, value in values.items()
        ]


def _of(bound: Bound, store: StoreKind) -> float:
    return bound[store] if isinstance(bound, Mapping) else bound


NO_LOSS: Final = dict.fromkeys(streams.LOSSES, 0)
IN_CPU: Final = "of that without JIT, in CPU"

BUDGETS: Final = {
    "steady": Budget(
        fleets.steady,
        "2 minutes",
        most={
            "100 waiting workers, server, % of a core": 2,
            "100 waiting workers, database, % of a core": 2,
            "from 201 to the worker, p50, ms": 5,
            "1,000 workers' heartbeats, server, % of a core": 25,
            "1,000 workers' heartbeats, database, % of a core": 25,
        },
    ),
    "gateway": Budget(
        fleets.gateway,
        "1 minute",
        most={"waiting calls, % of a core": 2, "p50, in those of the FETCH": 2},
    ),
    "overload": Budget(
        fleets.overload,
        "1 minute",
        most={"answers other than 201 and 503 with Retry-After": 0},
    ),
    "announce": Budget(
        socketio.announce,
        "1 minute",
        most={"from the request to the announcement, p50, ms": 50},
    ),
    "strangers": Budget(
        socketio.strangers,
        "4 minutes",
        most={"visits not served": 0},
        stores=("sqlite",),
    ),
    "streams": Budget(streams.streams, "1 minute", most=NO_LOSS | {"memory grew by, MB": 200}),
    "foreign": Budget(
        postgres.foreign,
        "1 minute",
        most={
            "late, p50 beside, in that alone": 2,
            "late, p99 beside, in that alone": 2,
            "events lost": 0,
            "events lost beside": 0,
            "pages a claim beside, in those alone": 1.5,
        },
        stores=("postgres",),
    ),
    "jit": Budget(
        postgres.jit,
        "10 minutes",
        least={f"{phase}, {IN_CPU}": 0.85 for phase in postgres.PHASES},
        stores=("postgres",),
    ),
    "outage": Budget(
        postgres.outage, "2 minutes", most={"the slowest, s": 10}, stores=("postgres",)
    ),
    "transactions": Budget(
        transactions.transactions,
        "1 minute",
        most={"from the request of a COMMIT, in that of an enqueue": 3},
        stores=("postgres",),
    ),
    "worker": Budget(
        workers.worker, "2 minutes", least={"jobs/s": {"sqlite": 4000, "postgres": 3000}}
    ),
    "transport": Budget(workers.transport, "3 minutes", stores=("sqlite",)),
    "peers": Budget(workers.peers, "1 minute", stores=("postgres",)),
    "prefork": Budget(
        workers.prefork,
        "2 minutes",
        least={"two bare to one": 1.1, "two to one, in what is to reach here": 1},
    ),
    "dashboard": Budget(
        pages.dashboard,
        "1 minute",
        most={"all files as they travel, bytes": 150_000, "first paint, median, ms": 300},
        stores=("sqlite",),
    ),
    "moving": Budget(
        pages.moving,
        "10 minutes",
        most={
            "more with live pages, % of a core": 3,
            "overview grew by, MB": 5,
            "jobs grew by, MB": 5,
        },
        stores=("sqlite",),
    ),
    "depth": Budget(
        long.depth, "20 minutes", most={"all waiting, in those beside few": 1.5, "memory, MB": 200}
    ),
    "soak": Budget(long.soak, "20 minutes"),
    "scheduled": Budget(long.scheduled, "4 minutes"),
    "bloat": Budget(long.bloat, "20 minutes", most={"last file, in the first": 1.5}),
}
