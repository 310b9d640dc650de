"""Plant bugs, and see after how many seeds each is found."""

import argparse
import time
from collections.abc import Callable
from contextlib import closing

from tests.simulation.commands.seeds import Span, drawn
from tests.simulation.forked import play, play_all
from tests.simulation.planted.registry import all_planted, plant
from tests.simulation.play import Outcome
from tests.simulation.scenario import Scenario
from tests.simulation.tally import oracle_of

Print = Callable[[str], None]


def plant_of(name: str | None) -> Callable[[], None]:
    """Return what plants a bug into the calling process; None plants nothing."""
    return (lambda: None) if name is None else (lambda: plant(name))


def run(options: argparse.Namespace, output: Print) -> int:
    """Play seeds under each bug until one fails: 0 if each was found."""
    names = [each.name for each in all_planted()]
    if options.planted != "all":
        if options.planted not in names:
            output(f"no bug is called {options.planted!r}; there are: {', '.join(names)}")
            return 1
        names = [options.planted]
    output("| bug | found at seed | after seeds | seconds | by |\n|---|---|---|---|---|")
    found = 0
    for name in names:
        with Span(options.minutes) as span:
            row = _found(name, options, span)
        found += row is not None
        output(f"| {name} | {row or 'not found | | |'} |")
        if span.ended:
            break
    output(f"{found} of {len(names)} found")
    return 0 if found == len(names) else 1


def _found(name: str, options: argparse.Namespace, span: Span) -> str | None:
    """Return when a bug was found, and by what."""
    played = 0
    scenarios = span.of(drawn(options, options.seeds))
    with closing(play_all(scenarios, options.jobs, plant_of(name))) as outcomes:
        for scenario, outcome in outcomes:
            played += 1
            if outcome.wrongs and (oracles := _only_planted(scenario, outcome)):
                took = time.monotonic() - span.began
                return f"{scenario.seed} | {played} | {took:.0f} | {', '.join(oracles)}"
    return None


def _only_planted(scenario: Scenario, outcome: Outcome) -> list[str]:
    """Return the oracles that see something that they do not see without the bug."""
    without = set(map(oracle_of, play(scenario).wrongs))
    return [one for one in dict.fromkeys(map(oracle_of, outcome.wrongs)) if one not in without]
