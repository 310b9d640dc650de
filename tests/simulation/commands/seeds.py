"""Play many seeds, and add up what they show."""

import argparse
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from tests.simulation.draw import draw
from tests.simulation.forked import play_all
from tests.simulation.play import Outcome
from tests.simulation.scenario import Scenario
from tests.simulation.tally import Tally, load, save, version

Print = Callable[[str], None]
# Interval in which the sums of a long run are written and told.
SAVED_S: Final = 30.0


class Span:
    """Time for seeds: it is over after some minutes, or at a signal."""

    def __init__(self, minutes: float | None) -> None:
        self.began = time.monotonic()
        self._until = None if minutes is None else self.began + 60 * minutes
        self.ended = False

    def __enter__(self) -> "Span":
        self._before = {
            name: signal.signal(name, self._end) for name in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *error: object) -> None:
        for name, before in self._before.items():
            signal.signal(name, before)

    def _end(self, number: int, frame: FrameType | None) -> Any:
        if self.ended:
            raise KeyboardInterrupt
        self.ended = True

    @property
    def over(self) -> bool:
        """True if no further seed should begin."""
        return self.ended or (self._until is not None and time.monotonic() > self._until)

    def of(self, scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
        """Yield scenarios until the time is over."""
        for scenario in scenarios:
            if self.over:
                return
            yield scenario


def drawn(options: argparse.Namespace, seeds: Iterable[int]) -> Iterator[Scenario]:
    """Yield the scenarios of seeds."""
    return (shortened(draw(seed, options.nodes, options.profile), options.storm) for seed in seeds)


def shortened(scenario: Scenario, storm_s: float | None) -> Scenario:
    """Return a scenario whose storm is no longer than some seconds."""
    if storm_s is None or scenario.options.storm_s <= storm_s:
        return scenario
    return msgspec.structs.replace(
        scenario,
        options=msgspec.structs.replace(scenario.options, storm_s=storm_s),
        faults=[fault for fault in scenario.faults if fault.at < storm_s],
        acts=[act for act in scenario.acts if act.at < storm_s],
    )


def run(options: argparse.Namespace, output: Print) -> int:
    """Play the given seeds."""
    tally, played = Tally(), version()
    with Span(options.minutes) as span:
        for scenario, outcome in play_all(span.of(drawn(options, options.seeds)), options.jobs):
            tally.add(scenario, outcome, options.nodes, played)
            tell(scenario, outcome, options, output)
            if options.digests:
                nodes = scenario.options.nodes
                output(f"seed {scenario.seed}: {nodes} nodes, digest {outcome.digest}")
        tally.took_s = time.monotonic() - span.began
    output(tally.line())
    fired = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.fired.items()))
    output(f"fired: {fired or 'nothing'}")
    return 1 if tally.failed else 0


def resumed(options: argparse.Namespace, output: Print) -> int:
    """Play seeds from where the last run ended, until the time is over or a signal comes."""
    path: Path = options.state
    tally, played = load(path), version()
    failed = tally.failed
    output(f"before: {tally.line()}")
    with Span(options.minutes) as span:
        noted = span.began
        for scenario, outcome in play_all(span.of(drawn(options, tally.left())), options.jobs):
            tally.add(scenario, outcome, options.nodes, played)
            tally.passed(scenario.seed)
            tell(scenario, outcome, options, output)
            now = time.monotonic()
            if now - noted > SAVED_S:
                tally.took_s, noted = tally.took_s + now - noted, now
                save(tally, path)
                output(tally.line())
        tally.took_s += time.monotonic() - noted
    save(tally, path)
    output(tally.line())
    return 1 if tally.failed > failed else 0


def tell(scenario: Scenario, outcome: Outcome, options: argparse.Namespace, output: Print) -> None:
    """Tell what was wrong with a scenario."""
    if outcome.wrongs:
        again = f"--replay {scenario.seed}"
        if options.nodes is not None:
            again += f" --nodes {options.nodes}"
        if options.profile != "mixed":
            again += f" --profile {options.profile}"
        if options.storm is not None:
            again += f" --storm {options.storm:g}"
        output(f"seed {scenario.seed}: {len(outcome.wrongs)} wrong; {again}")
        for wrong in outcome.wrongs[:3]:
            output(f"    {wrong[:600]}")
