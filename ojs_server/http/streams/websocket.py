"""The WebSocket: one connection, many channels, each an event stream of its own.

client ── subscribe, unsubscribe, resume ──▶ Socket ── a task for each channel ──▶ client
"""

import asyncio
import logging
from contextlib import aclosing, suppress
from typing import Any, Final, NamedTuple

import msgspec
from starlette import websockets
from starlette.websockets import WebSocket, WebSocketDisconnect

from ojs_server.connection.extensions import TEXTS
from ojs_server.domain.access.login import Login
from ojs_server.domain.errors import InvalidRequest, NotFound, OjsError, Unavailable
from ojs_server.domain.jobs.job import TERMINAL, Event
from ojs_server.domain.streams.realtime import STATE_CHANGED, state_changed
from ojs_server.domain.suggestions import nearest
from ojs_server.http import dialects
from ojs_server.http.access import logins
from ojs_server.http.access.authorization import identify, require_own
from ojs_server.http.call import CALL, Call
from ojs_server.http.queues.read import known_queue
from ojs_server.http.route import READERS
from ojs_server.http.streams.channels import ChannelStream, message
from ojs_server.http.streams.event_cursor import is_place, position
from ojs_server.http.streams.event_feed import Form, Subscription, types_of
from ojs_server.ops.engine.event_log_reader import Follower
from ojs_server.ops.jobs.settle import missing
from ojs_server.store.records import EventFilter
from ojs_wire.codec import MalformedJSON, decode, encode
from ojs_wire.values import MAX_NAME, UUID7

SUBPROTOCOL: Final = "ojs.v1"
MAX_CHANNELS: Final = 100
MAX_NAMES: Final = 100
_ACTIONS: Final = ("subscribe", "unsubscribe", "resume")
_GOING_AWAY: Final = 1001
_TEXT_ONLY: Final = 1003
_NOT_ALLOWED: Final = 1008
_FAILED: Final = 1011
# Errors of sending on a closed connection. Starlette before 1.7 raises a plain RuntimeError.
GONE: Final = (
    OSError,
    WebSocketDisconnect,
    getattr(websockets, "WebSocketDisconnected", RuntimeError),
)

log = logging.getLogger("ojs.http")


class Order(msgspec.Struct, frozen=True):
    """A message of a client. Both spellings of a filter are merged."""

    action: str
    channel: str | None = None
    event_types: list[str] | None = None
    filter: "Narrowing | None" = None
    format: str | None = None
    last_event_id: str | None = None


class Narrowing(msgspec.Struct, frozen=True):
    """A filter, as the specification of events writes it."""

    event_types: list[str] | None = None
    queues: list[str] | None = None


class Channel(NamedTuple):
    """A subscribed channel: its subscription, its stream, and the task that sends it."""

    subscription: Subscription
    stream: ChannelStream
    follower: Follower
    task: asyncio.Task[None]


class Unknown(OjsError):
    """The cursor is not from this server's log."""


async def serve(socket: WebSocket) -> None:
    """Serve one connection, from its handshake to its end."""
    call: Call = socket.scope[CALL]
    await _admit(call)
    offered = socket.scope.get("subprotocols") or ()
    headers = {"ojs-version": dialects.VERSION, "x-request-id": call.request_id}
    with suppress(*GONE):
        await socket.accept(
            SUBPROTOCOL if SUBPROTOCOL in offered else None,
            [(name.encode(), value.encode()) for name, value in headers.items()],
        )
        await Socket(call, socket).run()


