"""Figures are read out of sentences."""

import pytest

from conformance.figures import Figure, figures_of, other_bound, other_unit


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("kept for 180 days, or ten thousand jobs", ["180 days", "10,000 jobs"]),
        ("at most 100 channels and 64 KiB at most", ["at most 100 channels", "at most 64 KiB"]),
        ("no longer than `1,000` ms", ["at most 1,000 ms"]),
        ("a second SIGTERM ends it within a second", ["at most 1 second"]),
        ("the last hundred due times, 2-second steps and OJS-FET-100 jobs", []),
    ],
)
def test_figures_are_read_with_unit_and_bound(text: str, figures: list[str]) -> None:
    assert [str(figure) for figure in figures_of(text)] == figures


def test_figures_that_contradict_each_other() -> None:
    seconds, milliseconds = Figure(30, "seconds"), Figure(30, "ms")
    assert other_unit(seconds, milliseconds)
    assert not other_unit(seconds, Figure(30, "s"))
    assert not other_unit(seconds, Figure(5, "minutes"))
    assert other_bound(Figure(1, "day", "at least"), Figure(24, "h", "at most"))
    assert not other_bound(Figure(1, "day", "at least"), Figure(24, "h"))
