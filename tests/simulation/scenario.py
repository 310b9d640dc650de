"""A scenario: all that a simulation is given, drawn from a seed or read from a file.

Faults and acts are lists, so that a scenario can be made smaller without moving what is left. Each
component draws from a stream of chance of its own, so that a new draw in one moves no other.
"""

import random
from typing import Any, Literal

import msgspec

from tests.simulation.machine.threads import Pace


def stream(seed: int, name: str) -> random.Random:
    """Return the stream of chance of one component."""
    return random.Random(f"{seed} {name}")


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong at a time, for a time.

    `target` is a process or host (`node1`, `worker2`), or two hosts with a `|` between them;
    `level` says how strong it is.
    """

    at: float
    kind: str
    target: str = ""
    lasts: float = 0.0
    level: float = 0.0


class Act(msgspec.Struct, frozen=True):
    """Something that a client does at a time; `what` depends on the kind."""

    at: float
    client: int
    kind: str
    what: dict[str, Any] = {}


class Options(msgspec.Struct, frozen=True):
    """The mix of a scenario."""

    nodes: int = 1
    # True if the nodes share a database; otherwise there is one node, with a file of its own.
    shared: bool = False
    workers: int = 2
    concurrency: int = 4
    clients: int = 2
    # Subject of most of the scenario.
    profile: str = "mixed"
    storm_s: float = 60.0
    pace: Pace = Pace()
    # Settings of the workers.
    wake: Literal["poll", "stream"] = "poll"
    heartbeat_s: float = 5.0
    # Length of the leases that workers ask for.
    lease_s: float = 30.0
    # Events that wait for a reader of a stream that is slow.
    stream_buffer: int = 1000
    # Longest time without a session of a worker that held one; 0 if the servers have no sessions.
    session_grace_s: float = 0.0


class Scenario(msgspec.Struct, frozen=True):
    """One simulation."""

    seed: int
    options: Options
    faults: list[Fault] = []
    acts: list[Act] = []
