"""Cursors and ids of events in the log, as clients see them."""

from collections.abc import Mapping
from typing import Final

from ojs_server.domain.errors import invalid
from ojs_wire.values import UUID7, position_of, position_uuid

_NAMES: Final = 100


def cursor_of(place: int) -> str:
    """Return a cursor in the form of an event's id."""
    return "evt_" + position_uuid(0, place)


def is_place(text: str) -> bool:
    """True if the text is the id of an event or a cursor."""
    return text.startswith("evt_") and UUID7.fullmatch(text[4:]) is not None


def position(after: str | None, parameter: str) -> int:
    """Return the position of an event's id or of a cursor; 0 without one."""
    if not after:
        return 0
    if not is_place(after):
        raise invalid(parameter, "must be an event's id or the cursor of an earlier page")
    return min(position_of(after[4:]), 2**63 - 1)


def names(query: Mapping[str, str], parameter: str) -> tuple[str, ...]:
    """Split a list of names that is joined by commas."""
    found = tuple(name for name in query.get(parameter, "").split(",") if name)
    if len(found) > _NAMES:
        raise invalid(parameter, f"must hold at most {_NAMES} names, separated by commas")
    return found
