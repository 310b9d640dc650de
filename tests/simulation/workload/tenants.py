"""Draw the acts of tenants."""

import random
from collections.abc import Sequence
from typing import Any

from tests.simulation.scenario import Act, Options, stream
from tests.simulation.workload import channels

NAMES = ("acme", "umbra", "zeta")


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts; a part of all scenarios has none."""
    chance = stream(seed, "workload tenants")
    if chance.random() < 0.7:
        return []
    names = NAMES[: chance.choice((1, 2, 3))]
    acts: list[Act] = []

    def act(at: float, kind: str, **what: Any) -> None:
        client = chance.randrange(options.clients)
        what = {"tenant": chance.choice(names), **what}
        acts.append(Act(round(at, 3), client, f"tenant {kind}", what))

    number = chance.choice((10, 30, 60))
    for index in range(number):
        at = chance.random() * options.storm_s
        act(at, "enqueue", **_job(chance, f"t{index}"))
    for _ in range(number // 2):
        at = chance.random() * options.storm_s
        kind = chance.choice(("get", "get", "cancel", "list", "search", "events", "stats"))
        act(at, kind, key=f"t{chance.randrange(number)}")
    for _ in range(chance.choice((0, 1, 2))):
        client = chance.randrange(options.clients)
        what = {"tenant": chance.choice(names), "start": chance.choice(("beginning", "now"))}
        acts.append(Act(round(chance.random() * 20, 3), client, "follow", what))
    for _ in range(chance.choice((0, 1, 3))):
        act(chance.random() * options.storm_s, "limit", limits=_limits(chance))
    return [*acts, *_channels(seed, options, names, number)]


def _channels(seed: int, options: Options, names: Sequence[str], jobs: int) -> list[Act]:
    """Return readers of channels, perhaps of a job of another tenant."""
    chance = stream(seed, "workload channels of tenants")
    acts: list[Act] = []
    for number in range(chance.choice((0, 1, 2))):
        kinds = chance.sample(("all", "events", "queue:default"), 2)
        found = [channels.channel(chance, kind) for kind in kinds]
        found.append({**channels.channel(chance, "job"), "key": f"t{chance.randrange(jobs)}"})
        tenant = chance.choice(names)
        acts += channels.reader(chance, options, f"ws{tenant}{number}", found, tenant=tenant)
    return acts


def _job(chance: random.Random, key: str) -> dict[str, Any]:
    fails = chance.choice((0, 0, 0, 1))
    return {
        "type": "work",
        "args": [key, round(chance.random() ** 3 * 10, 3), fails],
        "options": {"queue": chance.choice(("default", "other"))},
    }


def _limits(chance: random.Random) -> dict[str, Any]:
    return chance.choice(
        (
            {"max_concurrency": 1},
            {"max_concurrency": 2},
            {"max_queue_depth": 3},
            {"max_concurrency": 1, "max_queue_depth": 5},
            {"max_enqueue_rate": {"limit": 3, "period": "PT5S"}},
            {"priority_boost": 10, "fairness_weight": 3},
        )
    )
