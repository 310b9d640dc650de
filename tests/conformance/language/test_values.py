"""Equality, kinds and text forms of JSON values."""

from typing import Any

import pytest

from conformance.language.values import Missing, is_absent, kind, same, show, text_form


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (10**400, 10**400),
        (0.1 + 0.2, 0.3),
        ("a", "a"),
        (None, None),
        (True, True),
        ([1, {"a": None}], [1.0, {"a": None}]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_same(left: object, right: object) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, "1"),
        (1, True),
        (0, False),
        (1, 1.001),
        (1.5, 1.6),
        (2**53, 2**53 + 1),
        (10**400, 0.5),
        ("a", "A"),
        (None, False),
        ([1], [1, 2]),
        ([1, 2], [2, 1]),
        ([1, 2], [1, 3]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}),
        ({}, []),
        (None, Missing("gone")),
    ],
)
def test_different(left: object, right: object) -> None:
    assert not same(left, right)
    assert not same(right, left)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a", "string"),
        (1, "number"),
        (1.5, "number"),
        (True, "boolean"),
        (None, "null"),
        ([], "array"),
        ({}, "object"),
        (Missing("gone"), "nothing"),
    ],
)
def test_kind(value: object, name: str) -> None:
    assert kind(value) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (3, "3"),
        (3.0, "3"),
        (3.5, "3.5"),
        (True, "true"),
        (None, "null"),
        ({"a": [1]}, '{"a":[1]}'),
    ],
)
def test_text_form(value: Any, text: str) -> None:
    assert text_form(value) == text


def test_null_and_missing_are_absent_but_empty_is_not() -> None:
    assert is_absent(None)
    assert is_absent(Missing("gone"))
    assert not any(map(is_absent, ("", 0, False, [], {})))


def test_show_tells_why_a_value_is_missing() -> None:
    assert show(Missing("no such key")) == "nothing (no such key)"
    assert show("a") == '"a"'
