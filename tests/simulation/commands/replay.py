"""Play one scenario again, and tell all that happens in it."""

import argparse
from collections.abc import Callable
from pathlib import Path

from tests.simulation.commands.planted import plant_of
from tests.simulation.commands.seeds import drawn
from tests.simulation.forked import play
from tests.simulation.kept import load
from tests.simulation.scenario import Scenario

Print = Callable[[str], None]


def seed(options: argparse.Namespace, output: Print) -> int:
    """Play a seed."""
    (scenario,) = drawn(options, [options.replay])
    return _told(scenario, options.planted, output)


def file(path: Path, output: Print) -> int:
    """Play a kept scenario, under its planted bug."""
    kept = load(path)
    return _told(kept.scenario, kept.planted, output)


def _told(scenario: Scenario, planted: str | None, output: Print) -> int:
    output(f"seed {scenario.seed}, {scenario.options}")
    outcome = play(scenario, plant_of(planted), traced=True)
    for line in outcome.trace:
        output(line)
    output(f"digest {outcome.digest}, {outcome.operations} operations, {outcome.steps} steps")
    for wrong in outcome.wrongs:
        output(f"WRONG {wrong}")
    return 1 if outcome.wrongs else 0
