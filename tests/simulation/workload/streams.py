"""Draw the acts about streams, and the jobs that report their progress."""

import random
from typing import Any

from tests.simulation.scenario import Act, Options, stream

FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"types": ["job.completed", "job.failed"]},
    {"types": ["job.*"]},
    {"types": ["workflow.*", "cron.*", "worker.*"]},
    {"queues": ["other"]},
    {"queues": ["default", "other"], "types": ["job.enqueued", "job.started"]},
    {"job_types": ["work", "step"]},
)


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    chance = stream(seed, "workload streams")
    acts: list[Act] = []
    for _ in range(chance.choice((0, 1, 2, 5))):
        at = chance.random() ** 2 * options.storm_s * 0.8
        kind = chance.choice(("follow", "follow", "follow pages"))
        what = dict(chance.choice(FILTERS))
        if kind == "follow":
            what["start"] = chance.choice(("beginning", "now"))
        acts.append(_act(chance, options, at, kind, what))
    if chance.random() < 0.15:
        at = chance.random() * options.storm_s
        acts.append(_act(chance, options, at, "follow statistics", {}))
    for number in range(chance.choice((0, 0, 3, 8))):
        acts += _reporting(chance, options, f"r{number}")
    return acts


def _reporting(chance: random.Random, options: Options, key: str) -> list[Act]:
    """Return the life of a job that reports its progress, and those who look at it."""
    at = chance.random() * options.storm_s
    reports = chance.choice((1, 3, 10))
    args = [key, round(chance.random() * 15, 3), reports, chance.choice((0, 0, 1))]
    job = {"type": "report", "args": args, "options": {"retry": 3}}
    acts = [_act(chance, options, at, "enqueue", job)]
    for _ in range(chance.choice((0, 2, 5))):
        later = at + chance.random() * 25
        acts.append(_act(chance, options, later, "progress", {"key": key}))
    for kind in ("follow progress", "follow job"):
        if chance.random() < 0.4:
            later = at + chance.random() ** 2 * 20
            acts.append(_act(chance, options, later, kind, {"key": key}))
    return acts


def _act(
    chance: random.Random, options: Options, at: float, kind: str, what: dict[str, Any]
) -> Act:
    return Act(round(at, 3), chance.randrange(options.clients), kind, what)
