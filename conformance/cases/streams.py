"""Cases of event streams: their paths, their content, reconnecting, and how they end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from conformance.case import case
from conformance.play.event_stream import Frame, Frames, status_of, streaming, unread
from conformance.play.slow_readers import Dropped, dropped, flooded, nothing_lost_unseen
from conformance.play.stage import Stage

STREAMS = "event_streams"
MOVED = "job.state_changed"
_SETTLED_S = 0.5  # a server may begin to listen a moment after it has answered


@asynccontextmanager
async def _listening(stage: Stage, path: str, **more: Any) -> AsyncIterator[Frames]:
    """Open a stream, and give the server time to listen for events."""
    async with streaming(stage, path, **more) as frames:
        await asyncio.sleep(_SETTLED_S)
        yield frames


async def _moved(stage: Stage, frames: Frames, to: str = "active") -> tuple[str, dict[str, Any]]:
    """The id and the data of the next change to a state, whatever else is told."""
    while True:
        frame = await frames.event()
        if frame.event == MOVED and _data(stage, frame).get("to") == to:
            return frame.id, _data(stage, frame)


def _data(stage: Stage, frame: Frame) -> dict[str, Any]:
    """The data of an event, which must be an object."""
    try:
        data = frame.json
    except msgspec.DecodeError:
        data = None
    stage.check(isinstance(data, dict), "an object of JSON as data", frame.data)
    return dict(data)


@case("OJS-STR-001", "OJS-STR-004", "OJS-STR-006", "OJS-STR-008", capability=STREAMS)
async def places(stage: Stage) -> None:
    """The changes of a queue's jobs and those of a job are streamed, each at its place."""
    for of_queue in (True, False):
        queue = stage.name()
        job = await stage.enqueue(queue)
        path = f"queues/{queue}/events" if of_queue else f"jobs/{job['id']}/events"
        async with _listening(stage, path) as frames:
            media = frames.headers["content-type"].partition(";")[0].strip().lower()
            stage.equal(media, "text/event-stream", "Content-Type")
            await stage.take(queue)
            name, data = await _moved(stage, frames)
        stage.check(name != "", "an id", data)
        expected = {"job_id": job["id"], "queue": queue, "type": "test.case", "from": "available"}
        stage.equal(data, data | expected, "data")
        stage.check("timestamp" in data, "timestamp", data)


@case("OJS-STR-001", "OJS-STR-028", "OJS-STR-030", "OJS-STR-013", "OJS-STR-025", capability=STREAMS)
async def places_of_all_events(stage: Stage) -> None:
    """All events are streamed at one place, narrowed by channels, and no stream is kept."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    at: tuple[tuple[str, dict[str, Any]], ...] = (
        ("events/stream", {"queues": queue}),
        (f"queues/{queue}/events", {}),
        (f"jobs/{job['id']}/events", {}),
        ("events/stream", {"channel": f"queue:{queue}"}),
        ("events/stream", {"channel": f"job:{job['id']}"}),
    )
    for path, query in at:
        async with streaming(stage, path, **query) as frames:
            stage.equal(frames.headers.get("cache-control"), "no-store", "Cache-Control")
            first = await frames.next()
            stage.equal(first.retry if first else None, "3000", "retry of the first frame")
            await stage.take(queue)
            frame = await frames.event()
            stage.check(job["id"] in frame.data, "the job in the event", frame.data)
        (await stage.fail(job, requeue=True)).expect(200)


@case("OJS-STR-002", "OJS-STR-005", "OJS-STR-007", "OJS-STR-011", "OJS-STR-031", capability=STREAMS)
async def events_as_in_the_log(stage: Stage) -> None:
    """Frames are the events of the log, chosen and in order as there."""
    queue, other = stage.name(), stage.name()
    chosen: dict[str, Any] = {
        "types": "job.started",
        "event_types": "job.completed",
        "queue": queue,
    }
    async with streaming(stage, "events", **chosen) as frames:
        await frames.next()
        for _ in range(3):
            await stage.done(queue)
            await stage.done(other)
        found = [await frames.event() for _ in range(6)]
    logged = await stage.events(queue, types="job.started,job.completed")
    stage.equal([frame.id for frame in found], [event["id"] for event in logged], "ids")
    for frame, event in zip(found, logged, strict=True):
        stage.equal(frame.event, event["type"], "event")
        # There may be copies of members besides.
        stage.equal(frame.json, frame.json | dict(event), "data")


@case("OJS-STR-026", "OJS-STR-027", capability=STREAMS)
async def copies_at_the_top(stage: Stage) -> None:
    """Events say at the top what they are about; the filter `events` adds the emitter's names."""
    queue = stage.name()
    kinds = "job.enqueued,job.cancelled"
    async with (
        streaming(stage, "events/stream", queue=queue) as log,
        streaming(stage, "events/stream", queue=queue, format="realtime") as moves,
        streaming(stage, "events/stream", queue=queue, events=kinds) as emitter,
    ):
        for frames in (log, moves, emitter):
            await frames.next()
        job = await stage.enqueue(queue)
        await stage.take(queue)
        (await stage.delete(f"jobs/{job['id']}")).expect(200)
        (await stage.post(f"queues/{queue}/pause")).expect(200)
        logged = [await log.event() for _ in range(4)]
        moved = [await moves.event() for _ in range(4)]
        emitted = [await emitter.event() for _ in range(2)]
    about = {"job_id": job["id"], "queue": queue}
    for frame in (*logged[:3], *moved[:3]):
        expected = {"event": frame.event, **about}
        stage.equal(frame.json, frame.json | expected, "data of an event of a job")
    for frame in (logged[3], moved[3]):
        expected = {"event": "queue.paused", "queue": queue}
        stage.equal(frame.json, frame.json | expected, "data of an event of a queue")
        stage.check("job_id" not in frame.json, "no job_id", frame.json)
    stage.equal([frame.event for frame in emitted], kinds.split(","), "chosen events")
    for frame, state in zip(emitted, ("available", "cancelled"), strict=True):
        shown = frame.json
        camel = {"jobId": job["id"], "jobType": "test.case", "state": state, **about}
        stage.equal(shown, shown | camel | {"timestamp": shown["time"]}, "the emitter's members")


