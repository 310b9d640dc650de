"""The fields of a cron expression: the values each allows, and parsing one into numbers."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.suggestions import nearest


class Field(msgspec.Struct, frozen=True):
    """One position of an expression: its name, its range, and the names its numbers have."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = {}

    @property
    def allowed(self) -> str:
        """Return the values that the field allows, for error messages."""
        words = list(self.names)
        span = f"{self.lowest}-{self.highest}"
        return f"{span} or {words[0]}-{words[-1]}" if words else span


_MONTHS: Final = (
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
)
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

SECOND: Final = Field("second", 0, 59)
MINUTE: Final = Field("minute", 0, 59)
HOUR: Final = Field("hour", 0, 23)
DAY_OF_MONTH: Final = Field("day-of-month", 1, 31)
MONTH: Final = Field("month", 1, 12, {name: at for at, name in enumerate(_MONTHS, 1)})
# 0 and 7 are both Sunday.
DAY_OF_WEEK: Final = Field("day-of-week", 0, 7, {name: at for at, name in enumerate(_WEEKDAYS)})

_TERM: Final = re.compile(
    r"(?P<first>\*|[0-9]+|[A-Z]+)(?:-(?P<last>[0-9]+|[A-Z]+))?(?:/(?P<step>[0-9]+))?", re.ASCII
)
_NEAREST_WEEKDAY: Final = re.compile(r"([0-9]+)W", re.ASCII)
_LAST_OF_KIND: Final = re.compile(r"([0-9]|[A-Z]{3})L", re.ASCII)
_NTH_OF_KIND: Final = re.compile(r"([0-9]+|[A-Z]+)#([0-9]+)", re.ASCII)


class DaysOfMonth(msgspec.Struct, frozen=True):
    """`15`, `15W` (the weekday nearest to the 15th), `L` (the last day), `LW` (its last weekday).

    `star` says that the field starts with `*`, which decides how it joins the day of week.
    """

    star: bool
    days: frozenset[int] = frozenset()
    nearest: frozenset[int] = frozenset()
    last: bool = False
    last_weekday: bool = False


class DaysOfWeek(msgspec.Struct, frozen=True):
    """`5`, `5L` (the month's last Friday), `5#2` (its second Friday); Sunday is 0."""

    star: bool
    days: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()


def parse_numbers(field: Field, text: str) -> tuple[int, ...]:
    """Read a field that holds only numbers, names, ranges, steps and lists."""
    return tuple(sorted({value for term in _terms(field, text) for value in _span(field, term)}))


def parse_days_of_month(text: str) -> DaysOfMonth:
    """Read the day of month, with `L`, `LW` and `15W`."""
    days: set[int] = set()
    near: set[int] = set()
    terms = list(_terms(DAY_OF_MONTH, text))
    for term in terms:
        if match := _NEAREST_WEEKDAY.fullmatch(term):
            near.add(_number(DAY_OF_MONTH, match[1]))
        elif term not in ("L", "LW"):
            days.update(_span(DAY_OF_MONTH, term))
    return DaysOfMonth(
        star=text.startswith("*"),
        days=frozenset(days),
        nearest=frozenset(near),
        last="L" in terms,
        last_weekday="LW" in terms,
    )


def parse_days_of_week(text: str) -> DaysOfWeek:
    """Read the day of week, with `5L` and `5#2`."""
    days: set[int] = set()
    last: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for term in _terms(DAY_OF_WEEK, text):
        if match := _LAST_OF_KIND.fullmatch(term):
            last.add(_number(DAY_OF_WEEK, match[1]) % 7)
        elif match := _NTH_OF_KIND.fullmatch(term):
            if not 1 <= int(match[2]) <= 5:
                refuse(DAY_OF_WEEK, term, "must have 1 to 5 after `#`")
            nth.add((_number(DAY_OF_WEEK, match[1]) % 7, int(match[2])))
        elif term == "L":
            refuse(DAY_OF_WEEK, term, "needs its day, like 5L for the month's last Friday")
        else:
            days.update(value % 7 for value in _span(DAY_OF_WEEK, term))
    return DaysOfWeek(
        star=text.startswith("*"), days=frozenset(days), last=frozenset(last), nth=frozenset(nth)
    )


def refuse(field: Field, term: str, why: str) -> NoReturn:
    """Raise the error about a part of an expression."""
    raise invalid(
        "expression",
        f"has the {field.name} `{term}`, which {why}",
        part=field.name,
        given=term,
        allowed=field.allowed,
    )


def _terms(field: Field, text: str) -> Iterator[str]:
    for term in text.upper().split(","):
        if not term:
            refuse(field, text, "holds an empty list entry")
        yield term


def _span(field: Field, term: str) -> range:
    """Return the numbers that `*`, `5`, `5-10`, `*/15`, `5/15` or `5-10/2` stand for."""
    match = _TERM.fullmatch(term)
    if match is None or (match["first"] == "*" and match["last"]):
        refuse(field, term, f"cannot be read; allowed: {field.allowed}, `*`, ranges, lists, steps")
    first, last = field.lowest, field.highest
    if match["first"] != "*":
        first = _number(field, match["first"])
        if match["last"]:
            last = _number(field, match["last"])
        elif not match["step"]:
            last = first
    if last == 0 < first and field is DAY_OF_WEEK:
        last = 7
    if last < first:
        refuse(field, term, f"runs backwards; write {first}-{field.highest},{field.lowest}-{last}")
    return range(first, last + 1, _step(field, term, match["step"]))


def _step(field: Field, term: str, text: str | None) -> int:
    step = 1 if text is None else int(text)
    most = field.highest - field.lowest + 1
    if not 1 <= step <= most:
        refuse(field, term, f"has the step {step}; allowed: 1-{most}")
    return step


def _number(field: Field, text: str) -> int:
    if text in field.names:
        return field.names[text]
    if not text.isdecimal():
        refuse(field, text, f"is not known; allowed: {field.allowed}{nearest(text, field.names)}")
    value = int(text)
    if not field.lowest <= value <= field.highest:
        refuse(field, text, f"is out of range; allowed: {field.allowed}")
    return value
