"""Matchers of the published runner, its gaps included: a bare `$type` or `$gte` never matches."""

import re

from conformance.compat.quirks import InForce, Quirk
from conformance.language import match
from conformance.language.values import is_number, kind, same, text_form
from conformance.language.words import BadMatcher

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_RANGE = re.compile(r"number:range\(\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\)")
_LENGTH = re.compile(r"array:(length|min_length|min)(?::(\d+)|\((\d+)\))")


def matches(expected: object, value: object, in_force: InForce = lambda _: True) -> bool:
    """Return True if the published runner would accept a value for the matcher."""
    if expected is None:
        return value is None
    if isinstance(expected, str):
        return _word(expected, value)
    if isinstance(expected, list):
        return (
            isinstance(value, list)
            and len(value) == len(expected)
            and all(matches(*pair, in_force) for pair in zip(expected, value, strict=True))
        )
    if isinstance(expected, dict):
        return _object(expected, value, in_force)
    return same(expected, value)


def status_matches(expected: object, status: int, in_force: InForce = lambda _: True) -> bool:
    """Tell whether a status passes; the form of a bare array never does."""
    if isinstance(expected, list):
        return status in expected and not in_force(Quirk.STATUS_LIST)
    if isinstance(expected, str) and expected.startswith("one_of:"):
        return str(status) in [code.strip() for code in expected[7:].split(",")]
    return matches(expected, status, in_force)


def as_specified(expected: object, value: object) -> bool:
    """Tell whether a matcher matches by the rules of the strict judge."""
    try:
        return match.match(expected, value) is None
    except BadMatcher:
        return False


def _object(expected: dict[str, object], value: object, in_force: InForce) -> bool:
    # The first operator in this order decides; the rest of the object is ignored.
    if "$exists" in expected:
        there = value is not None
        right_kind = "$type" not in expected or not there or kind(value) == expected["$type"]
        return there == expected["$exists"] and right_kind
    if "$match" in expected:
        pattern = str(expected["$match"])
        return isinstance(value, str) and _search(pattern, value)
    for name in ("$in", "$or"):
        if isinstance(options := expected.get(name), list):
            if name == "$or" and "$size" in expected:
                break
            return any(matches(option, value, in_force) for option in options)
    if "$size" in expected:
        holds = _size(expected["$size"], value)
    elif "$empty" in expected:
        return True
    elif isinstance(bounds := expected.get("range"), dict):
        holds = is_number(value) and _in_range(bounds, value)
    else:
        holds = _members(expected, value, in_force)
    unknown = not holds and any(name.startswith("$") for name in expected)
    return holds or (unknown and as_specified(expected, value) and not in_force(Quirk.OPERATORS))


def _members(expected: dict[str, object], value: object, in_force: InForce) -> bool:
    if not isinstance(value, dict):
        return False
    for name, item in expected.items():
        if item == "absent":
            holds = name not in value
        else:
            holds = name in value and matches(item, value[name], in_force)
        nothing = value.get(name) is None and item in (None, "absent")
        if not holds and not (nothing and not in_force(Quirk.NULL_INSIDE)):
            return False
    return True


def _in_range(bounds: dict[str, object], value: int | float) -> bool:
    low, high = bounds.get("min", float("-inf")), bounds.get("max", float("inf"))
    return is_number(low) and is_number(high) and low <= value <= high


def _size(expected: object, value: object) -> bool:
    if not isinstance(value, list):
        return False
    if isinstance(expected, dict):
        least = expected.get("$gte")
        return is_number(least) and len(value) >= least
    return is_number(expected) and len(value) == expected


def _word(text: str, value: object) -> bool:
    if text == "any":
        return True
    if text == "absent":
        return value is None
    if text == "exists":
        return value is not None
    if text.startswith("string:"):
        return isinstance(value, str) and _string(text[7:], value)
    if text.startswith("number:"):
        return is_number(value) and _number(text, value)
    if text.startswith("array:"):
        return isinstance(value, list) and _array(text, value)
    if re.fullmatch(r"~-?\d+(?:\.\d+)?", text):
        around = float(text[1:])
        return is_number(value) and abs(value - around) <= abs(around) * 0.5
    if text.startswith("contains:"):
        return isinstance(value, list) and text[9:] in map(text_form, value)
    if text.startswith("not_contains:"):
        return isinstance(value, list) and text[13:] not in map(text_form, value)
    return text == value


def _string(rule: str, value: str) -> bool:
    if rule in ("nonempty", "non_empty"):
        return value != ""
    for name, pattern in (("uuidv7", _UUID7), ("uuid", _UUID), ("datetime", _DATETIME)):
        if rule == name:
            return pattern.fullmatch(value) is not None
    if rule.startswith("contains:"):
        return rule[9:] in value
    if rule.startswith("pattern(") and rule.endswith(")"):
        return _search(rule[8:-1], value)
    return f"string:{rule}" == value


def _number(text: str, value: int | float) -> bool:
    if text == "number:positive":
        return value > 0
    if text == "number:non_negative":
        return value >= 0
    found = _RANGE.fullmatch(text)
    return found is not None and float(found[1]) <= value <= float(found[2])


def _array(text: str, value: list[object]) -> bool:
    if text in ("array:nonempty", "array:empty"):
        return bool(value) == (text == "array:nonempty")
    found = _LENGTH.fullmatch(text)
    if found is None:
        return False
    length = int(found[2] or found[3])
    return len(value) == length if found[1] == "length" else len(value) >= length


def _search(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value, re.ASCII) is not None
    except re.error:
        return False
