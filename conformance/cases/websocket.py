"""Cases of the WebSocket: channels, filters, reconnecting, mistakes, and how it ends."""

import asyncio

from conformance.case import case
from conformance.cases.access import key_of
from conformance.play.slow_readers import Dropped, dropped, flooded, nothing_lost_unseen
from conformance.play.stage import Stage
from conformance.play.websocket import SUBPROTOCOL, UNCLEAN, Socket, connected
from conformance.verdicts.reply import Record

WEBSOCKET = "websocket"
MOVED = "job.state_changed"
MOST_CHANNELS = 100
# A server may close the connection after a refusal, so it is not reused.
HANDSHAKE = {
    "Connection": "Upgrade, close",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


async def _about(socket: Socket, queue: str, count: int) -> list[Record]:
    """The next events of jobs of one queue, whatever else is told."""
    found: list[Record] = []
    while len(found) < count:
        event = await socket.event()
        if event["data"].get("queue") == queue:
            found.append(event)
    return found


async def _answer(socket: Socket, kind: str, **order: object) -> Record:
    """Send an order; its answer, whatever else is told before."""
    await socket.send(**order)
    while True:
        message = await socket.next()
        if message.get("type") in (kind, "error"):
            socket.require(kind, message)
            return message


async def _move(socket: Socket, queue: str) -> Record:
    """The next message that a job of a queue has become active, whatever else is told."""
    while True:
        message = await socket.next()
        if message.get("type") == "event" and message.get("event") == MOVED:
            data = message["data"]
            if data.get("queue") == queue and data.get("to") == "active":
                return message


@case("OJS-WSK-001", capability=WEBSOCKET)
async def opening(stage: Stage) -> None:
    """An upgrade opens a WebSocket, of the subprotocol where it is offered."""
    async with connected(stage, ("other", SUBPROTOCOL)) as socket:
        stage.equal(socket.subprotocol, SUBPROTOCOL, "subprotocol")
    async with connected(stage, ()):
        pass


@case("OJS-WSK-003", "OJS-WSK-005", "OJS-WSK-006", capability=WEBSOCKET)
async def subscribing(stage: Stage) -> None:
    """Everything, a queue and a job are channels; an event names its own, until it is left."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    for channel in (f"job:{job['id']}", f"queue:{queue}", "all"):
        async with connected(stage) as socket:
            granted = await _answer(socket, "subscribed", action="subscribe", channel=channel)
            stage.equal(granted["channel"], channel, "channel of the answer")
            taken = await stage.take(queue)
            message = await _move(socket, queue)
            stage.equal(message["channel"], channel, "channel of the event")
            stage.check(bool(message["id"]), "an id", dict(message))
            data = message["data"]
            expected = {"job_id": taken["id"], "type": "test.case", "from": "available"}
            stage.equal(data, data | expected, "data")
            left = await _answer(socket, "unsubscribed", action="unsubscribe", channel=channel)
            stage.equal(left["channel"], channel, "channel of the answer")
        if not channel.startswith("all"):
            job = await stage.enqueue(queue)


@case("OJS-WSK-004", capability=WEBSOCKET)
async def chosen_types(stage: Stage) -> None:
    """A channel that is narrowed to another type is silent until the filter is replaced."""
    queue = stage.name()
    for _ in range(2):
        await stage.enqueue(queue)
    order = {"action": "subscribe", "channel": f"queue:{queue}"}
    async with connected(stage) as socket:
        taken: dict[str, object] = {}
        for types in (["job.progress"], [MOVED]):
            granted = await _answer(socket, "subscribed", **order, event_types=types)
            stage.equal(granted["event_types"], types, "event_types")
            taken = await stage.take(queue)
            await asyncio.sleep(0.5)  # the event of the first job meets the first filter
        message = await _move(socket, queue)
        stage.equal(message["data"]["job_id"], taken["id"], "the job of the first event")


@case("OJS-WSK-016", capability=WEBSOCKET)
async def opening_without_an_upgrade(stage: Stage) -> None:
    """A call without the upgrade is 422."""
    (await stage.get("ws")).error(422, "unsupported")


@case("OJS-WSK-002", capability=WEBSOCKET)
async def origins(stage: Stage) -> None:
    """A page of the server's own host may connect, and one of another is refused."""
    host = stage.host
    async with connected(stage, headers={"Origin": f"http://{host}"}) as socket:
        await socket.subscribe("all")
    for origin in ("http://example.com", f"http://{host}.example.com", "null"):
        headers = {**HANDSHAKE, "Origin": origin}
        reply = await stage.call("GET", "ws", headers=headers)
        reply.expect(403, {"error.code": "string:nonempty", "error.message": "string:nonempty"})


@case("OJS-WSK-002", capability=WEBSOCKET, own_server="keys")
async def keys(stage: Stage) -> None:
    """A key that may read events may connect; without a key a connection is refused."""
    for headers in ({}, {"Authorization": "Bearer nobody-knows-this-key"}):
        reply = await stage.call("GET", "ws", headers={**HANDSHAKE, **headers})
        reply.error(401, "unauthenticated")
    shown = {"Authorization": f"Bearer {key_of('producer')}"}
    async with connected(stage, headers=shown) as socket:
        await socket.subscribe("all")


@case("OJS-WSK-003", "OJS-WSK-006", "OJS-STR-026", level=1, capability=WEBSOCKET)
async def channels(stage: Stage) -> None:
    """Everything, a queue and a job are channels; each event names its own."""
    queue, other = stage.name(), stage.name()
    job = await stage.enqueue(queue)
    await stage.enqueue(other)
    for channel in ("all", f"queue:{queue}", f"job:{job['id']}"):
        async with connected(stage) as socket:
            granted = await socket.subscribe(channel)
            stage.equal(dict(granted), {"type": "subscribed", "channel": channel}, "answer")
            taken = await stage.take(queue)
            await stage.take(other)
            (event,) = await _about(socket, queue, 1)
            logged = (await stage.events(queue))[-1]
            stage.equal([event["channel"], event["id"]], [channel, logged["id"]], "channel and id")
            stage.equal(event["event"], "job.state_changed", "event")
            stage.check(bool(event["timestamp"]), "a timestamp", dict(event))
            data = event["data"]
            expected = {"job_id": taken["id"], "queue": queue, "type": "test.case", "to": "active"}
            stage.equal({name: data.get(name) for name in expected}, expected, "data")
            copies = [event.get("job_id"), event.get("queue")]
            stage.equal(copies, [taken["id"], queue], "copies at the top")
        (await stage.fail(job, requeue=True)).expect(200)
        await stage.enqueue(other)


@case("OJS-WSK-004", "OJS-WSK-017", "OJS-WSK-018", "OJS-WSK-019", capability=WEBSOCKET)
async def filters(stage: Stage) -> None:
    """A channel is narrowed by event types and queues; `events` has answers of its own."""
    queue, other = stage.name(), stage.name()
    async with connected(stage) as socket:
        chosen = {"event_types": ["job.started"], "queues": [queue]}
        granted = await socket.subscribe("events", filter=chosen)
        stage.equal(granted["action"], "subscribed", "action")
        stage.check(bool(granted["subscription_id"]), "a subscription_id", dict(granted))
        await stage.done(other)
        await stage.done(queue)
        await stage.done(queue)
        found = [await socket.event() for _ in range(2)]
    logged = await stage.events(queue, types="job.started")
    stage.equal([event["id"] for event in found], [event["id"] for event in logged], "ids")
    stage.equal([event["event"] for event in found], ["job.started"] * 2, "events")
    stage.equal(found[0]["data"], dict(logged[0]["data"]), "data")
    async with connected(stage) as socket:
        terms = {"event_types": ["job.completed"], "format": "catalogue"}
        granted = await socket.subscribe(f"queue:{queue}", **terms)
        stage.equal(granted["event_types"], terms["event_types"], "event_types")
        await stage.done(queue)
        stage.equal((await socket.event())["event"], "job.completed", "event")


@case("OJS-WSK-004", "OJS-WSK-005", "OJS-WSK-018", "OJS-WSK-019", capability=WEBSOCKET)
async def another_filter_and_none(stage: Stage) -> None:
    """Subscribing again replaces the filter without a loss; an unsubscribed channel is silent."""
    queue = stage.name()
    await stage.done(queue)
    channel = f"queue:{queue}"
    async with connected(stage) as socket:
        await socket.subscribe(channel, event_types=["job.enqueued"], format="catalogue")
        for _ in range(5):
            await stage.enqueue(queue)
            await socket.send(
                action="subscribe",
                channel=channel,
                event_types=["job.enqueued", "job.cancelled"],
                format="catalogue",
            )
        messages = [await socket.next() for _ in range(10)]
        names = [message["event"] for message in messages if message["type"] == "event"]
        stage.equal(names, ["job.enqueued"] * 5, "events, each once")
        await socket.send(action="unsubscribe", channel=channel)
        answer = await socket.expect("unsubscribed")
        stage.equal(answer["channel"], channel, "channel")
        await stage.enqueue(queue)
        await socket.subscribe("events", filter={"queues": [queue], "event_types": ["job.started"]})
        await stage.take(queue)
        stage.equal((await socket.event())["channel"], "events", "the only open channel")


@case("OJS-WSK-007", capability=WEBSOCKET)
async def in_order(stage: Stage) -> None:
    """A channel has the events of many writers in the order of the log, each once."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with connected(stage) as socket:
        await socket.subscribe(f"queue:{queue}")
        await asyncio.gather(*(stage.enqueue(queue) for _ in range(40)))
        ids = [(await socket.event())["id"] for _ in range(40)]
    logged = [event["id"] for event in await stage.events(queue)]
    stage.equal(ids, logged[1:], "ids")


@case("OJS-WSK-008", level=1, capability=WEBSOCKET)
async def a_job_that_has_ended(stage: Stage) -> None:
    """A channel of a job that has ended says its state once, and stays open."""
    job = await stage.discarded(stage.name())
    async with connected(stage) as socket:
        await socket.subscribe(f"job:{job['id']}")
        event = await socket.event()
        stage.equal(
            [event["event"], event["data"]["to"]], ["job.state_changed", "discarded"], "end"
        )
        stage.check(event.get("id") is None, "no id", dict(event))
        (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(200)
        stage.equal((await socket.event())["data"]["job_id"], job["id"], "job_id")


@case("OJS-WSK-009", capability=WEBSOCKET)
async def resuming_behind_nothing(stage: Stage) -> None:
    """To resume behind an event that the server does not know is an error."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with connected(stage) as socket:
        await _answer(socket, "subscribed", action="subscribe", channel=f"queue:{queue}")
        foreign = "evt_of-another-server"
        error = await _answer(socket, "error", action="resume", last_event_id=foreign)
        stage.equal(error["code"], "unknown_event_id", "code")


@case("OJS-WSK-009", "OJS-WSK-020", capability=WEBSOCKET)
async def resuming(stage: Stage) -> None:
    """A channel begins again behind a named event, be it open before or only afterwards."""
    queue = stage.name()
    for _ in range(4):
        await stage.enqueue(queue)
    ids = [event["id"] for event in await stage.events(queue)]
    channel = f"queue:{queue}"
    for before in (True, False):
        async with connected(stage) as socket:
            if before:
                await socket.subscribe(channel)
            await socket.send(action="resume", last_event_id=ids[1])
            stage.equal((await socket.expect("resumed"))["last_event_id"], ids[1], "last_event_id")
            if not before:
                await socket.subscribe(channel)
            missed = [(await socket.event())["id"] for _ in range(2)]
            stage.equal(missed, ids[2:], "what was missed")
            await socket.send(action="resume", last_event_id="evt_of-another-server")
            await socket.refused("unknown_event_id")


@case("OJS-WSK-010", capability=WEBSOCKET)
async def channels_that_are_not_there(stage: Stage) -> None:
    """A channel of an unknown job or queue is refused by an error."""
    async with connected(stage) as socket:
        for channel in (f"job:{stage.new_id()}", f"queue:{stage.name()}"):
            error = await _answer(socket, "error", action="subscribe", channel=channel)
            stage.equal(error["code"], "not_found", "code")
            stage.check(bool(error["message"]), "a message", dict(error))


@case("OJS-WSK-010", "OJS-WSK-021", capability=WEBSOCKET)
async def mistakes(stage: Stage) -> None:
    """An invalid message is answered with an error, and the connection goes on as before."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with connected(stage) as socket:
        await socket.subscribe(f"queue:{queue}")
        for text in ("{", "[]", "7", '{"channel":"all"}', '{"action":"subscribe","channel":7}'):
            await socket.send_message(text)
            stage.check(bool((await socket.expect("error"))["message"]), "a message", text)
        for order, code in (
            ({"action": "dance"}, "invalid_request"),
            ({"action": "subscribe", "channel": "nothing"}, "invalid_request"),
            ({"action": "subscribe", "channel": f"job:{stage.new_id()}"}, "not_found"),
            ({"action": "subscribe", "channel": f"queue:{stage.name()}"}, "not_found"),
            ({"action": "unsubscribe", "channel": "all"}, "not_found"),
        ):
            await socket.send(**order)
            await socket.refused(code)
        await stage.enqueue(queue)
        await socket.event()
        await socket.send_message(b"\x00\x01")
        await socket.ended()


@case("OJS-WSK-011", own_server="small", capability=WEBSOCKET)
async def read_too_late(stage: Stage) -> None:
    """A channel that is not read in time says what was dropped before its next event."""
    queue = stage.name()
    await stage.enqueue(queue)
    channel = f"queue:{queue}"
    async with connected(stage, narrow=True) as socket:
        await socket.subscribe(channel)
        logged = await flooded(stage, queue)
        received: list[str | Dropped] = []
        while logged[-1] not in received[-1:]:
            message = await socket.next()
            if message["type"] == "warning":
                stage.equal(message["code"], "events_dropped", "code")
                received.append(
                    dropped(stage, {**message, "dropped_count": message["count"]}, channel)
                )
            else:
                received.append(message["id"])
    await nothing_lost_unseen(stage, queue, logged, received)


@case("OJS-WSK-012", level=1, capability=WEBSOCKET, seconds=90)
async def pings(stage: Stage) -> None:
    """The server pings at least every 30 seconds."""
    queue = stage.name()
    await stage.enqueue(queue)
    async with connected(stage) as socket:
        order = {"action": "subscribe", "channel": f"queue:{queue}"}
        await _answer(socket, "subscribed", **order)
        await socket.pinged(35)


@case("OJS-WSK-015", level=1, capability=WEBSOCKET, seconds=90)
async def pings_without_an_answer(stage: Stage) -> None:
    """The server ends a connection that does not answer its ping, and no other."""
    queue = stage.name()
    await stage.enqueue(queue)
    channel = f"queue:{queue}"
    async with connected(stage) as deaf, connected(stage) as awake:
        for socket in (deaf, awake):
            await _answer(socket, "subscribed", action="subscribe", channel=channel)
        deaf.deaf = True
        async with stage.waiting(awake.pinged(35)) as (answered,):
            await deaf.pinged(35)
            await deaf.ended(20)
            await answered
        await _answer(awake, "unsubscribed", action="unsubscribe", channel=channel)


@case("OJS-WSK-013", capability=WEBSOCKET)
async def limits(stage: Stage) -> None:
    """A connection has 100 channels and no more, and a message at most 64 KiB."""
    queues = [stage.name() for _ in range(MOST_CHANNELS + 1)]
    jobs = [{"type": "test.case", "args": [], "queue": queue} for queue in queues]
    (await stage.post("jobs/batch", {"jobs": jobs})).expect(201)
    async with connected(stage) as socket:
        for queue in queues[:-1]:
            await socket.subscribe(f"queue:{queue}")
        await socket.send(action="subscribe", channel=f"queue:{queues[-1]}")
        await socket.refused("invalid_request")
        await socket.send(action="unsubscribe", channel=f"queue:{queues[0]}")
        await socket.expect("unsubscribed")
        await socket.subscribe(f"queue:{queues[-1]}")
        await socket.send_message("x" * 65_536)
        await socket.refused("invalid_request")
        await socket.send_message("x" * 70_000)
        code = await socket.ended()
        stage.check(code != UNCLEAN, "the code of a close", code)


@case("OJS-WSK-014", own_server="main", capability=WEBSOCKET, seconds=120)
async def stopping(stage: Stage) -> None:
    """A server that is told to stop says so on a connection, and ends it."""
    assert stage.process is not None
    queue = stage.name()
    await stage.enqueue(queue)
    async with connected(stage) as socket:
        order = {"action": "subscribe", "channel": f"queue:{queue}"}
        await _answer(socket, "subscribed", **order)
        stopping = asyncio.create_task(stage.process.stop())
        while "server.shutdown" not in ((sent := await socket.next()).get("event"), sent["type"]):
            pass
        await socket.ended()
        await stopping


@case("OJS-WSK-014", "OJS-WSK-022", own_server="main", capability=WEBSOCKET, seconds=120)
async def stopping_on_each_channel(stage: Stage) -> None:
    """A server that is told to stop says so on each channel, and ends with success."""
    assert stage.process is not None
    async with connected(stage) as socket:
        await socket.subscribe("all")
        await socket.subscribe("events")
        stopping = asyncio.create_task(stage.process.stop())
        events = [await socket.event() for _ in range(2)]
        stage.equal(
            {event["event"] for event in events} == {"server.shutdown"}, True, "server.shutdown"
        )
        stage.equal(sorted(event["channel"] for event in events), ["all", "events"], "channels")
        await socket.ended()
        stage.equal(await stopping, 0, "exit code")
