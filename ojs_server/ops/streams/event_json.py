"""The JSON form of events for clients, with ids that carry their positions in the log."""

from ojs_server.store.records import PlacedEvent
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp, position_uuid


def envelope(placed: PlacedEvent, source: str) -> bytes:
    """Return one event as JSON."""
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
    """Return an event id that carries the event's position in the log."""
    return "evt_" + position_uuid(placed.at, placed.position)
