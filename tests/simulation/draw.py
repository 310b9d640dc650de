"""Draw a scenario from a seed: its mix, its faults and its acts."""

import random
from typing import NamedTuple

import msgspec

from tests.simulation.machine.threads import Pace
from tests.simulation.scenario import Fault, Options, Scenario, stream
from tests.simulation.workload import drawn as workload

# Faults of a shared database, with a rate each.
STORE_FAULTS = {
    "busy": "busy",
    "unreachable": "unreachable",
    "connection lost": "lost",
    "stale": "stale",
    "unknown, carried out": "carried_out",
    "unknown, not carried out": "not_carried_out",
    "unanswered": "unanswered",
    "read lost": "reads_lost",
}


class Kind(NamedTuple):
    """A kind of fault: how often in a minute, for how long, and how strong."""

    name: str
    targets: str
    often: float
    lasts: tuple[float, ...]
    levels: tuple[float, ...] = (0.0,)
    # True if only nodes that share a database have it, False if only those that do not.
    shared: bool | None = None


KINDS = (
    Kind("kill", "processes", 2, (0.1, 1.0, 5.0, 40.0)),
    Kind("power", "nodes", 0.7, (1.0, 10.0), shared=False),
    Kind("stop", "processes", 1, (0.5, 5.0)),
    Kind("freeze", "processes", 2, (0.05, 0.5, 4.0, 12.0, 45.0)),
    Kind("suspend", "processes", 1, (2.0, 20.0, 50.0)),
    Kind("quiet", "workers", 0.7, (0.2, 2.0, 20.0)),
    Kind("clock", "processes", 1, (0.0,), (-3600.0, -30.0, -2.0, -0.3, 0.3, 2.0, 30.0, 3600.0)),
    Kind("partition", "links", 1.5, (0.5, 3.0, 12.0, 40.0)),
    Kind("break before", "", 1, (3.0, 20.0), (0.02, 0.1, 0.3)),
    Kind("break after", "", 1, (3.0, 20.0), (0.02, 0.1, 0.3)),
    Kind("late", "", 1, (5.0, 30.0), (0.01, 0.05)),
    Kind("repeat", "", 1.5, (20.0, 60.0), (0.3, 1.0)),
    Kind("slow", "", 1, (5.0, 30.0), (0.02, 0.2, 1.0)),
    Kind("disk write", "", 0.6, (0.3, 3.0, 10.0), shared=False),
    Kind("disk full", "", 0.6, (0.3, 3.0, 10.0), shared=False),
    Kind("disk sync", "", 0.6, (0.3, 3.0, 10.0), shared=False),
    *(Kind(name, "", 1, (1.0, 10.0, 30.0), (0.02, 0.1, 0.4), shared=True) for name in STORE_FAULTS),
    Kind("away", "", 0.7, (0.5, 3.0, 15.0, 45.0), shared=True),
    Kind("hold", "nodes", 1, (1.0, 6.0, 20.0), shared=True),
    Kind("listener", "nodes", 1, (0.0,), shared=True),
    Kind("notices lost", "", 1, (5.0, 40.0), (0.1, 0.5, 1.0), shared=True),
    Kind("notices late", "", 1, (5.0, 40.0), (0.1, 0.5), shared=True),
    Kind("notices doubled", "", 1, (5.0, 40.0), (0.3,), shared=True),
    # The target of webhooks: the level is a rate, or the longest time to an answer.
    Kind("hook fails", "", 1, (5.0, 40.0), (0.1, 0.5, 1.0)),
    Kind("hook gives up", "", 0.5, (5.0, 20.0), (0.1,)),
    Kind("hook slow", "", 1, (5.0, 40.0), (0.5, 10.0, 60.0)),
    Kind("hook away", "", 1, (2.0, 20.0)),
)


# Shares of the storm without faults, one of which is drawn: only where nothing disturbs can it be
# told that something was slow.
CALM = (0, 0, 0, 0, 0, 0, 0.5, 1)

