"""The event log, read page by page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.streams.cloud_event import MEDIA_TYPE, cloud_event
from ojs_server.domain.suggestions import nearest
from ojs_server.http import dialects
from ojs_server.http.access.roles import READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.views import array
from ojs_server.http.paging import number, page_of
from ojs_server.http.route import Route
from ojs_server.http.streams import event_stream
from ojs_server.http.streams.event_cursor import cursor_of, names, position
from ojs_server.http.streams.sse import EVENT_STREAM
from ojs_server.ops.streams.event_json import envelope
from ojs_server.store.records import EventFilter, PlacedEvent
from ojs_wire.values import format_timestamp

_LIMIT = 100
_MOST = 1000
_FORMATS = ("catalogue", "cloudevents")


async def poll(call: Call) -> Answer:
    """List events after a cursor, oldest first, with filters; with `page` the newest, newest
    first."""
    accept = call.header(b"accept") or ""
    if EVENT_STREAM in accept:
        return await event_stream.everything(call)
    query = call.query_params
    form = query.get("format") or ("cloudevents" if MEDIA_TYPE in accept else "catalogue")
    if form not in _FORMATS:
        raise invalid("format", f"must be one of {', '.join(_FORMATS)}{nearest(form, _FORMATS)}")
    after = position(query.get("after"), "after")
    event_filter = EventFilter(
        types=names(query, "types") + names(query, "type"),
        queues=names(query, "queues"),
        job_types=names(query, "job_types"),
        tenant=call.tenant,
    )
    source = call.server.settings.source

    def shown(events: Sequence[PlacedEvent]) -> Iterable[bytes]:
        envelopes = (envelope(placed, source) for placed in events)
        return map(cloud_event, envelopes) if form == "cloudevents" else envelopes

    def listed(events: Sequence[PlacedEvent]) -> Iterable[bytes]:
        if form == "cloudevents":
            return shown(events)
        moments = (format_timestamp(placed.at) for placed in events)
        return map(dialects.listed_event, shown(events), moments)

    if query.get("page") or query.get("cursor"):
        part, pagination = await _newest(call, after, event_filter)
        return Answer(array("items", listed(part), pagination=pagination))
    limit = number(query, "limit", _LIMIT, 1, _MOST)
    page = await call.server.engine.read(lambda reader: reader.events(after, event_filter, limit))
    # The cursor passes events that do not match the filter.
    cursor = cursor_of(page.cursor) if page.cursor else None
    return Answer(array("events", shown(page.events), cursor=cursor, has_more=page.has_more))


async def _newest(
    call: Call, after: int, event_filter: EventFilter
) -> tuple[Sequence[PlacedEvent], Mapping[str, Any]]:
    """Read a numbered page, newest first, with its `pagination`; the events on earlier pages are
    counted."""
    page = page_of(call, _LIMIT, _MOST)
    page.refuse_cursor()
    end = page.offset + page.limit
    found = await call.server.engine.read(
        lambda reader: reader.recent_events(after, event_filter, end + 1)
    )
    total = len(found.events)
    exact = not found.has_more
    return (
        found.events[page.offset : end],
        page.describe(total, f"{end}" if total > end else None, total_is_exact=exact),
    )


ROUTES: Final = (Route("GET", "/events", poll, READ, tenanted=True),)
