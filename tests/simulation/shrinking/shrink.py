"""Make a failing scenario smaller, as long as the same oracle says that it fails."""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

import msgspec

from tests.simulation.forked import play_all
from tests.simulation.scenario import Act, Fault, Scenario
from tests.simulation.shrinking import simpler
from tests.simulation.shrinking.ddmin import ddmin
from tests.simulation.tally import oracle_of

Print = Callable[[str], None]
Event = TypeVar("Event", Act, Fault)


class Bound(msgspec.Struct):
    """The most that may be tried."""

    most_runs: int
    most_s: float
    runs: int = 0


class Shrinking:
    """Tries smaller scenarios, and keeps the smallest that fails."""

    def __init__(
        self,
        scenario: Scenario,
        fails: Callable[[list[Scenario]], list[bool]],
        bound: Bound,
        jobs: int,
        output: Print,
    ) -> None:
        self.best = scenario
        self._fails = fails
        self._bound = bound
        self._jobs = jobs
        self._output = output
        self._until = time.monotonic() + bound.most_s
        self._tried: set[bytes] = {msgspec.json.encode(scenario)}

    @property
    def over(self) -> bool:
        """True if nothing more may be tried."""
        return self._bound.runs >= self._bound.most_runs or time.monotonic() > self._until

    def first(self, candidates: Iterator[Scenario]) -> Scenario | None:
        """Return the first candidate that fails; those beside each other are played so, too."""
        fresh = filter(self._is_new, candidates)
        while not self.over and (some := list(islice(fresh, self._jobs))):
            self._bound.runs += len(some)
            for scenario, failed in zip(some, self._fails(some), strict=True):
                if failed:
                    self.best = scenario
                    self._output(
                        f"  run {self._bound.runs}: {len(scenario.faults)} faults, "
                        f"{len(scenario.acts)} acts"
                    )
                    return scenario
        return None

    def _is_new(self, scenario: Scenario) -> bool:
        encoded = msgspec.json.encode(scenario)
        new = encoded not in self._tried
        self._tried.add(encoded)
        return new

    def faults(self) -> None:
        """Leave faults out."""

        def failing(some: Iterator[list[Fault]]) -> list[Fault] | None:
            base = self.best
            found = self.first(msgspec.structs.replace(base, faults=one) for one in some)
            return None if found is None else found.faults

        ddmin(self.best.faults, failing)

    def acts(self) -> None:
        """Leave acts out."""

        def failing(some: Iterator[list[Act]]) -> list[Act] | None:
            base = self.best
            found = self.first(msgspec.structs.replace(base, acts=one) for one in some)
            return None if found is None else found.acts

        ddmin(self.best.acts, failing)

    def simplify(self, forms: Callable[[Scenario], Iterator[Scenario]]) -> None:
        """Try simpler forms, until none of them fails."""
        while self.first(forms(self.best)) is not None:
            pass

    def run(self) -> Scenario:
        """Make it as small as the bound allows."""
        before = None
        while before != self.best and not self.over:
            before = self.best
            self.faults()
            self.acts()
            # First of all, runs become quick.
            self.simplify(simpler.times)
            self.simplify(simpler.options)
            self.simplify(simpler.numbers)
        return self.best


def shrunk(
    scenario: Scenario,
    oracle: str,
    plant: Callable[[], None],
    bound: Bound,
    jobs: int,
    output: Print,
) -> Scenario:
    """Return a smaller scenario that fails for the same oracle."""

    def fails(some: list[Scenario]) -> list[bool]:
        failed = {
            id(played): oracle in map(oracle_of, outcome.wrongs)
            for played, outcome in play_all(some, jobs, plant)
        }
        return [failed[id(one)] for one in some]

    return Shrinking(scenario, fails, bound, jobs, output).run()
