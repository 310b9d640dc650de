"""The event log, read page by page."""

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


async def poll(call: Call) -> Answer:
    """Events after a cursor, oldest first, with filters."""
    if EVENT_STREAM in (call.header("accept") or ""):
        return await streams.everything(call)
    query = call.query()
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
    # The cursor goes on from what was looked at, wanted or not.
    cursor = cursor_of(page.cursor) if page.cursor else None
    return Answer(
        array(
            "events",
            (envelope(placed, source) for placed in page.events),
            cursor=cursor,
            has_more=page.has_more,
        )
    )
