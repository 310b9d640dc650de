"""The event log, read page by page."""

from ojs_server.domain.errors import invalid
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import number
from ojs_server.http.views import array
from ojs_server.store.base import EventFilter, PlacedEvent
from ojs_wire.codec import encode
from ojs_wire.values import UUID7, format_timestamp, position_of, position_uuid

_LIMIT = 100
_MOST = 1000
_NAMES = 100


async def poll(call: Call) -> Answer:
    """Events after a cursor, oldest first, with filters."""
    query = call.query()
    after = _position(query.get("after"))
    limit = number(query, "limit", _LIMIT, 1, _MOST)
    wanted = EventFilter(
        types=_names(query, "types"),
        queues=_names(query, "queues"),
        job_types=_names(query, "job_types"),
    )
    page = await call.server.engine.read(lambda reader: reader.events(after, wanted, limit))
    source = call.server.settings.source
    # The cursor goes on from what was looked at, wanted or not.
    cursor = "evt_" + position_uuid(0, page.cursor) if page.cursor else None
    return Answer(
        array(
            "events",
            (envelope(placed, source) for placed in page.events),
            cursor=cursor,
            has_more=page.has_more,
        )
    )


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


def _position(after: str | None) -> int:
    if not after:
        return 0
    if not after.startswith("evt_") or not UUID7.fullmatch(after[4:]):
        raise invalid("after", "must be an event's id or the cursor of an earlier page")
    return min(position_of(after[4:]), 2**63 - 1)


def _names(query: dict[str, str], parameter: str) -> tuple[str, ...]:
    names = tuple(name for name in query.get(parameter, "").split(",") if name)
    if len(names) > _NAMES:
        raise invalid(parameter, f"must hold at most {_NAMES} names, separated by commas")
    return names
