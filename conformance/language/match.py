"""The matcher language of the cases: literals, words, arrays, partial objects and operators."""

import operator
import re
from collections.abc import Callable
from functools import partial

import msgspec

from conformance.language.nearest import nearest
from conformance.language.values import Missing, is_absent, is_number, kind, same, show
from conformance.language.words import BadMatcher, Predicate, compile_pattern, word_predicate

_ONE_OF = re.compile(r"one_of:\s*(\d+(?:\s*,\s*\d+)*)\s*")


class Mismatch(msgspec.Struct, frozen=True):
    """A matcher that was not met: its place in the value, what it wanted and what was there."""

    at: str
    expected: str
    actual: str
    absent: bool = False


Matcher = Callable[[object], Mismatch | None]


def match(raw: object, value: object) -> Mismatch | None:
    """Compare a value (or a Missing) with a matcher; None if it matches."""
    return compile_matcher(raw)(value)


def compile_matcher(raw: object) -> Matcher:
    """Compile a matcher into a function; raises if it has no meaning."""
    if isinstance(raw, list):
        return _array(raw)
    if isinstance(raw, dict):
        return _operators(raw) if _is_operator_object(raw) else _fields(raw)
    if isinstance(raw, str) and (word := word_predicate(raw)):
        return _test(word, raw)
    if raw is None:
        return _test(is_absent, "null or nothing")
    return _test(partial(same, raw), show(raw))


def status_matcher(raw: object) -> Matcher:
    """Turn a status assertion, in any of its spellings, into a matcher; None asks for nothing."""
    if raw is None:
        return lambda _: None
    if isinstance(raw, list):
        return compile_matcher({"$in": raw})
    if isinstance(raw, str):
        if found := _ONE_OF.fullmatch(raw):
            return compile_matcher({"$in": [int(code) for code in found[1].split(",")]})
        if not raw.startswith("number:"):
            raise BadMatcher(f"status {raw!r} is no number, number:range(a,b) or one_of:a,b")
    elif isinstance(raw, bool) or not isinstance(raw, int | dict):
        raise BadMatcher(f"status {show(raw)} is no number, list, matcher or operator")
    return compile_matcher(raw)


def _test(predicate: Predicate, expected: str) -> Matcher:
    def check(value: object) -> Mismatch | None:
        return (
            None
            if predicate(value)
            else Mismatch("", expected, show(value), absent=is_absent(value))
        )

    return check


def _array(raw: list[object]) -> Matcher:
    items = [compile_matcher(item) for item in raw]

    def check(value: object) -> Mismatch | None:
        if not isinstance(value, list) or len(value) != len(items):
            return Mismatch("", show(raw), show(value))
        results = (item(part) for item, part in zip(items, value, strict=True))
        return next((_under(f"[{at}]", bad) for at, bad in enumerate(results) if bad), None)

    return check


def _fields(raw: dict[str, object]) -> Matcher:
    fields = {name: compile_matcher(item) for name, item in raw.items()}

    def check(value: object) -> Mismatch | None:
        if not isinstance(value, dict):
            return Mismatch("", show(raw), show(value))
        for name, field in fields.items():
            if bad := field(value.get(name, Missing("no such key"))):
                return _under(f".{name}", bad)
        return None

    return check


def _under(place: str, inner: Mismatch) -> Mismatch:
    return msgspec.structs.replace(inner, at=place + inner.at)


def _is_operator_object(raw: dict[str, object]) -> bool:
    return any(name.startswith("$") for name in raw) or _is_range(raw)


def _is_range(raw: dict[str, object]) -> bool:
    # `range` carries no `$`, so only its exact shape tells it from a field of that name.
    bounds = raw.get("range")
    return isinstance(bounds, dict) and bounds.keys() <= {"min", "max"} and len(raw) == 1


def _operators(raw: dict[str, object]) -> Matcher:
    tests: list[Predicate] = []
    for name, argument in raw.items():
        if name not in _OPERATORS:
            raise BadMatcher(f"unknown operator {name!r} ({nearest(name, _OPERATORS)})")
        tests.append(_OPERATORS[name](argument))
    expected = show(raw["$eq"] if raw.keys() == {"$eq"} else raw)
    if raw.get("$exists") is False:
        return _test(is_absent, expected)
    return _test(lambda value: all(test(value) for test in tests), expected)


def _exists(expected: object) -> Predicate:
    if not isinstance(expected, bool):
        raise BadMatcher(f"$exists takes true or false, not {show(expected)}")
    return lambda value: is_absent(value) != expected


_KINDS = ("string", "number", "boolean", "null", "array", "object")


def _type(expected: object) -> Predicate:
    if expected not in _KINDS:
        raise BadMatcher(f"$type takes one of {', '.join(_KINDS)}, not {show(expected)}")
    return lambda value: kind(value) == expected


def _match(expected: object) -> Predicate:
    if not isinstance(expected, str):
        raise BadMatcher(f"$match takes a regular expression, not {show(expected)}")
    pattern = compile_pattern(expected)
    return lambda value: isinstance(value, str) and pattern.search(value) is not None


def _one_of(name: str, expected: object) -> Predicate:
    if not isinstance(expected, list) or not expected:
        raise BadMatcher(f"{name} takes an array with at least one matcher, not {show(expected)}")
    options = [compile_matcher(option) for option in expected]
    return lambda value: any(option(value) is None for option in options)


def _size(expected: object) -> Predicate:
    length = compile_matcher(expected)
    return lambda value: isinstance(value, list) and length(len(value)) is None


def _empty(expected: object) -> Predicate:
    if not isinstance(expected, bool):
        raise BadMatcher(f"$empty takes true or false, not {show(expected)}")
    return lambda value: isinstance(value, str | list | dict) and (len(value) == 0) == expected


def _compare(
    name: str, holds: Callable[[int | float, int | float], bool], expected: object
) -> Predicate:
    if not is_number(expected):
        raise BadMatcher(f"{name} takes a number, not {show(expected)}")
    return lambda value: is_number(value) and holds(value, expected)


def _range(bounds: object) -> Predicate:
    if not isinstance(bounds, dict) or not bounds or not bounds.keys() <= {"min", "max"}:
        raise BadMatcher(f'range takes {{"min": a, "max": b}} or one of both, not {show(bounds)}')
    if not all(map(is_number, bounds.values())):
        raise BadMatcher(f"range takes numbers, not {show(bounds)}")
    low, high = bounds.get("min", float("-inf")), bounds.get("max", float("inf"))
    return lambda value: is_number(value) and low <= value <= high


_OPERATORS: dict[str, Callable[[object], Predicate]] = {
    "$exists": _exists,
    "$type": _type,
    "$match": _match,
    "$in": partial(_one_of, "$in"),
    "$or": partial(_one_of, "$or"),
    "$size": _size,
    "$empty": _empty,
    "$eq": lambda expected: partial(same, expected),
    "$gte": partial(_compare, "$gte", operator.ge),
    "$gt": partial(_compare, "$gt", operator.gt),
    "$lte": partial(_compare, "$lte", operator.le),
    "$lt": partial(_compare, "$lt", operator.lt),
    "range": _range,
}
