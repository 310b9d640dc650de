"""Finds error codes and defaults that tables of texts give differently."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from conformance.spec.texts.page import Page, Row

_CODE: Final = re.compile(r"`?([A-Za-z]+(?:_[A-Za-z]+)*)`?")
_CODES: Final = ("canonical code", "error code", "ojs error code", "code")
_STATUSES: Final = ("http status", "http code", "http status code")
_MEMBERS: Final = ("field", "parameter", "attribute", "option", "configuration", "member")
_PLAIN: Final = re.compile(r"`([^`]+)`")
_NONE: Final = ("null", "none", "--", "[]", "{}")

Fact = tuple[str, str]


def value_problems(pages: Iterable[Page]) -> Iterator[str]:
    """Yield statuses, retryability and defaults that two tables give differently."""
    pages = list(pages)
    for noun, read in (("status", _status), ("retryable", _retryable), ("default", _default)):
        yield from _differences(pages, noun, read)


def _differences(pages: list[Page], noun: str, read: Callable[[Row], Fact | None]) -> Iterator[str]:
    found: dict[str, dict[str, str]] = {}
    for page in pages:
        for row in page.rows:
            if fact := read(row):
                found.setdefault(fact[0], {}).setdefault(fact[1], f"{page.name}:{row.line}")
    for name, values in found.items():
        (first, place), *others = values.items()
        for value, other in others:
            yield f"{other}: {noun} of {name} is {value}; {place} has {first}"


def _code(row: Row) -> str | None:
    for head in _CODES:
        match = _CODE.fullmatch(row.cells.get(head, ""))
        if match:
            return match[1].lower()
    return None


def _status(row: Row) -> Fact | None:
    cell = next((row.cells[head] for head in _STATUSES if head in row.cells), "")
    match = re.fullmatch(r"`?([45]\d\d)`?(?: .*)?", cell)
    code = _code(row)
    return (code, match[1]) if code and match else None


def _retryable(row: Row) -> Fact | None:
    words = re.findall(r"\w+", row.cells.get("retryable", row.cells.get("default retryable", "")))
    value = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
    code = _code(row)
    known = len(words) == 1 and words[0].lower() in value
    return (code, value[words[0].lower()]) if code and known else None


def _default(row: Row) -> Fact | None:
    """Return the default of a member whose name is of several words, so that it means one thing."""
    name = member_of(row)
    values = _PLAIN.findall(row.cells.get("default", ""))
    if name and "_" in name and len(values) == 1 and values[0] not in _NONE:
        return name, values[0].strip('"')
    return None


def member_of(row: Row) -> str | None:
    """Return the member that a row is about, if it is about one."""
    name = next((row.cells[head] for head in _MEMBERS if head in row.cells), "")
    match = re.fullmatch(r"`([\w.]+)`", name)
    return match[1] if match else None