class Socket:
    """An open connection and its channels."""

    def __init__(self, call: Call, socket: WebSocket) -> None:
        self._call = call
        self._server = call.server
        self._socket = socket
        self._channels: dict[str, Channel] = {}
        # After a resume: the position at which new channels begin.
        self._after: int | None = None

    async def run(self) -> None:
        """Serve the connection until either side ends it."""
        watch = None
        if self._call.login is not None:
            watch = asyncio.create_task(self._watch(self._call.login))
        try:
            while (came := await self._socket.receive())["type"] == "websocket.receive":
                text = came.get("text")
                if text is None:
                    await self._socket.close(_TEXT_ONLY, "text only")
                    return
                await self._obey(text)
            if self._server.lifetime.stopping:
                await self._take_leave()
        finally:
            tasks = self._pumps() if watch is None else [*self._pumps(), watch]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, login: Login) -> None:
        """Close the connection when the login session that opened it ends."""
        watch = logins.Watch(self._call, login)
        with suppress(OjsError):
            await watch.ended()
        await self._socket.close(_NOT_ALLOWED, "the session has ended")

    async def _take_leave(self) -> None:
        """Send on every channel that the server stops, and close the connection."""
        await asyncio.gather(*self._pumps())
        await self._socket.close(_GOING_AWAY)

    def _pumps(self) -> list[asyncio.Task[None]]:
        return [channel.task for channel in self._channels.values()]

    async def _obey(self, text: str) -> None:
        try:
            order = _order(text)
            match order.action:
                case "subscribe":
                    await self._subscribe(order)
                case "unsubscribe":
                    await self._unsubscribe(order)
                case "resume":
                    await self._resume(order)
                case _:
                    near = nearest(order.action, _ACTIONS)
                    raise InvalidRequest(f"`action` must be one of {', '.join(_ACTIONS)}{near}")
        except OjsError as error:
            code = "unknown_event_id" if isinstance(error, Unknown) else error.answer_code.name
            await self._send_object(type="error", code=code, message=error.message)

    async def _subscribe(self, order: Order) -> None:
        subscription = await self._subscription(order)
        name = subscription.channel
        if name in self._channels:
            # A new filter continues at the position of the old one, so that no event is sent twice.
            after: int | None = await self._leave(name)
        elif len(self._channels) >= MAX_CHANNELS:
            raise InvalidRequest(f"{MAX_CHANNELS} channels are open on this connection already")
        else:
            after = self._after
        subscription = msgspec.structs.replace(subscription, after=after)
        await self._open(subscription, acknowledged=_acknowledged(order, name))

    async def _unsubscribe(self, order: Order) -> None:
        name = order.channel or ""
        if name not in self._channels:
            raise NotFound(f"{name[:100]!r} is not subscribed to")
        await self._leave(name)
        await self._send_object(type="unsubscribed", channel=name)

    async def _resume(self, order: Order) -> None:
        place = order.last_event_id or ""
        if not is_place(place):
            raise Unknown(f"{place[:100]!r} is the id of no event of this server")
        self._after = position(place, "last_event_id")
        before = [channel.subscription for channel in self._channels.values()]
        # Before the answer, so that all events behind it are behind the place, too.
        for subscription in before:
            await self._leave(subscription.channel)
        await self._send_object(type="resumed", last_event_id=place)
        for subscription in before:
            try:
                await self._open(msgspec.structs.replace(subscription, after=self._after))
            except OjsError as error:
                await self._send_error(error, subscription.channel)

    async def _open(
        self, subscription: Subscription, acknowledged: dict[str, Any] | None = None
    ) -> None:
        follower = self._server.engine.log_reader.admit(subscription.event_filter)
        stream = ChannelStream(self._server, subscription, follower)
        try:
            if subscription.after is None:
                # Before the acknowledgement, so that the client misses nothing after it.
                await stream.follow()
            if acknowledged is not None:
                end = await self._end_of_job(subscription)
                await self._send_object(**acknowledged)
                await self._send(end)
        except BaseException:
            stream.close()
            raise
        task = asyncio.create_task(self._pump(subscription.channel, stream))
        self._channels[subscription.channel] = Channel(subscription, stream, follower, task)

    async def _end_of_job(self, subscription: Subscription) -> bytes:
        """Return the final state of a job that ended before the client subscribes to it; empty
        without one."""
        job_id = subscription.event_filter.subject
        if job_id is None or subscription.after is not None:
            return b""
        found = await self._server.engine.read(lambda reader: reader.job(job_id))
        if found is None or found[0].job.state not in TERMINAL:
            return b""
        job = found[0].job
        at = job.finished_at or self._server.environment.wall_ms()
        about = Event(STATE_CHANGED, job.id, job.queue, job.type, b"")
        data = state_changed(about, None, job.state, at)
        return message(subscription.channel, STATE_CHANGED, data, at, event=about)

    async def _pump(self, name: str, stream: ChannelStream) -> None:
        try:
            async with aclosing(stream.pieces()) as pieces:
                async for piece in pieces:
                    await self._send(piece)
            if name in self._channels and not self._server.engine.log_reader.closed:
                # The log cannot be followed any more, and the client has to come back.
                await self._socket.close(_FAILED)
        except OjsError as error:
            await self._send_error(error, name)
        except GONE:
            # The receiving task notices the end of the connection, too.
            return
        except Exception:
            log.exception("a channel of a WebSocket failed; the connection ends")
            await self._socket.close(_FAILED)
        finally:
            stream.close()

    async def _leave(self, name: str) -> int:
        """End a channel after its last message; return the cursor up to which it was sent."""
        channel = self._channels.pop(name)
        channel.follower.close()
        await channel.task
        return channel.stream.cursor

    async def _subscription(self, order: Order) -> Subscription:
        name = order.channel or ""
        kind, _, rest = name.partition(":")
        narrowing = order.filter or Narrowing()
        kinds = _names("event_types", order.event_types, narrowing.event_types)
        queues = _names("filter.queues", narrowing.queues)
        subject = None
        if kind == "job" and rest:
            subject = rest
            await self._known_job(rest)
        elif kind == "queue" and rest:
            queues = (rest,)
            await known_queue(self._call, rest)
        elif name not in ("all", "events"):
            words = ("all", "events", "job:ID", "queue:NAME")
            raise InvalidRequest(
                f"`channel` must be one of {', '.join(words)}{nearest(name, words)}"
            )
        form = _form(order, name)
        event_filter = EventFilter(
            types_of(kinds, form), queues, subject=subject, tenant=self._call.tenant
        )
        return Subscription(name, form, event_filter, (), None, None)

    async def _known_job(self, job_id: str) -> None:
        if UUID7.fullmatch(job_id) is None or (
            await self._server.engine.read(lambda reader: reader.job(job_id)) is None
        ):
            raise missing(job_id[:100])
        await require_own(self._call, job_id)

    async def _send_error(self, error: OjsError, channel: str) -> None:
        """Send that a channel which was open ends."""
        await self._send_object(
            type="error", code=error.answer_code.name, message=error.message, channel=channel
        )

    async def _send_object(self, **members: Any) -> None:
        await self._send(encode(members) + b"\n")

    async def _send(self, lines: bytes) -> None:
        extensions = self._call.scope.get("extensions") or {}
        if TEXTS in extensions:
            await extensions[TEXTS]["send"](lines.splitlines())
            return
        for line in lines.splitlines():
            await self._socket.send_text(line.decode())


