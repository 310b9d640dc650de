"""The typed case: levels, bodies and captures."""

import pytest

from conformance.language.model import level_number
from tests.conformance.cases import one_step


@pytest.mark.parametrize(
    ("level", "number"),
    [(0, 0), (4, 4), ("2", 2), ("ext", 99), ("extension", 99), ("high", None), (None, None)],
)
def test_level_number(level: object, number: int | None) -> None:
    assert level_number(level) == number


def test_a_body_keeps_its_spelling() -> None:
    assert one_step("POST", body={"n": 1.0, "x": None}).body_json == '{"n":1.0,"x":null}'


def test_a_null_body_is_no_body() -> None:
    assert one_step("POST", body=None).body_json == ""
    assert one_step("POST").body_json == ""


def test_both_spellings_of_capture_count() -> None:
    step = one_step(capture={"a": "$.a"}, captures={"b": "$.b"})
    assert step.all_captures == {"a": "$.a", "b": "$.b"}
