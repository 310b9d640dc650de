"""Draw the acts about workers and servers."""

from typing import Any

from tests.simulation.scenario import Act, Options, stream

LOOKS = ("list", "get", "jobs", "health", "nodes", "statistics")


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    chance = stream(seed, "workload workers")
    acts: list[Act] = []

    def act(at: float, kind: str, **what: Any) -> None:
        acts.append(Act(round(at, 3), chance.randrange(options.clients), f"worker {kind}", what))

    for _ in range(chance.choice((0, 2, 8))):
        name = f"worker{1 + chance.randrange(options.workers)}"
        act(chance.random() * options.storm_s, chance.choice(LOOKS), worker=name)
    if chance.random() < 0.65:
        return acts
    for _ in range(chance.choice((1, 2, 4))):
        at = chance.random() * options.storm_s * 0.8
        name = f"worker{1 + chance.randrange(options.workers)}"
        directive = chance.choice(("quiet", "quiet", "quiet", "terminate"))
        if chance.random() < 0.2:
            act(at, "direct all", directive=directive)
        else:
            act(at, "directive", worker=name, directive=directive)
        if directive == "quiet":
            later = at + 2 + chance.random() * 25
            act(later, "directive", worker=name, directive="resume")
    return acts
