"""Play the kept scenarios: each finds what it is kept for, under its planted bug alone."""

from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from tests.simulation.commands.planted import plant_of
from tests.simulation.forked import play_all
from tests.simulation.kept import CORPUS, Kept, load
from tests.simulation.scenario import Scenario
from tests.simulation.tally import oracle_of

Print = Callable[[str], None]
# Streams of chance that are tried under a planted bug: any change of the product moves the order
# of steps, and with it the moment that a race needs.
TRIES = 20


def run(jobs: int, output: Print) -> int:
    """Play all of them: 0 if each does what it should."""
    wrong = 0
    paths = sorted(CORPUS.glob("*.json"))
    for path in paths:
        verdict = judged(load(path), jobs)
        wrong += verdict is not None
        output(f"{path.stem}: {'as kept' if verdict is None else verdict}")
    output(f"{len(paths) - wrong} of {len(paths)} as kept")
    return 1 if wrong else 0


def judged(kept: Kept, jobs: int) -> str | None:
    """Return what is wrong with a kept scenario, or None."""
    with closing(play_all([kept.scenario])) as outcomes:
        for _, outcome in outcomes:
            if outcome.wrongs:
                return f"fails without a planted bug: {outcome.wrongs[0][:300]}"
    if kept.planted is None:
        return None
    with closing(play_all(others(kept.scenario), jobs, plant_of(kept.planted))) as outcomes:
        for _, outcome in outcomes:
            if kept.oracle in map(oracle_of, outcome.wrongs):
                return None
    return f"{kept.oracle} does not see {kept.planted} in {TRIES} tries"


def others(scenario: Scenario) -> Iterator[Scenario]:
    """Yield a scenario with its own streams of chance, and then with some others."""
    for more in range(TRIES):
        yield msgspec.structs.replace(scenario, seed=scenario.seed + more)
