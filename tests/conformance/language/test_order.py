"""Tests of the order of steps and of those that run together."""

import pytest

from conformance.language.order import groups, loose_parallel_steps
from tests.conformance.cases import case, step


def links(*pairs: tuple[str, str | None]) -> list[str]:
    """Groups of steps as text; each step is its id and whom it runs with."""
    made = case(*(step(id=name, parallel_with=other) for name, other in pairs))
    return ["".join(member.id for member in group) for group in groups(made.steps)]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], []),
        ([("a", None), ("b", None)], ["a", "b"]),
        ([("a", None), ("b", "a"), ("c", None)], ["ab", "c"]),
        ([("a", "b"), ("b", None), ("c", None)], ["ab", "c"]),
        ([("a", "b"), ("b", "a")], ["ab"]),
        ([("a", None), ("b", "a"), ("c", "a"), ("d", None)], ["abc", "d"]),
        ([("a", None), ("b", "a"), ("c", "b")], ["abc"]),
        ([("a", "c"), ("b", "c"), ("c", None)], ["abc"]),
        ([("a", None), ("b", "a"), ("c", None), ("d", "c")], ["ab", "cd"]),
    ],
)
def test_groups(pairs: list[tuple[str, str | None]], expected: list[str]) -> None:
    assert links(*pairs) == expected


def test_parallel_with_must_name_another_step() -> None:
    made = case(step(id="a", parallel_with="a"), step(id="b", parallel_with="z"))
    assert list(loose_parallel_steps(made.steps)) == [
        "step 'a': parallel_with names no other step: 'a'",
        "step 'b': parallel_with names no other step: 'z'",
    ]


def test_no_step_may_stand_between_parallel_ones() -> None:
    made = case(step(id="a"), step(id="b"), step(id="c", parallel_with="a"))
    assert list(loose_parallel_steps(made.steps)) == [
        "step 'b' stands between steps that are to run in parallel"
    ]


def test_neighbours_are_not_loose() -> None:
    made = case(step(id="a"), step(id="b", parallel_with="a"), step(id="c"))
    assert list(loose_parallel_steps(made.steps)) == []