@case("OJS-EVT-020", capability=STREAMS)
async def cloud_events(stage: Stage) -> None:
    """A stream's frames are CloudEvents where that is asked for."""
    queue = stage.name()
    async with streaming(stage, "events/stream", queue=queue, format="cloudevents") as frames:
        await frames.next()
        await stage.enqueue(queue)
        frame = await frames.event()
    (event,) = (await stage.get("events", queues=queue, format="cloudevents")).expect(200)["events"]
    stage.equal(frame.event, "org.openjobspec.job.enqueued", "event")
    stage.equal(frame.json, dict(event), "data")


@case("OJS-STR-005", capability=STREAMS)
async def chosen_types(stage: Stage) -> None:
    """A stream that is narrowed to another type does not tell of changes of state."""
    queue = stage.name()
    await stage.enqueue(queue)
    kinds = "job.heartbeat,job.progress"
    async with _listening(stage, f"queues/{queue}/events", event_types=kinds) as frames:
        await stage.take(queue)
        await asyncio.sleep(2)
        found = [frame.event for frame in frames.so_far() if frame.event]
    stage.check(not set(found) - set(kinds.split(",")), "only events that were asked for", found)


@case("OJS-STR-008", level=1, capability=STREAMS)
async def the_stream_of_a_job(stage: Stage) -> None:
    """A job's stream tells its changes of state."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    async with _listening(stage, f"jobs/{job['id']}/events") as frames:
        await stage.take(queue)
        await _moved(stage, frames)
        (await stage.ack(job)).expect(200)
        _, data = await _moved(stage, frames, "completed")
    stage.equal([data.get("job_id"), data.get("from")], [job["id"], "active"], "data")


@case("OJS-STR-017", level=1, capability=STREAMS)
async def the_end_of_a_job(stage: Stage) -> None:
    """A job's stream ends with the job; that of a job that has ended says its state, and ends."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    path = f"jobs/{job['id']}/events"
    async with _listening(stage, path) as frames:
        await stage.take(queue)
        (await stage.ack(job)).expect(200)
        await frames.events_to_the_end()
    async with streaming(stage, path) as frames:
        late = [frame for frame in await frames.events_to_the_end() if frame.event == MOVED]
    states = [_data(stage, frame).get("to") for frame in late]
    stage.equal(states, ["completed"], "a job that has ended")


