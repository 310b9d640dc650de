"""Matchers written as one string: ``string:uuidv7``, ``number:range(1,5)``, ``~2000``."""

import re
from collections.abc import Callable
from datetime import datetime

from conformance.language.nearest import nearest
from conformance.language.values import is_absent, is_number, text_form

Predicate = Callable[[object], bool]


class BadMatcher(ValueError):
    """A matcher that the case language does not allow."""


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_NUMBER = r"-?\d+(?:\.\d+)?"


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression of a case; its classes mean ASCII, as in the format."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise BadMatcher(f"{pattern!r} is no regular expression: {error}") from error


def _is_present(value: object) -> bool:
    return not is_absent(value)


def _is_datetime(value: object) -> bool:
    if not isinstance(value, str) or not _DATETIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _full_match(pattern: re.Pattern[str]) -> Predicate:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _nonempty_string(value: object) -> bool:
    return isinstance(value, str) and value != ""


# The published text and the published runner disagree on `any` and `exists`; both mean
# "not null" here, the stricter of either reading, so that neither can pass on nothing.
_WORDS: dict[str, Predicate] = {
    "any": _is_present,
    "exists": _is_present,
    "absent": is_absent,
    "string:nonempty": _nonempty_string,
    "string:non_empty": _nonempty_string,
    "string:uuid": _full_match(_UUID),
    "string:uuidv7": _full_match(_UUID7),
    "string:datetime": _is_datetime,
    "number:positive": lambda value: is_number(value) and value > 0,
    "number:non_negative": lambda value: is_number(value) and value >= 0,
    "array:nonempty": lambda value: isinstance(value, list) and len(value) > 0,
    "array:empty": lambda value: isinstance(value, list) and len(value) == 0,
}


def _contains_text(found: re.Match[str]) -> Predicate:
    return lambda value: isinstance(value, str) and found[1] in value


def _searches(found: re.Match[str]) -> Predicate:
    pattern = compile_pattern(found[1])
    return lambda value: isinstance(value, str) and pattern.search(value) is not None


def _in_range(found: re.Match[str]) -> Predicate:
    low, high = float(found[1]), float(found[2])
    return lambda value: is_number(value) and low <= value <= high


def _roughly(found: re.Match[str]) -> Predicate:
    expected = float(found[1])
    low, high = sorted((expected * 0.5, expected * 1.5))
    return lambda value: is_number(value) and low <= value <= high


def _has_length(found: re.Match[str]) -> Predicate:
    length = int(found[1] or found[2])
    return lambda value: isinstance(value, list) and len(value) == length


def _has_at_least(found: re.Match[str]) -> Predicate:
    length = int(found[1])
    return lambda value: isinstance(value, list) and len(value) >= length


def _has_element(found: re.Match[str]) -> Predicate:
    return lambda value: isinstance(value, list) and found[1] in map(text_form, value)


def _lacks_element(found: re.Match[str]) -> Predicate:
    return lambda value: isinstance(value, list) and found[1] not in map(text_form, value)


_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Predicate]], ...] = tuple(
    (name, re.compile(pattern, re.DOTALL | re.ASCII), build)
    for name, pattern, build in (
        ("string:contains:X", r"string:contains:(.*)", _contains_text),
        ("string:pattern(RE)", r"string:pattern\((.*)\)", _searches),
        ("number:range(A,B)", rf"number:range\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)", _in_range),
        ("~N", rf"~({_NUMBER})", _roughly),
        ("array:length:N", r"array:length(?::(\d+)|\((\d+)\))", _has_length),
        ("array:min_length:N", r"array:min(?:_length)?:(\d+)", _has_at_least),
        ("contains:X", r"contains:(.*)", _has_element),
        ("not_contains:X", r"not_contains:(.*)", _lacks_element),
    )
)
_RESERVED = ("string:", "number:", "array:")


def word_predicate(text: str) -> Predicate | None:
    """Return the test that a matcher string stands for, or None when it is a plain literal."""
    if text in _WORDS:
        return _WORDS[text]
    for _, pattern, build in _FORMS:
        if found := pattern.fullmatch(text):
            return build(found)
    if text.startswith(_RESERVED):
        known = [*_WORDS, *(name for name, _, _ in _FORMS)]
        raise BadMatcher(f"unknown matcher {text!r} ({nearest(text, known)})")
    return None
