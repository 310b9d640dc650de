"""Transitions, answers and outcomes that a simulation has reached, counted by name.

A state that no seed reaches is one in which no oracle sees anything.
"""

from collections import Counter
from functools import cache

from ojs_server.http.admission import Admission
from ojs_server.http.paths import Paths
from ojs_server.http.routes import ROUTES
from tests.simulation.oracles import rows
from tests.simulation.world import World


def reached(world: World) -> Counter[str]:
    """Count what was reached; the first word of a name is its subject."""
    counts: Counter[str] = Counter()
    # The last event about each job, worker, workflow and so on.
    last: dict[tuple[str, str], str] = {}
    for row in rows.of(world, "SELECT type, subject FROM events ORDER BY pos"):
        kind, _, event = row["type"].partition(".")
        before = last.get((kind, row["subject"]), "new")
        last[kind, row["subject"]] = event
        counts[f"{kind} {before} → {event}"] += 1
    for exchange in world.ledger.exchanges:
        path = exchange.path.partition("?")[0]
        counts[f"http {exchange.status} {_route(exchange.method, path)}"] += 1
    for told in world.ledger.told:
        outcome = f"{told.outcome} {told.code}" if told.code else told.outcome
        counts[f"act {told.kind}: {outcome}"] += 1
    for followed in world.ledger.followed:
        for frame in followed.frames:
            if frame.id is None:
                counts[f"reader {followed.kind}: {frame.event}"] += 1
    for start in world.ledger.starts:
        counts[f"run {start.outcome or 'cut off'}"] += 1
    return counts


@cache
def paths() -> Paths:
    """Return the paths of the server."""
    return Paths(ROUTES, Admission())


def _route(method: str, path: str) -> str:
    """Return the method and the pattern of a path."""
    found = paths().find(path)
    route = None if found is None else found[0].get(method)
    return f"{method} {'(none)' if route is None else route.path}"
