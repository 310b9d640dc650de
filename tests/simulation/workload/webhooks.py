"""Draw the acts about webhooks."""

import random
from typing import Any

from tests.simulation.scenario import Act, Options, stream

EVENTS: tuple[list[str], ...] = (
    ["job.completed"],
    ["job.completed", "job.failed", "job.discarded"],
    ["job.*"],
    ["*"],
    ["workflow.*", "cron.*"],
)


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts; a part of all scenarios has none."""
    chance = stream(seed, "workload webhooks")
    if chance.random() < 0.65:
        return []
    acts: list[Act] = []
    for number in range(chance.choice((1, 2, 3))):
        acts += _life(chance, options, f"h{number}")
    return acts


def _life(chance: random.Random, options: Options, name: str) -> list[Act]:
    """Return the making of a subscription, and what is done with it later."""

    def act(at: float, kind: str, **what: Any) -> Act:
        return Act(round(at, 3), chance.randrange(options.clients), kind, {"name": name, **what})

    at = chance.random() ** 2 * options.storm_s * 0.7
    members: dict[str, Any] = {
        "events": chance.choice(EVENTS),
        "secret": f"secret-{chance.getrandbits(48):x}",
    }
    if chance.random() < 0.3:
        members["filter"] = chance.choice(({"queues": ["other"]}, {"job_types": ["work"]}))
    if chance.random() < 0.2:
        members["format"] = "cloudevents"
    acts = [act(at, "hook subscribe", **members)]
    while (at := at + 4 + chance.random() * 30) < options.storm_s and chance.random() < 0.7:
        kind = chance.choice(("pause", "pause", "rotate", "test", "deliveries", "replay", "end"))
        match kind:
            case "pause":
                acts.append(act(at, "hook change", members={"active": False}))
                later = at + 1 + chance.random() * 15
                acts.append(act(later, "hook change", members={"active": True}))
                at = later
            case "rotate":
                acts.append(act(at, "hook rotate", secret=f"secret-{chance.getrandbits(48):x}"))
            case "end":
                acts.append(act(at, "hook delete"))
                break
            case _:
                acts.append(act(at, f"hook {kind}"))
    return acts
