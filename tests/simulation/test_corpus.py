"""Kept scenarios still find what they are kept for."""

import pytest

from tests.simulation.kept import CORPUS, load
from tests.simulation.planted.registry import all_planted
from tests.simulation.running import simulated


@pytest.mark.timeout(300)
def test_each_kept_scenario_fails_under_its_planted_bug_alone() -> None:
    code, lines = simulated("--corpus")
    assert code == 0, "\n".join(lines)
    assert len(lines) == len(list(CORPUS.glob("*.json"))) + 1


def test_kept_scenarios_are_described_and_small() -> None:
    planted = {bug.name for bug in all_planted()}
    for path in CORPUS.glob("*.json"):
        kept = load(path)
        assert kept.found, path.name
        assert kept.planted is None or kept.planted in planted, path.name
        assert len(kept.scenario.acts) + len(kept.scenario.faults) <= 40, path.name
