"""Draw the acts about workflows."""

import random
from typing import Any

from tests.simulation.scenario import Act, Options, stream


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts; a part of all scenarios has none."""
    chance = stream(seed, "workload workflows")
    if chance.random() < 0.45:
        return []
    acts: list[Act] = []
    for number in range(chance.choice((2, 6, 12))):
        acts += _life(chance, options, f"f{number}")
    return acts


def _life(chance: random.Random, options: Options, name: str) -> list[Act]:
    """Return the start of one workflow, and what is done with it later."""

    def act(at: float, kind: str, **what: Any) -> Act:
        return Act(round(at, 3), chance.randrange(options.clients), kind, {"name": name, **what})

    at = chance.random() * options.storm_s
    if chance.random() < 0.35:
        acts = [act(at, "flow start graph", flow={"name": name, "steps": _graph(chance, name)})]
    else:
        flow = {**_definition(chance, name, 0), "name": name}
        acts = [act(at, "flow start", flow=flow)]
    for _ in range(chance.choice((0, 1, 3))):
        kind = chance.choice(("flow get", "flow get", "flow progress", "flow list"))
        acts.append(act(at + chance.random() * 40, kind))
    if chance.random() < 0.3:
        acts.append(act(at + chance.random() ** 2 * 30, "flow cancel"))
    if chance.random() < 0.25:
        acts.append(act(at + 5 + chance.random() * 60, "flow retry"))
    return acts


def _definition(chance: random.Random, key: str, depth: int) -> dict[str, Any]:
    kind = chance.choice(("chain", "chain", "group", "batch"))
    members = [
        _member(chance, f"{key}.{number}", depth) for number in range(chance.choice((1, 2, 3, 4)))
    ]
    made: dict[str, Any] = {"type": kind, "members": members}
    if kind == "batch":
        names = ("on_complete", "on_success", "on_failure")
        chosen = [name for name in names if chance.random() < 0.6] or [chance.choice(names)]
        made["callbacks"] = {name: _member(chance, f"{key}.{name}", depth) for name in chosen}
    return made


def _member(chance: random.Random, key: str, depth: int) -> dict[str, Any]:
    if depth < 2 and chance.random() < 0.2:
        return _definition(chance, key, depth + 1)
    return _job(chance, key)


def _graph(chance: random.Random, key: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for number in range(chance.choice((2, 3, 5, 7))):
        step = {"id": f"s{number}", **_job(chance, f"{key}.{number}")}
        needs = [f"s{other}" for other in range(number) if chance.random() < 0.4]
        if needs:
            step["depends_on"] = needs
        steps.append(step)
    return steps


def _job(chance: random.Random, key: str) -> dict[str, Any]:
    attempts = chance.choice((1, 2, 3))
    # About one step in eight fails for good.
    fails = chance.choice((0, 0, 0, 0, 0, 1, 1, 3))
    return {
        "type": "step",
        "args": [key, round(chance.random() ** 3 * 8, 3), fails],
        "options": {
            "queue": chance.choice(("default", "default", "other")),
            "retry": attempts,
            "priority": chance.choice((0, 0, 5)),
        },
    }