@case(
    *("OJS-STR-008", "OJS-STR-010", "OJS-STR-017", "OJS-STR-018", "OJS-STR-032", "OJS-STR-036"),
    level=1,
    capability=STREAMS,
)
async def chosen_moves_of_a_job(stage: Stage) -> None:
    """A job's stream is narrowed by the name of its frames, and keeps browsers away at its end."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    async with streaming(stage, f"jobs/{job['id']}/events", types="job.state_changed") as frames:
        await frames.next()
        await stage.take(queue)
        (await stage.ack(job)).expect(200)
        found = await frames.events_to_the_end()
    events = [frame for frame in found if frame.event]
    stage.equal({frame.event for frame in events} == {"job.state_changed"}, True, "chosen events")
    # Events that were stored just before the stream began may be included.
    states = [frame.json["to"] for frame in events]
    stage.equal(states[-2:], ["active", "completed"], "states")
    data = events[-1].json
    stage.equal(
        [data["job_id"], data["queue"], data["type"], data["from"]],
        [job["id"], queue, "test.case", "active"],
        "data",
    )
    stage.check("timestamp" in data, "timestamp", data)
    stage.check("3600000" in [frame.retry for frame in found], "retry at the end", len(found))
    async with streaming(stage, f"jobs/{job['id']}/events") as frames:
        late = [frame for frame in await frames.events_to_the_end() if frame.event]
    stage.equal([frame.json["to"] for frame in late], ["completed"], "a job that has ended")


@case("OJS-STR-003", capability=STREAMS)
async def streams_that_are_not_there(stage: Stage) -> None:
    """A stream of an unknown job or queue is 404."""
    await stage.enqueue(stage.name())
    headers = {"Accept": "text/event-stream"}
    for path in (f"jobs/{stage.new_id()}/events", f"queues/{stage.name()}/events"):
        (await stage.call("GET", path, headers=headers)).expect(404)


@case("OJS-STR-016", "OJS-STR-029", capability=STREAMS)
async def channels_and_places_that_are_not_there(stage: Stage) -> None:
    """A channel waits for the first job of its queue; a place in the query that is none is 400."""
    headers = {"Accept": "text/event-stream"}
    queue = stage.name()
    async with streaming(stage, "events/stream", channel=f"queue:{queue}") as frames:
        await frames.next()
        job = await stage.enqueue(queue)
        first = await frames.event()
        stage.equal(first.json["subject"], job["id"], "the first event of a new queue")
    wrong = await stage.call("GET", "events/stream", headers=headers, channel="queue:No name")
    wrong.error(400, "invalid_request")
    for name in ("after", "since", "last_event_id"):
        place: dict[str, Any] = {name: "nonsense"}
        reply = await stage.call("GET", "events/stream", headers=headers, **place)
        reply.error(400, "invalid_request")


@case("OJS-STR-012", level=1, capability=STREAMS, seconds=90)
async def silence_is_told(stage: Stage) -> None:
    """A stream without events sends a comment at least every 15 seconds."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with streaming(stage, f"queues/{queue}/events") as frames:

        async def is_reported() -> bool:
            return "heartbeat" in (comment.strip() for comment in frames.comments)

        await stage.until(is_reported, 20, "the comment :heartbeat")


