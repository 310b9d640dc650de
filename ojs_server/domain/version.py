"""Versions of jobs and schemas, and the ranges of versions that a handler takes.

2, "2", "2.0" and "2.0.0" are one version. Within a major version everything is compatible.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ojs_server.domain.errors import invalid

MAX_RANGE: Final = 100
# Nine digits at most, so that every part fits into an integer column.
_PART: Final = r"(?:0|[1-9][0-9]{0,8})"
_VERSION: Final = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}", re.ASCII)
_BOUND: Final = re.compile(rf"(>=|<=|>|<|=)? *({_VERSION.pattern})", re.ASCII)
_RANGE: Final = re.compile(rf" *{_BOUND.pattern}(?:(?: *, *| +){_BOUND.pattern})* *", re.ASCII)


class Version(NamedTuple):
    """A version that can be compared."""

    major: int
    minor: int = 0
    patch: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))


class _Bound(msgspec.Struct, frozen=True):
    relation: str
    version: Version

    def holds(self, version: Version) -> bool:
        match self.relation:
            case ">=":
                return version >= self.version
            case "<=":
                return version <= self.version
            case ">":
                return version > self.version
            case "<":
                return version < self.version
            case "=":
                return version == self.version
        return version.major == self.version.major


Range = tuple[_Bound, ...]


def read_version(value: object) -> Version | None:
    """Return the version in an integer or a text of one to three numbers; None for other values."""
    # JSON does not distinguish 2.0 from 2.
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    text = f"{value:.0f}" if whole else value
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        return None
    return Version(*map(int, text.split(".")))


def parse_version(field: str, value: object) -> Version:
    """Check a version."""
    version = read_version(value)
    if version is None:
        raise invalid(
            field, 'must be an integer or a text like "2", "2.1" or "2.1.0", nine digits a part'
        )
    return version


@lru_cache(maxsize=1024)
def parse_range(field: str, text: str) -> Range:
    """Check a range: bounds that must all hold; `*` for every version."""
    if text.strip(" ") == "*":
        return ()
    if len(text) > MAX_RANGE or not _RANGE.fullmatch(text):
        raise invalid(
            field,
            'must be `*`, a version like "2.0", or bounds like ">=1.0 <3.0", '
            f"{MAX_RANGE} characters at most",
        )
    return tuple(
        _Bound(match[1] or "", parse_version(field, match[2])) for match in _BOUND.finditer(text)
    )


def within(version: Version, bounds: Range) -> bool:
    """True if a version lies in a range."""
    return all(bound.holds(version) for bound in bounds)
