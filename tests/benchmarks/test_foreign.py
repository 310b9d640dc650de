"""The budget beside an application's transactions finds what they hold back."""

import pytest

from benchmarks.budgets.postgres import CLAIM, LEAST_MS, Cost, held_back
from benchmarks.budgets.table import BUDGETS
from benchmarks.stand import Values

ALONE = {
    "jobs": 10.0,
    "late, p50, ms": 40.0,
    "late, p99, ms": 90.0,
    "events missing": 0.0,
    "events out of order": 0.0,
    "reported losses": 0.0,
}
COSTS = {f"{CLAIM} ...": Cost(10, 100), "SELECT 1": Cost(10, 1)}


def missed(alone: Values, beside: Values, pages: int = 100) -> list[str]:
    costs = {f"{CLAIM} ...": Cost(10, pages), "SELECT 1": Cost(10, 9_000)}
    values = held_back(alone, COSTS, beside, costs)
    found = BUDGETS["foreign"].judged("foreign", "postgres", values)
    return [one.name for one in found if not one.kept]


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        ({"late, p50, ms": 80.0, "late, p99, ms": 180.0}, []),
        ({"late, p50, ms": 81.0}, ["late, p50 beside, in that alone"]),
        ({"late, p99, ms": 30_000.0}, ["late, p99 beside, in that alone"]),
        ({"events missing": 1.0}, ["events lost beside"]),
    ],
)
def test_events_may_be_twice_as_late(beside: Values, found: list[str]) -> None:
    assert missed(ALONE, ALONE | beside) == found


def test_a_moment_is_not_late() -> None:
    alone = ALONE | {"late, p50, ms": 0.0, "late, p99, ms": 0.0}
    beside = alone | {"late, p50, ms": LEAST_MS, "late, p99, ms": 2 * LEAST_MS}
    assert missed(alone, beside) == []


@pytest.mark.parametrize(("pages", "is_dear"), [(150, False), (151, True)])
def test_a_claim_may_cost_half_as_much_again(pages: int, is_dear: bool) -> None:
    name = "pages a claim beside, in those alone"
    assert missed(ALONE, ALONE, pages) == ([name] if is_dear else [])