@case("OJS-STR-033", level=1, capability=STREAMS, seconds=90)
async def silence_has_a_place(stage: Stage) -> None:
    """The comment of a silent stream has an id."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with streaming(stage, f"queues/{queue}/events") as frames:
        await frames.next()
        quiet = await frames.next(25)
        stage.check(quiet is not None and quiet.comment == "heartbeat", ":heartbeat", str(quiet))
        stage.check(quiet is not None and quiet.id != "", "an id", str(quiet))


@case("OJS-STR-014", "OJS-STR-015", level=1, capability=STREAMS)
async def coming_back(stage: Stage) -> None:
    """A reader that reconnects with its last id is told what it missed, or that it missed some."""
    queue = stage.name()
    for _ in range(3):
        await stage.enqueue(queue)
    path = f"queues/{queue}/events"
    async with _listening(stage, path) as frames:
        await stage.take(queue)
        last, _ = await _moved(stage, frames)
    missed = {(await stage.take(queue))["id"] for _ in range(2)}
    async with streaming(stage, path, headers={"Last-Event-ID": last}) as frames:
        while missed:
            frame = await frames.event()
            data = _data(stage, frame)
            if frame.event == "system.gap":
                members = {"channel", "gap_start", "gap_end"}
                stage.check(members <= set(data), "what was missed", frame.data)
                return
            if frame.event == MOVED and data.get("to") == "active":
                missed.discard(data.get("job_id"))


@case("OJS-STR-014", "OJS-STR-015", "OJS-STR-034", "OJS-STR-035", level=1, capability=STREAMS)
async def places_in_the_log(stage: Stage) -> None:
    """A stream begins behind an id of the log, by header or query; a foreign one is a gap."""
    queue = stage.name()
    for _ in range(4):
        await stage.enqueue(queue)
    ids = [event["id"] for event in await stage.events(queue)]
    place = ids[1]
    for headers, query in (
        ({"Last-Event-ID": place}, {}),
        ({}, {"after": place}),
        ({}, {"since": place}),
        ({}, {"last_event_id": place}),
        ({"Last-Event-ID": place}, {"after": ids[3]}),
    ):
        given = {"queues": queue, **query}
        async with streaming(stage, "events/stream", headers=headers, **given) as frames:
            missed = [(await frames.event()).id for _ in range(2)]
            stage.equal(missed, ids[2:4], f"what was missed, by {headers or query}")
    foreign = {"Last-Event-ID": "evt_of-another-server"}
    async with streaming(stage, "events/stream", headers=foreign, queues=queue) as frames:
        gap = await frames.event()
        stage.equal(gap.event, "system.gap", "event")
        stage.check({"gap_start", "gap_end"} <= set(gap.json), "gap_start and gap_end", gap.data)
        await stage.enqueue(queue)
        stage.equal((await frames.event()).event, "job.enqueued", "the stream goes on")


@case("OJS-STR-024", own_server="small", capability=STREAMS)
async def only_so_many(stage: Stage) -> None:
    """A server that holds as many streams as it may refuses another one until one has ended."""
    place = "events/stream"

    async def is_given() -> bool:
        return await status_of(stage, place) == 200

    async with streaming(stage, place):
        async with streaming(stage, place):
            for _ in range(2):
                stage.equal(await status_of(stage, place), 503, "status of a third stream")
        await stage.until(is_given, 10, "room for another stream")


@case("OJS-STR-021", "OJS-STR-022", "OJS-STR-037", own_server="small", capability=STREAMS)
async def read_too_late(stage: Stage) -> None:
    """A slow reader is told which events were dropped, and then gets the newest ones."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with unread(stage, f"queues/{queue}/events") as begin:
        logged = await flooded(stage, queue)
        frames = begin()
        received: list[str | Dropped] = []
        comment = ""
        while logged[-1] not in received[-1:]:
            frame = await frames.next()
            if frame is None:
                break
            comment = frame.comment or comment
            if frame.event == "system.events_dropped":
                found = dropped(stage, frame.json, f"queue:{queue}")
                stage.equal(comment, f"events-dropped {found.dropped_count}", "the comment before")
                received.append(found)
                comment = ""
            elif frame.event:
                received.append(frame.id)
    await nothing_lost_unseen(stage, queue, logged, received)


@case("OJS-STR-019", own_server="main", capability=STREAMS, seconds=120)
async def stopping_ends_streams(stage: Stage) -> None:
    """A server that is told to stop says so in the streams of queues and jobs, and ends them."""
    assert stage.process is not None
    queue = stage.name()
    job = await stage.enqueue(queue)
    async with (
        streaming(stage, f"queues/{queue}/events") as first,
        _listening(stage, f"jobs/{job['id']}/events") as second,
    ):
        stopping = asyncio.create_task(stage.process.stop())
        for frames in (first, second):
            names = [frame.event for frame in await frames.events_to_the_end()]
            stage.check("server.shutdown" in names, "server.shutdown", names)
        await stopping


@case(
    "OJS-STR-019",
    "OJS-STR-028",
    "OJS-STR-038",
    "OJS-DUR-008",
    own_server="main",
    capability=STREAMS,
    seconds=120,
)
async def stopping_ends_all_streams(stage: Stage) -> None:
    """A server that is told to stop says so in streams of all events and ends with success."""
    assert stage.process is not None
    async with (
        streaming(stage, "events/stream") as first,
        streaming(stage, "events/stream") as second,
    ):
        for frames in (first, second):
            await frames.next()
        await asyncio.sleep(0.5)
        stopping = asyncio.create_task(stage.process.stop())
        for frames in (first, second):
            found = await frames.events_to_the_end()
            names = [frame.event for frame in found]
            stage.check("server.shutdown" in names, "server.shutdown", names)
        stage.equal(await stopping, 0, "exit code")
