"""The verdict on two worker processes, which depends on what the machine gives two bare ones."""

import pytest

from benchmarks.prefork import Figures, Rates


@pytest.mark.parametrize(
    ("workers", "bare", "to_reach", "passes", "said"),
    [
        (1.65, 2.0, 1.6, True, "to reach 1.6"),
        (1.55, 2.0, 1.6, False, "to reach 1.6"),
        (1.20, 1.3, 1.17, True, "cannot show 1.6"),
        (1.10, 1.3, 1.17, False, "cannot show 1.6"),
        (1.30, 0.8, 0.72, False, "shows nothing"),
    ],
)
def test_workers_are_judged_by_what_the_machine_gives(
    workers: float, bare: float, to_reach: float, passes: bool, said: str
) -> None:
    found = Figures("sqlite", 300, Rates([1.0], [workers]), Rates([1.0], [bare]))
    assert found.to_reach == pytest.approx(to_reach)
    assert found.is_good is passes
    assert said in found.verdict()


def test_a_factor_is_that_of_runs_made_together() -> None:
    # The machine was slower in the second run, for both.
    assert Rates([10.0, 4.0, 10.0], [18.0, 8.0, 21.0]).factor == 2.0
