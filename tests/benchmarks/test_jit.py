"""Figures that the budget of JIT computes from its runs."""

import pytest

from benchmarks.budgets.postgres import PHASES, compared
from benchmarks.budgets.table import BUDGETS
from benchmarks.throughput import Sample


@pytest.mark.parametrize("shipped_us", [90.0, 120.0])
def test_runs_that_followed_each_other_are_compared(shipped_us: float) -> None:
    rates = (90.0, 400.0, 50.0), (100.0, 500.0, 50.0)
    used = ((shipped_us, 2 * shipped_us), (100.0, 200.0))
    shipped, without = (
        [dict.fromkeys(PHASES, Sample(rate, *us)) for rate in some]
        for some, us in zip(rates, used, strict=True)
    )
    values = compared(shipped, without)
    for phase in PHASES:
        assert values[f"{phase}, jobs/s"] == 90
        assert values[f"{phase}, of that without JIT"] == pytest.approx(0.9)
        ratio = values[f"{phase}, of that without JIT, in CPU"]
        assert ratio == pytest.approx(100 / shipped_us)
    found = BUDGETS["jit"].judged("jit", "postgres", values)
    assert all(one.kept for one in found) is (shipped_us == 90)
