"""Tests of matchers: literals, arrays, partial objects, operators, and their mismatches."""

from typing import Any

import pytest

from conformance.language.match import Mismatch, compile_matcher, match
from conformance.language.values import Missing
from conformance.language.words import BadMatcher

GONE = Missing("no such key")


@pytest.mark.parametrize(
    ("raw", "good", "bad"),
    [
        ("available", ["available"], ["Available", 1, None, GONE]),
        (3, [3, 3.0], ["3", 4, True, GONE]),
        (0.5, [0.5, 0.5 + 1e-10], [0.51, "0.5"]),
        (True, [True], [1, "true", False, GONE]),
        (False, [False], [0, None, GONE]),
        (None, [None, GONE], [0, "", False, [], {}]),
        ([], [[]], [[1], {}, "", None, GONE]),
        ([1, None, "any"], [[1, None, 5]], [[1, None], [1, 0, 5], [1, None, None], "abc"]),
        ({}, [{}, {"a": 1}], [[], None, "a", GONE]),
        ({"a": 1}, [{"a": 1}, {"a": 1, "b": 2}], [{"a": 2}, {}, {"b": 1}, [], None]),
        ({"a": "absent"}, [{}, {"a": None}], [{"a": 1}, "text", GONE]),
        ({"a": {"b": ["string:nonempty"]}}, [{"a": {"b": ["x"]}}], [{"a": {"b": [""]}}]),
        ({"range": "A1:B2"}, [{"range": "A1:B2"}], [{"range": "A1"}]),
        ({"$exists": True}, [0, "", False, [], {}], [None, GONE]),
        ({"$exists": False}, [None, GONE], [0, "", [], {}]),
        ({"$exists": True, "$type": "string"}, ["a", ""], [1, None, GONE]),
        ({"$exists": False, "$type": "string"}, [None, GONE], ["a", 1]),
        ({"$type": "string"}, ["a"], [1, None, GONE]),
        ({"$type": "number"}, [1, 1.5], ["1", True, GONE]),
        ({"$type": "boolean"}, [True], [1]),
        ({"$type": "null"}, [None], [0, GONE]),
        ({"$type": "array"}, [[]], [{}]),
        ({"$type": "object"}, [{}], [[]]),
        ({"$match": "^a+$"}, ["aa"], ["ab", 1, GONE]),
        ({"$in": ["a", "number:positive"]}, ["a", 4], ["b", 0, GONE]),
        ({"$or": [[], {"$size": 2}]}, [[], [1, 2]], [[1], GONE]),
        ({"$size": 1}, [[1]], [[], "a", {"a": 1}, GONE]),
        ({"$size": {"$gte": 2}}, [[1, 2], [1, 2, 3]], [[1]]),
        ({"$empty": True}, ["", [], {}], ["a", [1], {"a": 1}, 0, None, GONE]),
        ({"$empty": False}, ["a", [1], {"a": 1}], ["", [], {}, 0, None, GONE]),
        ({"$eq": "any"}, ["any"], ["x", GONE]),
        ({"$eq": {"a": [1]}}, [{"a": [1.0]}], [{"a": [1], "b": 2}]),
        ({"$gte": 1}, [1, 1.5], [0.9, "1", True, GONE]),
        ({"$gt": 1}, [1.1], [1]),
        ({"$lte": 1}, [1, -3], [1.1]),
        ({"$lt": 1}, [0.9], [1]),
        ({"$gt": 1, "$lt": 3}, [2], [1, 3]),
        ({"range": {"min": 1, "max": 3}}, [1, 3], [0, 4, "2", GONE]),
        ({"range": {"min": 1}}, [1, 99], [0]),
        ({"range": {"max": 1}}, [1, -99], [2]),
        ({"range": {"max": 1}, "$type": "number"}, [1], [2, "1"]),
    ],
)
def test_matcher(raw: Any, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if match(raw, value) is not None] == []
    assert [value for value in bad if match(raw, value) is None] == []


@pytest.mark.parametrize(
    ("raw", "value", "mismatch"),
    [
        ("available", "active", Mismatch("", '"available"', '"active"')),
        ("string:uuidv7", 7, Mismatch("", "string:uuidv7", "7")),
        (1, GONE, Mismatch("", "1", "nothing (no such key)", absent=True)),
        (None, 0, Mismatch("", "null or nothing", "0")),
        ([1, {"a": [2]}], [1, {"a": [3]}], Mismatch("[1].a[0]", "2", "3")),
        ([1], [], Mismatch("", "[1]", "[]")),
        (
            {"a": {"b": 1}},
            {"a": {}},
            Mismatch(".a.b", "1", "nothing (no such key)", absent=True),
        ),
        ("any", None, Mismatch("", "any", "null", absent=True)),
        ({"a": 1}, "x", Mismatch("", '{"a":1}', '"x"')),
        ({"$gte": 1}, 0, Mismatch("", '{"$gte":1}', "0")),
        ({"$eq": "x"}, "y", Mismatch("", '"x"', '"y"')),
    ],
)
def test_mismatch_tells_place_expected_and_actual(
    raw: Any, value: object, mismatch: Mismatch
) -> None:
    assert match(raw, value) == mismatch


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"$exits": True}, "unknown operator '$exits' (nearest: '$exists')"),
        ({"$type": "string", "name": "x"}, "unknown operator 'name' (nearest: 'range')"),
        ({"$exists": 1}, "$exists takes true or false, not 1"),
        (
            {"$type": "text"},
            '$type takes one of string, number, boolean, null, array, object, not "text"',
        ),
        ({"$match": 1}, "$match takes a regular expression, not 1"),
        ({"$match": "("}, None),
        ({"$in": []}, "$in takes an array with at least one matcher, not []"),
        ({"$or": "a"}, '$or takes an array with at least one matcher, not "a"'),
        ({"$empty": "yes"}, '$empty takes true or false, not "yes"'),
        ({"$gte": "1"}, '$gte takes a number, not "1"'),
        ({"range": {}}, 'range takes {"min": a, "max": b} or one of both, not {}'),
        ({"range": {"min": "a"}}, 'range takes numbers, not {"min":"a"}'),
        ({"$size": {"$gte": "a"}}, '$gte takes a number, not "a"'),
        (
            [{"deep": "string:uuidv8"}],
            "unknown matcher 'string:uuidv8' (nearest: 'string:uuidv7')",
        ),
    ],
)
def test_a_matcher_without_meaning_is_refused(raw: Any, message: str | None) -> None:
    with pytest.raises(BadMatcher) as caught:
        compile_matcher(raw)
    if message is not None:
        assert str(caught.value) == message


def test_a_range_beside_an_operator_takes_only_its_bounds() -> None:
    with pytest.raises(BadMatcher, match="one of both"):
        compile_matcher({"$type": "number", "range": {"low": 1}})
