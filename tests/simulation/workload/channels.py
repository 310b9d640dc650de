"""Draw the readers of WebSocket channels."""

import random
from typing import Any

from tests.simulation.machine.websocket import NARROW, WIDE
from tests.simulation.scenario import Act, Options, stream

# Acts of readers; some are drawn more often.
DEEDS = ("rest", "rest", "break off", "close", "go back", "subscribe again", "subscribe again")
TYPES: tuple[list[str], ...] = (
    ["job.completed", "job.failed"],
    ["job.*"],
    ["workflow.*", "cron.*", "worker.*"],
    ["job.started"],
    ["job.state_changed"],
)


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    chance = stream(seed, "workload channels")
    acts: list[Act] = []
    for number in range(chance.choice((0, 0, 1, 2))):
        acts += reader(chance, options, f"ws{number}", _channels(chance))
    return acts


def reader(
    chance: random.Random,
    options: Options,
    name: str,
    channels: list[dict[str, Any]],
    **more: Any,
) -> list[Act]:
    """Return the acts of a reader of some channels."""
    at = chance.random() ** 2 * options.storm_s * 0.8
    client = chance.randrange(options.clients)
    what = {
        "name": name,
        "host": chance.randrange(3),
        "start": chance.choice(("beginning", "now")),
        "window": chance.choice((NARROW, WIDE)),
        "rereads": chance.random() < 0.5,
        "channels": channels,
        **more,
    }
    acts = [Act(round(at, 3), client, "follow channels", what)]
    for _ in range(chance.choice((0, 2, 5, 10))):
        later = round(at + chance.random() * (options.storm_s - at), 3)
        what = {"name": name, "seconds": round(chance.random() ** 2 * 25, 3)}
        acts.append(Act(later, client, f"channels {chance.choice(DEEDS)}", what))
    return acts


def _channels(chance: random.Random) -> list[dict[str, Any]]:
    names = chance.sample(
        ("all", "events", "queue:default", "queue:other"), chance.choice((1, 2, 4))
    )
    channels = [channel(chance, name) for name in names]
    if chance.random() < 0.3:
        channels.append({**channel(chance, "job"), "key": f"r{chance.randrange(3)}"})
    return channels


def channel(chance: random.Random, name: str) -> dict[str, Any]:
    """Return a channel, perhaps with a filter."""
    found: dict[str, Any] = {
        "channel": name,
        "format": chance.choice(("realtime", "catalogue")),
    }
    if name.startswith("queue:"):
        found["queues"] = [name.partition(":")[2]]
    elif name != "job" and chance.random() < 0.2:
        found["queues"] = chance.choice((["other"], ["default", "other"]))
    if chance.random() < 0.3:
        found["types"] = chance.choice(TYPES)
    return found
