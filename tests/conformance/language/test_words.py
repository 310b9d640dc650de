"""Matchers written as one string."""

import pytest

from conformance.language.match import match
from conformance.language.values import Missing
from conformance.language.words import BadMatcher, word_predicate

GONE = Missing("no such key")
UUID4 = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
UUID7 = "019539a4-aaaa-7000-8000-111111111111"


@pytest.mark.parametrize(
    ("word", "good", "bad"),
    [
        ("any", ["", 0, False, [], {}], [None, GONE]),
        ("exists", ["", 0, False, [], {}], [None, GONE]),
        ("absent", [None, GONE], ["", 0, False, [], {}]),
        ("string:nonempty", ["a", " "], ["", 1, None, GONE, ["a"]]),
        ("string:non_empty", ["a"], ["", GONE]),
        ("string:uuid", [UUID4, UUID7], [UUID4.upper(), UUID4[:-1], UUID4 + "\n", 1, GONE]),
        ("string:uuidv7", [UUID7], [UUID4, UUID7.replace("-8000-", "-c000-"), f" {UUID7}", None]),
        (
            "string:datetime",
            ["2025-01-31T10:00:00Z", "2025-01-31T10:00:00.123456789+02:00"],
            [
                "2025-01-31",
                "2025-01-31 10:00:00Z",
                "2025-01-31T10:00:00",
                "2025-02-31T10:00:00Z",
                "2025-01-31t10:00:00z",
                "٢٠٢٥-01-31T10:00:00Z",
                1738317600,
                GONE,
            ],
        ),
        ("string:contains:bc", ["abcd", "bc"], ["b c", ["bc"], GONE]),
        ("string:contains:", ["", "a"], [1, GONE]),
        ("string:pattern(^a.c$)", ["abc"], ["abcd", 1, GONE]),
        ("string:pattern(\\d)", ["a1"], ["a٣"]),
        ("number:positive", [1, 0.1], [0, -1, "1", True, GONE]),
        ("number:non_negative", [0, 0.0, 7], [-0.1, None, False]),
        ("number:range(400,422)", [400, 410.5, 422], [399, 423, "410", True, GONE]),
        ("number:range( -1.5 , -0.5 )", [-1.5, -1, -0.5], [0, -2]),
        ("~2000", [1000, 2000, 3000], [999, 3001, "2000", GONE]),
        ("~-10", [-5, -15], [5, -16]),
        ("~0.5", [0.25, 0.75], [0.2, 10**400]),
        ("array:nonempty", [[1], [None]], [[], "a", {"a": 1}, GONE]),
        ("array:empty", [[]], [[1], "", {}, None, GONE]),
        ("array:length:2", [[1, 2]], [[1], [1, 2, 3], "ab", GONE]),
        ("array:length(2)", [[1, 2]], [[1]]),
        ("array:min_length:1", [[1], [1, 2]], [[], "a", GONE]),
        ("array:min:2", [[1, 2], [1, 2, 3]], [[1]]),
        ("contains:3", [[1, 3], [3.0], ["3"]], [[1], "3", GONE]),
        ("contains:true", [[True], ["true"]], [[False]]),
        ("not_contains:x", [[], ["y"]], [["x"], "y", None, GONE]),
    ],
)
def test_word(word: str, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if match(word, value) is not None] == []
    assert [value for value in bad if match(word, value) is None] == []


@pytest.mark.parametrize("text", ["available", "", "~", "~soon", "Any", "contain:x", "one_of:1,2"])
def test_other_strings_are_literals(text: str) -> None:
    assert word_predicate(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("string:uuid7", "unknown matcher 'string:uuid7' (nearest: 'string:uuidv7')"),
        ("number:range(1)", "unknown matcher 'number:range(1)' (nearest: 'number:range(A,B)')"),
        ("array:length:x", "unknown matcher 'array:length:x' (nearest: 'array:length:N')"),
        (
            "string:pattern(a[)",
            "'a[' is no regular expression: unterminated character set at position 1",
        ),
    ],
)
def test_a_word_without_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadMatcher) as caught:
        word_predicate(text)
    assert str(caught.value) == message
