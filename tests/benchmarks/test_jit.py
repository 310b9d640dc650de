"""Figures that the benchmark of JIT computes from its runs."""

import pytest

from benchmarks.jit import PHASES, SHIPPED, WITHOUT, figures
from benchmarks.throughput import Sample


def test_runs_that_followed_each_other_are_compared() -> None:
    rates = {SHIPPED: (90.0, 400.0, 50.0), WITHOUT: (100.0, 500.0, 50.0)}
    samples = {
        name: [dict.fromkeys(PHASES, Sample(rate, 100 / rate, 700 / rate)) for rate in some]
        for name, some in rates.items()
    }
    found = figures("15.1", samples)
    assert [one.phase for one in found] == [*PHASES]
    for one in found:
        assert (one.postgres, one.shipped, one.without) == ("15.1", 90.0, 100.0)
        assert (one.ratio, one.cpu_ratio) == pytest.approx((0.9, 0.9))
