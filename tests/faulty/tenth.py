"""Choice of the faults to judge today: a tenth each day, because all of them take minutes."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Final, TypeVar

TENTHS: Final = 10
VARIABLE: Final = "OJS_FAULTS_TENTH"

Item = TypeVar("Item")


def tenth_of(items: Sequence[Item], tenth: int) -> list[Item]:
    """Return each tenth item, beginning at `tenth`, so that neighbours are on different days."""
    return list(items[tenth % TENTHS :: TENTHS])


def today() -> date:
    """The day, the same everywhere."""
    return datetime.now(UTC).date()


def tenth_on(day: date, environ: Mapping[str, str] = os.environ) -> int:
    """Return the number that the environment names, else the day of the year."""
    given = environ.get(VARIABLE)
    if given and not (given.isascii() and given.isdigit()):
        raise SystemExit(f"{VARIABLE} must be a number, not {given!r}")
    number = int(given) if given else day.timetuple().tm_yday
    return number % TENTHS
