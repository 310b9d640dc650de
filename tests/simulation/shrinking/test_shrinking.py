"""Shrinking finds the few events that a failure needs, within its bound."""

from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.simulation.draw import draw
from tests.simulation.scenario import Act, Fault, Options, Scenario
from tests.simulation.shrinking import simpler
from tests.simulation.shrinking.ddmin import ddmin
from tests.simulation.shrinking.shrink import Bound, Shrinking

LARGE = Scenario(
    7,
    Options(
        nodes=3, shared=True, workers=3, concurrency=8, clients=3, storm_s=150.0, wake="stream"
    ),
    [
        Fault(number * 3.017, "kill" if number == 13 else "freeze", "node2", 2.3)
        for number in range(40)
    ],
    [
        Act(
            number * 1.003,
            number % 3,
            "enqueue",
            {"args": [f"k{number}", 3.3, 0], "options": {"a": 1}},
        )
        for number in range(140)
    ],
)


def keys(scenario: Scenario) -> set[str]:
    return {act.what["args"][0] for act in scenario.acts}


def needs_a_crash_and_two_jobs(scenario: Scenario) -> bool:
    """An artificial failure."""
    return (
        {"k31", "k120"} <= keys(scenario)
        and any(fault.kind == "kill" for fault in scenario.faults)
        and scenario.options.nodes >= 2
    )


def made_smaller(
    scenario: Scenario, fails: Callable[[Scenario], bool], bound: Bound, jobs: int = 2
) -> Scenario:
    def each(some: list[Scenario]) -> list[bool]:
        return [fails(one) for one in some]

    return Shrinking(scenario, each, bound, jobs, lambda line: None).run()


def test_only_what_the_failure_needs_is_left() -> None:
    bound = Bound(400, 60)
    smaller = made_smaller(LARGE, needs_a_crash_and_two_jobs, bound)
    assert keys(smaller) == {"k31", "k120"}
    assert [fault.kind for fault in smaller.faults] == ["kill"]
    options = smaller.options
    assert (options.nodes, options.workers, options.clients, options.concurrency) == (2, 1, 1, 1)
    assert options.wake == "poll"
    assert all(act.at == round(act.at) for act in smaller.acts)
    assert [act.what["args"][1] for act in smaller.acts] == [0.0, 0.0]
    assert [act.what["options"] for act in smaller.acts] == [{}, {}]
    assert smaller.options.storm_s <= max(act.at for act in smaller.acts) + 1
    assert smaller.seed == LARGE.seed
    assert bound.runs < 400


def test_the_bound_of_runs_is_kept_and_what_it_reached_still_fails() -> None:
    bound = Bound(20, 60)
    smaller = made_smaller(LARGE, needs_a_crash_and_two_jobs, bound)
    assert bound.runs == 20
    assert needs_a_crash_and_two_jobs(smaller)
    assert len(smaller.acts) < len(LARGE.acts) or len(smaller.faults) < len(LARGE.faults)


def test_no_time_is_left() -> None:
    bound = Bound(20, -1.0)
    assert made_smaller(LARGE, needs_a_crash_and_two_jobs, bound) == LARGE
    assert bound.runs == 0


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_those_beside_each_other_change_only_the_number_of_runs(jobs: int) -> None:
    def fails(scenario: Scenario) -> bool:
        return "k31" in keys(scenario)

    smaller = made_smaller(LARGE, fails, Bound(400, 60), jobs)
    assert keys(smaller) == {"k31"}
    assert smaller.faults == []


def test_a_failure_that_needs_nothing_leaves_nothing() -> None:
    smaller = made_smaller(draw(3), lambda scenario: True, Bound(400, 60))
    assert (smaller.faults, smaller.acts) == ([], [])
    assert smaller.options.storm_s == simpler.AFTER_S


@pytest.mark.parametrize(
    "needed", [[0], [99], [0, 99], [3, 4, 5], list(range(0, 100, 9)), list(range(100))]
)
def test_ddmin_leaves_what_is_needed(needed: list[int]) -> None:
    def failing(candidates: Iterator[list[int]]) -> list[int] | None:
        return next((one for one in candidates if set(needed) <= set(one)), None)

    assert ddmin(range(100), failing) == needed


def test_each_simpler_form_is_another_scenario() -> None:
    scenario = msgspec.structs.replace(LARGE, acts=LARGE.acts[:3], faults=LARGE.faults[:3])
    for forms in (simpler.options, simpler.numbers):
        found = list(forms(scenario))
        assert found
        assert any(one != scenario for one in found)
