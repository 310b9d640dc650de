"""Sources of clauses: places in the published texts, published cases, and what is only ours."""

import re
from typing import Final

import msgspec

# Sources outside the published texts of the standard.
OURS: Final = ("extension", "decision", "clients")

_PLACE = re.compile(
    r"(?P<against>against )?(?:case (?P<case>[A-Za-z0-9][A-Za-z0-9._-]*)"
    r"|(?P<text>[a-z][a-z-]*)(?: (?P<section>[0-9A-Z][0-9A-Za-z.]*))?:(?P<line>[1-9][0-9]*))"
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A published case, or a line of a published text, that says what a clause says or, with
    `against`, the opposite."""

    case: str = ""
    text: str = ""
    section: str = ""
    line: int = 0
    against: bool = False


def place_of(source: str) -> Place | None:
    """Return the place that a source names; None for a whole text and for what is ours."""
    found = _PLACE.fullmatch(source)
    if found is None:
        return None
    return Place(
        case=found["case"] or "",
        text=found["text"] or "",
        section=found["section"] or "",
        line=int(found["line"] or 0),
        against=found["against"] is not None,
    )


def tag_of(source: str) -> str:
    """Return the text that a source is of: `cases` for a published case, `decision` for a row."""
    place = place_of(source)
    if place is None:
        return source.partition(" ")[0]
    return place.text or "cases"
