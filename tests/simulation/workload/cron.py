"""Draw the acts about cron entries."""

import random
from typing import Any

from tests.simulation.scenario import Act, Options, stream

# With seconds, with minutes, and at even intervals.
EXPRESSIONS = (
    "*/2 * * * * *",
    "*/5 * * * * *",
    "*/10 * * * * *",
    "* * * * *",
    "@every 1s",
    "@every 3s",
    "@every 7s",
)
POLICIES = ("skip", "allow", "cancel_previous", "enqueue")


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts; a part of all scenarios has none."""
    chance = stream(seed, "workload cron")
    if chance.random() < 0.6:
        return []
    acts: list[Act] = []
    for number in range(chance.choice((1, 2, 4))):
        acts += _life(chance, options, f"c{number}")
    return acts


def _life(chance: random.Random, options: Options, name: str) -> list[Act]:
    """Return the registration of an entry, and what is done with it later."""

    def act(at: float, kind: str, **what: Any) -> Act:
        return Act(round(at, 3), chance.randrange(options.clients), kind, {"name": name, **what})

    # An entry keeps its policy, so that it is known by which one a run was judged.
    policy = chance.choice(POLICIES)

    def put(at: float, expression: str) -> Act:
        seconds = round(chance.random() ** 2 * 15, 3)
        job = {"type": "work", "args": [f"cron-{name}", seconds, chance.choice((0, 0, 0, 1))]}
        return act(at, "cron put", expression=expression, overlap=policy, **job)

    expression = chance.choice(EXPRESSIONS)
    at = chance.random() * options.storm_s / 2
    acts = [put(at, expression)]
    while (at := at + 3 + chance.random() * 25) < options.storm_s:
        kind = chance.choice(("pause", "delete", "trigger", "trigger", "replace", "get", "history"))
        match kind:
            case "pause":
                acts.append(act(at, "cron pause"))
                acts.append(act(at + 1 + chance.random() * 15, "cron resume"))
            case "delete":
                acts.append(act(at, "cron delete"))
                acts.append(put(at + 1 + chance.random() * 15, chance.choice(EXPRESSIONS)))
            case "replace":
                acts.append(put(at, chance.choice((expression, chance.choice(EXPRESSIONS)))))
            case _:
                acts.append(act(at, f"cron {kind}"))
    return acts