# Faults of scenarios that are about one thing, in which each of them comes often.
PROFILES = {
    "crash": ("kill", "power", "stop", "disk write", "disk full", "disk sync"),
    "time": ("freeze", "suspend", "clock", "slow", "late", "quiet"),
    "network": ("partition", "break before", "break after", "late", "repeat", "slow"),
    "store": (
        *STORE_FAULTS,
        *("away", "hold", "listener", "notices lost", "notices late", "notices doubled"),
    ),
}


def draw(seed: int, nodes: int | None = None, profile: str = "mixed") -> Scenario:
    """Return the scenario of a seed; `nodes` says how many share a database, None draws that."""
    options = msgspec.structs.replace(
        _options(stream(seed, "options"), nodes),
        profile=profile,
        session_grace_s=stream(seed, "session grace").choice((0.0, 0.0, 2.0, 8.0)),
    )
    return Scenario(
        seed,
        options,
        _faults(seed, options),
        workload.acts(seed, options),
    )


def _options(chance: random.Random, nodes: int | None) -> Options:
    count = chance.choice((1, 1, 2, 3)) if nodes is None else nodes
    return Options(
        nodes=count,
        shared=count > 1 or (nodes is None and chance.random() < 0.2),
        workers=chance.choice((1, 2, 2, 3)),
        concurrency=chance.choice((1, 2, 4, 8)),
        clients=chance.choice((1, 2, 3)),
        storm_s=chance.choice((60.0, 90.0, 150.0)),
        pace=Pace(
            (0.0002, chance.choice((0.001, 0.005, 0.03))),
            (0.0005, chance.choice((0.002, 0.02, 0.2))),
        ),
        wake=chance.choice(("poll", "poll", "stream")),
        heartbeat_s=chance.choice((2.0, 5.0, 10.0)),
        lease_s=chance.choice((10.0, 30.0, 120.0)),
        stream_buffer=chance.choice((1000, 1000, 15)),
    )


def _faults(seed: int, options: Options) -> list[Fault]:
    """Draw each kind from a stream of its own; most scenarios have few kinds, and much of them."""
    nodes = [f"node{number}" for number in range(1, options.nodes + 1)]
    workers = [f"worker{number}" for number in range(1, options.workers + 1)]
    clients = [f"client{number}" for number in range(options.clients)]
    calm_s = 0.0
    if options.profile not in PROFILES:
        calm_s = stream(seed, "calm").choice(CALM) * options.storm_s
    faults: list[Fault] = []
    for kind in KINDS:
        if kind.shared not in (None, options.shared):
            continue
        chance = stream(seed, f"fault {kind.name}")
        share = chance.choice((0, 0, 0, 0.5, 1, 2))
        if options.profile in PROFILES:
            share = 1 + share if kind.name in PROFILES[options.profile] else 0
        often = share * kind.often * options.storm_s / 60
        for _ in range(int(often) + (chance.random() < often % 1)):
            faults.append(
                Fault(
                    at=round(1 + chance.random() * (options.storm_s - 2), 3),
                    kind=kind.name,
                    target=_target(chance, kind.targets, nodes, workers, clients),
                    lasts=round(chance.choice(kind.lasts) * (0.5 + chance.random()), 3),
                    level=chance.choice(kind.levels),
                )
            )
    return sorted((one for one in faults if one.at >= calm_s), key=lambda fault: fault.at)


def _target(
    chance: random.Random, kind: str, nodes: list[str], workers: list[str], clients: list[str]
) -> str:
    if kind == "nodes":
        return chance.choice(nodes)
    if kind == "workers":
        return chance.choice(workers)
    if kind == "processes":
        return chance.choice([*nodes, *workers])
    if kind == "links":
        between = chance.choice(("|", "|", ">"))
        ends = [chance.choice([*workers, *clients]), chance.choice(nodes)]
        return between.join(ends if chance.random() < 0.5 or between == "|" else ends[::-1])
    return ""
