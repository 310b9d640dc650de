"""Events and their places in the log, as the wire shows and names them."""

from typing import Final

from ojs_server.domain.errors import invalid
from ojs_server.store.records import PlacedEvent
from ojs_wire.codec import encode
from ojs_wire.values import UUID7, format_timestamp, position_of, position_uuid

_NAMES: Final = 100


def envelope(placed: PlacedEvent, source: str) -> bytes:
    """One event as JSON."""
    event = placed.event
    head = encode(
        {
            "specversion": "1.0",
            "id": event_id(placed),
            "type": event.type,
            "source": source,
            "time": format_timestamp(placed.at),
            "subject": event.subject,
            "datacontenttype": "application/json",
        }
    )
    return head[:-1] + b',"data":' + event.data + b"}"


def event_id(placed: PlacedEvent) -> str:
    """An id that carries the event's place in the log."""
    return "evt_" + position_uuid(placed.at, placed.position)


def cursor_of(place: int) -> str:
    """A cursor in the form of an event's id."""
    return "evt_" + position_uuid(0, place)


def is_place(text: str) -> bool:
    """Whether a text is an event's id or a cursor."""
    return text.startswith("evt_") and UUID7.fullmatch(text[4:]) is not None


def position(after: str | None, parameter: str) -> int:
    """The place that an event's id or a cursor names; 0 where none is given."""
    if not after:
        return 0
    if not is_place(after):
        raise invalid(parameter, "must be an event's id or the cursor of an earlier page")
    return min(position_of(after[4:]), 2**63 - 1)


def names(query: dict[str, str], parameter: str) -> tuple[str, ...]:
    """The names in a list that is joined by commas."""
    found = tuple(name for name in query.get(parameter, "").split(",") if name)
    if len(found) > _NAMES:
        raise invalid(parameter, f"must hold at most {_NAMES} names, separated by commas")
    return found
