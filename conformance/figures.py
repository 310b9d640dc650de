"""Figures in sentences: a number with its unit or noun, and whether it is a least or a most."""

import math
import re
from collections.abc import Iterator
from typing import Final

import msgspec

_WORDS: Final = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "hundred": 100,
    "thousand": 1000,
}
# Units by their spellings, with what they measure and how much one is.
_UNITS: Final = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("time", 0.001)),
    **dict.fromkeys(("s", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("min", "minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("time", 3600.0)),
    **dict.fromkeys(("day", "days"), ("time", 86_400.0)),
    **dict.fromkeys(("byte", "bytes"), ("size", 1.0)),
    **dict.fromkeys(("KB", "KiB", "kibibyte", "kibibytes"), ("size", 1024.0)),
    **dict.fromkeys(("MB", "MiB", "mebibyte", "mebibytes"), ("size", 1024.0**2)),
    **dict.fromkeys(("GB", "GiB", "gibibyte", "gibibytes"), ("size", 1024.0**3)),
}
# Nouns that are counted; other nouns are read as none, since any word may follow a number.
_COUNTED: Final = (
    *("channels", "characters", "clauses", "dead letters", "deliveries", "events", "fields"),
    *("frames", "items", "jobs", "levels", "members", "queues", "rounds", "runs", "streams"),
    *("subscriptions", "tags", "types", "values", "words"),
)
_NUMBER: Final = "|".join(sorted(_WORDS, key=len, reverse=True))
_FIGURE: Final = re.compile(
    rf"(?<![\w.,`:/-])(?P<number>\d[\d,]*(?:\.\d+)?|(?:{_NUMBER})(?: hundred| thousand)*)"
    r" (?P<unit>" + "|".join(sorted((*_UNITS, *_COUNTED), key=len, reverse=True)) + r")(?![\w-])"
)
# `a second` is a figure behind these words; elsewhere it may be the second of something.
_ONE: Final = re.compile(r"(?:within|after|for|least|once|than|most|every|to)(?: the)? $")
LEAST: Final = "at least"
MOST: Final = "at most"
_BEFORE: Final = {
    LEAST: re.compile(r"(?:at least|no less than|not less than|no fewer than)(?: \w+)? $"),
    MOST: re.compile(
        r"(?:at most|no more than|not more than|no longer than|never more than|more than|up to"
        r"|over|beyond|within)(?: \w+)? $"
    ),
}
_BEHIND: Final = {
    LEAST: re.compile(r"^ at (?:the )?least"),
    MOST: re.compile(r"^ at (?:the )?most"),
}


class Figure(msgspec.Struct, frozen=True):
    """One figure of a text."""

    number: float
    unit: str  # as it is written
    bound: str = ""  # at least, at most, or neither

    @property
    def measure(self) -> str:
        """Time, size, or the things that it counts."""
        return _UNITS[self.unit][0] if self.unit in _UNITS else self.unit

    @property
    def amount(self) -> float:
        """The figure in seconds, bytes or things."""
        return self.number * (_UNITS[self.unit][1] if self.unit in _UNITS else 1)

    def __str__(self) -> str:
        return f"{self.bound} {self.number:,.10g} {self.unit}".lstrip()


def figures_of(text: str) -> tuple[Figure, ...]:
    """Read the figures of a text."""
    return tuple(dict.fromkeys(_figures(" ".join(text.replace("`", "").split()))))


def _figures(line: str) -> Iterator[Figure]:
    for match in _FIGURE.finditer(line):
        before, behind = line[: match.start()], line[match.end() :]
        if match["number"] in ("a", "an") and not _ONE.search(before):
            continue
        bound = next(
            (name for name in (LEAST, MOST) if _BEFORE[name].search(before)),
            next((name for name in (LEAST, MOST) if _BEHIND[name].match(behind)), ""),
        )
        yield Figure(_number(match["number"]), match["unit"], bound)


def _number(text: str) -> float:
    """Read a number in digits, or in words such as `ten thousand`."""
    if text[0].isdigit():
        return float(text.replace(",", ""))
    return float(math.prod(_WORDS[word] for word in text.split()))


def other_unit(mine: Figure, theirs: Figure) -> bool:
    """Return True for the same number of units that differ: 30 s and 30 ms."""
    return (
        mine.number == theirs.number > 1
        and mine.measure == theirs.measure
        and mine.amount != theirs.amount
    )


def other_bound(mine: Figure, theirs: Figure) -> bool:
    """Return True for a least and a most of the same amount."""
    return (
        mine.measure == theirs.measure
        and mine.amount == theirs.amount
        and {mine.bound, theirs.bound} == {LEAST, MOST}
    )