async def _admit(call: Call) -> None:
    call.for_page = call.server.origins.admit(call.fields)
    dialects.check_version(call.header(b"ojs-version"))
    await logins.recognise(call, READERS)
    identify(call, READERS, dialects.tenant_header(call))
    if call.server.lifetime.stopping:
        raise Unavailable("the server is stopping", headers={"Retry-After": "5"})


def _order(text: str) -> Order:
    try:
        return msgspec.convert(decode(text.encode()), Order)
    except (MalformedJSON, UnicodeEncodeError) as error:
        raise InvalidRequest(f"the message is not valid JSON: {error}") from None
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the message is not understood: {error}") from None


def _names(field: str, *given: list[str] | None) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for part in given for name in part or ()))
    if len(names) > MAX_NAMES or any(len(name) > MAX_NAME for name in names):
        raise InvalidRequest(
            f"`{field}` must hold at most {MAX_NAMES} names of at most {MAX_NAME} characters"
        )
    return names


def _form(order: Order, name: str) -> Form:
    given = order.format
    if given is None:
        return "catalogue" if name == "events" else "realtime"
    if given == "catalogue":
        return "catalogue"
    if given == "realtime":
        return "realtime"
    raise InvalidRequest("`format` must be one of catalogue, realtime")


def _acknowledged(order: Order, name: str) -> dict[str, Any]:
    """Return the answer to a subscription; the specification of events has another one for its
    channel."""
    if name == "events":
        return {"action": "subscribed", "subscription_id": name, "channel": name}
    answer: dict[str, Any] = {"type": "subscribed", "channel": name}
    if order.event_types is not None:
        answer["event_types"] = order.event_types
    return answer
