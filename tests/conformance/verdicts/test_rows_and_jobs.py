"""Rows and jobs are compared: what must never be, and what has not come yet."""

from collections.abc import Sequence

import pytest

from conformance.verdicts.rows_and_jobs import Arrival, disagreements, losses

# a, b and d are there; c was rolled back.
KEPT = {"a": True, "b": True, "c": False, "d": True}


def arrivals(rows: str) -> list[Arrival]:
    return [Arrival(row, f"job-{number}", number) for number, row in enumerate(rows)]


def found(rows: str, *, ordered: bool = True) -> Sequence[tuple[str, str, int | None]]:
    compared = disagreements(KEPT, arrivals(rows), "round 3", ordered=ordered)
    return [(failure.field, failure.actual, failure.exchange) for failure in compared]


@pytest.mark.parametrize("rows", ["", "abd", "ab", "b", "bd"])
def test_what_has_come_in_order_agrees(rows: str) -> None:
    assert found(rows) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("abc", ("orphans", "no row for c (job job-2)", 2)),
        ("ax", ("orphans", "no row for x (job job-1)", 1)),
        ("aba", ("doubles", "a (job job-2) after a (job job-0)", 2)),
        ("dab", ("order", "d, a, b", 0)),
        ("adb", ("order", "d, b", 1)),
    ],
)
def test_what_must_never_be_is_told(rows: str, expected: tuple[str, str, int]) -> None:
    assert found(rows) == [expected]


def test_no_order_is_asked_for_where_none_is_promised() -> None:
    assert found("dba", ordered=False) == []


def test_what_is_worst_comes_first() -> None:
    assert [field for field, _, _ in found("dcad")] == ["orphans", "doubles", "order"]


def test_only_rows_that_are_there_have_losses() -> None:
    assert losses(KEPT, arrivals("ac")) == ["b", "d"]
    assert losses(KEPT, arrivals("dba")) == []
