"""Event streams: parsing of the request for one."""

from collections.abc import Awaitable, Callable
from typing import Final, get_args

import msgspec

from ojs_server.domain.errors import Unsupported, invalid
from ojs_server.domain.fields import parse_queue
from ojs_server.domain.jobs.job import Job
from ojs_server.domain.suggestions import nearest
from ojs_server.http import dialects
from ojs_server.http.access.authorization import require_own
from ojs_server.http.access.roles import LOOK, READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.queues.read import known_queue
from ojs_server.http.route import Route
from ojs_server.http.streams.event_cursor import is_place, names, position
from ojs_server.http.streams.event_feed import (
    ClientForm,
    EventStream,
    Form,
    Subscription,
    types_of,
)
from ojs_server.http.streams.progress_stream import NAMES, ProgressStream
from ojs_server.http.streams.sse import EVENT_STREAM, HEADERS
from ojs_server.http.streams.statistics_stream import TYPES, LiveStatsStream, StatsStream
from ojs_server.ops.jobs.settle import missing
from ojs_server.store.records import EventFilter
from ojs_wire.values import UUID7

_FORMATS: Final[tuple[Form, ...]] = get_args(Form)


async def everything(call: Call) -> Answer:
    """Stream all events, or those of the job or queue that `channel` names."""
    channel = call.query_params.get("channel") or "all"
    kind, _, name = channel.partition(":")
    if kind == "job" and name:
        return await _job(call, name, "catalogue")
    if kind == "queue" and name:
        # The queue need not exist: a client may listen before it enqueues the first job.
        return await _open(call, _of_queue(call, parse_queue("channel", name), "catalogue"))
    if channel != "all":
        words = ("all", "job:ID", "queue:NAME")
        raise invalid("channel", f"must be one of {', '.join(words)}{nearest(channel, words)}")
    return await _open(call, _subscription(call, "all", "catalogue", EventFilter()))


async def not_upgraded(call: Call) -> Answer:
    """Answer a plain request to the WebSocket's path: an upgrade is needed."""
    raise Unsupported(
        "this path is a WebSocket; connect to it with ws:// or wss://",
        headers={"Upgrade": "websocket"},
    )


async def of_queue(call: Call) -> Answer:
    """Stream the events of an existing queue and its jobs."""
    name = call.path_params["name"]
    subscription = _of_queue(call, name, "realtime")
    await known_queue(call, name)
    return await _open(call, subscription)


async def of_job(call: Call) -> Answer:
    """Stream the events of one job until it ends."""
    return await _job(call, call.path_params["id"], "realtime")


async def of_progress(call: Call) -> Answer:
    """Stream the progress of one job until it ends."""
    return await _job(call, call.path_params["id"], "catalogue", ProgressStream, tuple(NAMES))


async def of_statistics(call: Call) -> Answer:
    """Stream the statistics at intervals, and the events of jobs."""
    # The public admin UI sends no header, and needs lists where other readers need numbers.
    numbers = dialects.names_version(call)
    form: ClientForm = "catalogue" if numbers else "feed"
    subscription = _subscription(call, "stats", form, EventFilter())
    event_filter = msgspec.structs.replace(subscription.event_filter, types=TYPES)
    subscription = msgspec.structs.replace(subscription, event_filter=event_filter, kinds=TYPES)
    return await _open(call, subscription, kind=StatsStream if numbers else LiveStatsStream)


def _of_queue(call: Call, name: str, form: Form) -> Subscription:
    return _subscription(call, f"queue:{name}", form, EventFilter(queues=(name,)))


async def _job(
    call: Call,
    job_id: str,
    form: Form,
    stream: type[EventStream] = EventStream,
    kinds: tuple[str, ...] | None = None,
) -> Answer:
    if not UUID7.fullmatch(job_id):
        raise missing(job_id[:100])
    await require_own(call, job_id)
    subscription = _subscription(call, f"job:{job_id}", form, EventFilter(subject=job_id))
    if kinds is not None:
        subscription = msgspec.structs.replace(subscription, kinds=kinds)

    async def find() -> Job:
        found = await call.server.engine.read(lambda reader: reader.job(job_id))
        if found is None:
            raise missing(job_id)
        return found[0].job

    return await _open(call, subscription, find, stream)


async def _open(
    call: Call,
    subscription: Subscription,
    find: Callable[[], Awaitable[Job]] | None = None,
    kind: type[EventStream] = EventStream,
) -> Answer:
    log_reader = call.server.engine.log_reader
    follower = log_reader.admit(subscription.event_filter)
    stream = kind(call.server, subscription, follower, call.disconnected())
    try:
        # Events during a replay are in the log anyway. Only streams of a job buffer them, as they
        # are few.
        if subscription.after is None or find is not None:
            await stream.follow()
        # After `follow`, so that an end in between is among the events.
        stream.job = None if find is None else await find()
    except BaseException:
        stream.close()
        raise
    return Answer(stream, headers=HEADERS, media_type=EVENT_STREAM)


def _subscription(
    call: Call, channel: str, form: ClientForm, event_filter: EventFilter
) -> Subscription:
    query = call.query_params
    if form == "catalogue" and "events" in query:
        # Only the emitter of the Express adapter calls the filter by this name.
        form = "emitter"
    if given := query.get("format"):
        known = next((form for form in _FORMATS if form == given), None)
        if known is None:
            allowed = ", ".join(_FORMATS)
            raise invalid("format", f"must be one of {allowed}{nearest(given, _FORMATS)}")
        form = known
    kinds = names(query, "types") + names(query, "event_types") + names(query, "events")
    # The stream of a job is filtered later, as it must see the end of the job.
    sifted = event_filter.subject is not None
    event_filter = EventFilter(
        types=() if sifted else types_of(kinds, form),
        queues=event_filter.queues or names(query, "queues") + names(query, "queue"),
        job_types=names(query, "job_types"),
        subject=event_filter.subject,
        tenant=call.tenant,
    )
    after: int | None = None
    for parameter in ("since", "last_event_id", "after"):
        if query.get(parameter):
            after = position(query[parameter], parameter)
    # A reconnecting browser sends the header, and the query of its first request.
    last = call.header(b"last-event-id")
    unknown = None
    if last and is_place(last):
        after = position(last, "Last-Event-ID")
    elif last:
        after, unknown = None, last[:255]
    return Subscription(channel, form, event_filter, kinds, after, unknown)


ROUTES: Final = (
    Route("GET", "/events/stream", everything, READ, waits=True, tenanted=True),
    Route("GET", "/queues/{name}/events", of_queue, READ, waits=True, tenanted=True),
    Route("GET", "/jobs/{id}/events", of_job, READ, waits=True, tenanted=True),
    Route("GET", "/jobs/{id}/progress/stream", of_progress, READ, waits=True),
    Route("GET", "/ws", not_upgraded, READ),
    Route("GET", "/admin/stats/stream", of_statistics, LOOK, waits=True),
)
