"""Fingerprints: equal for all spellings of a value, different for different values."""

import hashlib
import json
import unicodedata
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.fingerprint import canonical_text, fingerprint
from ojs_wire import codec

Form = Literal["NFC", "NFD"]
TEXT = st.text(max_size=8)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def respelled(value: Any, form: Form) -> Any:
    """Return an equal value: reversed members, another Unicode form, whole numbers as doubles."""
    if isinstance(value, dict):
        names = list(reversed(value))
        changed = {
            unicodedata.normalize(form, name): respelled(value[name], form) for name in names
        }
        return changed if len(changed) == len(value) else value
    if isinstance(value, list):
        return [respelled(item, form) for item in value]
    if isinstance(value, str):
        return unicodedata.normalize(form, value)
    if isinstance(value, int) and not isinstance(value, bool) and int(float(value)) == value:
        return float(value)
    return value


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@given(value=VALUES)
def test_a_spelling_changes_nothing(form: Form, value: Any) -> None:
    other = respelled(value, form)
    assert fingerprint(other) == fingerprint(value)
    # And so through JSON, with its escapes.
    assert fingerprint(codec.decode(json.dumps(other).encode())) == fingerprint(value)


@given(VALUES)
def test_the_text_is_json_of_an_equal_value_and_its_own_canon(value: Any) -> None:
    text = canonical_text(value)
    assert canonical_text(codec.decode(text)) == text


@given(VALUES, VALUES)
def test_different_values_have_different_texts(one: Any, other: Any) -> None:
    text = canonical_text(one)
    assert (text == canonical_text(other)) is (fingerprint(one) == fingerprint(other))
    if text == canonical_text(other):
        assert codec.decode(text) == codec.decode(canonical_text(other))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, b'{"a":[true,null,"x"],"b":1}'),
        ({"e\u0301": 1}, '{"\u00e9":1}'.encode()),
        ("e\u0301", '"\u00e9"'.encode()),
        ([1.0, -0.0, 1e3, 0.5, 2**64 - 1, 1e300], b"[1,0,1000,0.5,18446744073709551615,1e300]"),
        # The last double that is a 64-bit integer, and the next one, which none can spell.
        ([-(2.0**63), -(2.0**63) - 2048], b"[-9223372036854775808,-9.223372036854778e18]"),
        # UTF-16 puts a pair of surrogates before the last characters of the first plane.
        ({"\uffee": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\uffee":1}'.encode()),
        # Two names that only NFC makes equal are both there.
        ({"e\u0301": 1, "\u00e9": 2}, '{"\u00e9":1,"\u00e9":2}'.encode()),
        ({}, b"{}"),
        ([], b"[]"),
    ],
)
def test_the_canonical_text(value: Any, text: bytes) -> None:
    assert canonical_text(value) == text
    assert fingerprint(value) == hashlib.sha256(text).digest()


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, True), (0, None), (0, False), ([], {}), ("a", ["a"]), (2**53, 2**53 + 1)],
)
def test_values_that_look_alike_differ(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)
