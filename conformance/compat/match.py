"""Matchers of the published runner, its gaps included: a bare `$type` or `$gte` never matches."""

import re

from conformance import match
from conformance.compat.quirks import InForce, Quirk
from conformance.values import is_number, kind, same, text_form
from conformance.words import BadMatcher

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_RANGE = re.compile(r"number:range\(\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\)")
_LENGTH = re.compile(r"array:(length|min_length|min)(?::(\d+)|\((\d+)\))")


def matches(wanted: object, value: object, in_force: InForce = lambda _: True) -> bool:
    """Return True if the published runner would accept a value for the matcher."""
    if wanted is None:
        return value is None
    if isinstance(wanted, str):
        return _word(wanted, value)
    if isinstance(wanted, list):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(matches(*pair, in_force) for pair in zip(wanted, value, strict=True))
        )
    if isinstance(wanted, dict):
        return _object(wanted, value, in_force)
    return same(wanted, value)


def status_matches(wanted: object, status: int, in_force: InForce = lambda _: True) -> bool:
    """Tell whether a status passes; the form of a bare array never does."""
    if isinstance(wanted, list):
        return status in wanted and not in_force(Quirk.STATUS_LIST)
    if isinstance(wanted, str) and wanted.startswith("one_of:"):
        return str(status) in [code.strip() for code in wanted[7:].split(",")]
    return matches(wanted, status, in_force)


def as_meant(wanted: object, value: object) -> bool:
    """Tell whether a matcher is met as it is meant, by the rules of the strict judge."""
    try:
        return match.match(wanted, value) is None
    except BadMatcher:
        return False


def _object(wanted: dict[str, object], value: object, in_force: InForce) -> bool:
    # The first operator in this order decides; the rest of the object is ignored.
    if "$exists" in wanted:
        there = value is not None
        right_kind = "$type" not in wanted or not there or kind(value) == wanted["$type"]
        return there == wanted["$exists"] and right_kind
    if "$match" in wanted:
        pattern = str(wanted["$match"])
        return isinstance(value, str) and _search(pattern, value)
    for name in ("$in", "$or"):
        if isinstance(options := wanted.get(name), list):
            if name == "$or" and "$size" in wanted:
                break
            return any(matches(option, value, in_force) for option in options)
    if "$size" in wanted:
        met = _size(wanted["$size"], value)
    elif "$empty" in wanted:
        return True
    elif isinstance(bounds := wanted.get("range"), dict):
        met = is_number(value) and _in_range(bounds, value)
    else:
        met = _members(wanted, value, in_force)
    unknown = not met and any(name.startswith("$") for name in wanted)
    return met or (unknown and as_meant(wanted, value) and not in_force(Quirk.OPERATORS))


def _members(wanted: dict[str, object], value: object, in_force: InForce) -> bool:
    if not isinstance(value, dict):
        return False
    for name, item in wanted.items():
        if item == "absent":
            met = name not in value
        else:
            met = name in value and matches(item, value[name], in_force)
        nothing = value.get(name) is None and item in (None, "absent")
        if not met and not (nothing and not in_force(Quirk.NULL_INSIDE)):
            return False
    return True


def _in_range(bounds: dict[str, object], value: int | float) -> bool:
    low, high = bounds.get("min", float("-inf")), bounds.get("max", float("inf"))
    return is_number(low) and is_number(high) and low <= value <= high


def _size(wanted: object, value: object) -> bool:
    if not isinstance(value, list):
        return False
    if isinstance(wanted, dict):
        least = wanted.get("$gte")
        return is_number(least) and len(value) >= least
    return is_number(wanted) and len(value) == wanted


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
