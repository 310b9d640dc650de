"""The event log, read page by page."""

from ojs_server.domain.cloud_event import MEDIA_TYPE, cloud_event
from ojs_server.domain.errors import invalid
from ojs_server.domain.naming import nearest
from ojs_server.http import streams
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import number
from ojs_server.http.placed import cursor_of, names, position
from ojs_server.http.sse import EVENT_STREAM
from ojs_server.http.views import array
from ojs_server.ops.envelope import envelope
from ojs_server.store.records import EventFilter

_LIMIT = 100
_MOST = 1000
_FORMATS = ("catalogue", "cloudevents")


async def poll(call: Call) -> Answer:
    """Events after a cursor, oldest first, with filters."""
    accept = call.header("accept") or ""
    if EVENT_STREAM in accept:
        return await streams.everything(call)
    query = call.query()
    form = query.get("format") or ("cloudevents" if MEDIA_TYPE in accept else "catalogue")
    if form not in _FORMATS:
        raise invalid("format", f"must be one of {', '.join(_FORMATS)}{nearest(form, _FORMATS)}")
    after = position(query.get("after"), "after")
    limit = number(query, "limit", _LIMIT, 1, _MOST)
    wanted = EventFilter(
        types=names(query, "types"),
        queues=names(query, "queues"),
        job_types=names(query, "job_types"),
        tenant=call.tenant,
    )
    page = await call.server.engine.read(lambda reader: reader.events(after, wanted, limit))
    source = call.server.settings.source
    shown = (envelope(placed, source) for placed in page.events)
    # The cursor goes on from what was looked at, wanted or not.
    cursor = cursor_of(page.cursor) if page.cursor else None
    return Answer(
        array(
            "events",
            map(cloud_event, shown) if form == "cloudevents" else shown,
            cursor=cursor,
            has_more=page.has_more,
        )
    )
