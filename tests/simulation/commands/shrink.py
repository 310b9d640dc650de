"""Make a failing scenario smaller, and keep it."""

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from tests.simulation import kept
from tests.simulation.commands.corpus import others
from tests.simulation.commands.planted import plant_of
from tests.simulation.commands.seeds import drawn
from tests.simulation.forked import play, play_all
from tests.simulation.scenario import Scenario
from tests.simulation.shrinking.shrink import Bound, shrunk
from tests.simulation.tally import ROOT, oracle_of

Print = Callable[[str], None]
# Streams of chance that are tried with the result.
TRIED = 10


def run(options: argparse.Namespace, output: Print) -> int:
    """Make a scenario smaller, of a seed or a file, and write it to a file."""
    given: str = options.shrink
    if given.isdigit():
        (scenario,) = drawn(options, [int(given)])
        oracle, planted = options.oracle, options.planted
        name = f"{planted or 'seed'}-{given}"
    else:
        before = kept.load(Path(given))
        scenario, oracle, planted = before.scenario, before.oracle, before.planted
        name = Path(given).stem
    plant = plant_of(planted)
    seen = oracles(scenario, plant)
    oracle = oracle or next(iter(seen), "")
    if oracle not in seen or (planted is not None and oracle in oracles(scenario, plant_of(None))):
        output(f"{name} does not fail for {oracle!r} under a planted bug alone: {seen}")
        return 1
    output(f"before: {size(scenario)}; fails for {oracle}")
    bound = Bound(options.runs, 60 * (10 if options.minutes is None else options.minutes))
    smaller = shrunk(scenario, oracle, plant, bound, options.jobs, output)
    found = oracles(smaller, plant)[oracle]
    path: Path = options.into or ROOT / "build" / "simulation" / f"{name}.json"
    kept.save(kept.Kept(found=found, oracle=oracle, planted=planted, scenario=smaller), path)
    output(f"after {bound.runs} runs: {size(smaller)}\n{found}")
    if planted is not None and (without := oracles(smaller, plant_of(None))):
        output(f"without {planted} there is: {without}")
    tried = play_all(islice(others(smaller), TRIED), options.jobs, plant)
    often = sum(oracle in map(oracle_of, outcome.wrongs) for _, outcome in tried)
    output(f"fails with {often} of {TRIED} streams of chance; written to {path}")
    return 0


def oracles(scenario: Scenario, plant: Callable[[], None]) -> dict[str, str]:
    """Return the oracles that see something wrong, with the first that each says."""
    found: dict[str, str] = {}
    for wrong in play(scenario, plant).wrongs:
        found.setdefault(oracle_of(wrong), wrong)
    return found


def size(scenario: Scenario) -> str:
    """The size of a scenario in words."""
    options = scenario.options
    return (
        f"{len(scenario.faults)} faults, {len(scenario.acts)} acts, {options.nodes} nodes, "
        f"{options.workers} workers, {options.clients} clients, {options.storm_s:g} s"
    )
