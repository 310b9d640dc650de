"""The budget of two worker processes, which depends on what the machine gives two bare ones."""

import pytest

from benchmarks.budgets.table import BUDGETS
from benchmarks.budgets.workers import Rates, compared

LEAST = "two to one, in what is to reach here"


@pytest.mark.parametrize(
    ("workers", "bare", "missed"),
    [
        (1.65, 2.0, []),
        (1.55, 2.0, [LEAST]),
        (1.20, 1.3, []),
        (1.10, 1.3, [LEAST]),
        (1.30, 0.8, ["two bare to one"]),
    ],
)
def test_workers_are_judged_by_what_the_machine_gives(
    workers: float, bare: float, missed: list[str]
) -> None:
    values = compared(Rates([1.0], [workers]), Rates([1.0], [bare]))
    found = BUDGETS["prefork"].judged("prefork", "sqlite", values)
    assert [one.name for one in found if not one.kept] == missed


def test_a_factor_is_that_of_runs_made_together() -> None:
    # The machine was slower in the second run, for both.
    assert Rates([10.0, 4.0, 10.0], [18.0, 8.0, 21.0]).factor == 2.0
