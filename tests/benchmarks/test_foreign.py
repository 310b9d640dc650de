"""The benchmark beside an application's transactions finds what they hold back."""

import msgspec
import pytest

from benchmarks.foreign import ALONE, BESIDE, CLAIM, LEAST_MS, Cost, Statements, dear, late
from benchmarks.streams import Figures

ALIKE = dict.fromkeys(Figures.__struct_fields__, 0) | {"late_p50_ms": 40.0, "late_p99_ms": 90.0}


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        ({"late_p50_ms": 80.0, "late_p99_ms": 180.0}, []),
        ({"late_p50_ms": 81.0}, ["p50"]),
        ({"late_p99_ms": 30_000.0}, ["p99"]),
    ],
)
def test_events_may_be_twice_as_late(beside: dict[str, float], found: list[str]) -> None:
    alone, other = (
        msgspec.convert({**ALIKE, "store": name, **more}, Figures)
        for name, more in ((ALONE, {}), (BESIDE, beside))
    )
    assert [line[:3] for line in late(alone, other)] == found


def test_a_moment_is_not_late() -> None:
    alone = msgspec.convert(
        {**ALIKE, "store": ALONE, "late_p50_ms": 0.0, "late_p99_ms": 0.0}, Figures
    )
    beside = msgspec.structs.replace(alone, late_p50_ms=LEAST_MS, late_p99_ms=2 * LEAST_MS)
    assert late(alone, beside) == []


@pytest.mark.parametrize(("pages", "is_dear"), [(1_500, False), (1_501, True)])
def test_a_claim_may_cost_half_as_much_again(pages: int, is_dear: bool) -> None:
    figures = msgspec.convert({**ALIKE, "store": ALONE}, Figures)
    alone = Statements(figures, {f"{CLAIM} ...": Cost(10, 100), "SELECT 1": Cost(10, 1)})
    beside = Statements(figures, {f"{CLAIM} ...": Cost(100, pages), "SELECT 1": Cost(10, 9_000)})
    assert bool(dear(alone, beside)) is is_dear
