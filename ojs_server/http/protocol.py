"""HTTP/1.1 before there is a request, and after there is an answer.

Heads are bounded, and bad ones get the error object. A request that has come whole may be taken
without a task. Answers that are whole leave in one piece, and so do the messages that a WebSocket
is sent together.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import Request

from ojs_server.domain.errors import InvalidRequest, OjsError
from ojs_server.http.body_budget import SMALL
from ojs_server.http.call import ANSWER, TEXTS
from ojs_server.http.crowd import Crowd, Waits
from ojs_server.http.cycle import answer, expecting, reply
from ojs_server.http.dispatch import Exchange
from ojs_server.http.framing import FramedHttp
from ojs_server.http.lingering import linger
from ojs_server.http.preface import PREFACE, wrong_port
from ojs_server.http.services import Ports
from ojs_server.http.unfinished import crowded, give_up, refusal, stopping, too_slow

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

# How long a client may take, once the server stops, to read what it was sent.
UNREAD_S: Final = 5.0
# How long it may take then to say the rest of its request, which it is answered within that time.
UNSAID_S: Final = 3.0
# So many requests may come behind one that is being answered before nothing more is read.
MOST_BEHIND: Final = 64
# How long a client may take to go on with a request that it has begun.
PAUSE_S: Final = 30.0
# How long it may take for a head, however often it goes on, and for a body.
HEAD_S: Final = 30.0
BODY_S: Final = 300.0
# uvicorn's word for it; the application chooses what the client is told.
_RESTART: Final = 1012


Take = Callable[[Exchange, bytes], bool]


def take_nothing(exchange: Exchange, body: bytes) -> bool:
    """Leave every request to the application."""
    return False


class _Whole:
    """A request that has come whole, and its place for an answer."""

    __slots__ = ("_cycle", "_protocol", "receive", "scope")

    def __init__(self, protocol: "BoundedHttp", cycle: RequestResponseCycle) -> None:
        self._protocol = protocol
        self._cycle = cycle
        self.scope: Any = cycle.scope
        self.receive: Any = cycle.receive

    def reply(self, status: int, lines: bytes, body: bytes, stays: bool) -> None:
        """Send the answer."""
        reply(self._cycle, status, lines, body, stays)

    def wait(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with it in a task."""
        self._protocol.begin(work)


class BoundedHttp(FramedHttp):
    """A connection with limits of time, on which whole requests may be taken without a task."""

    # The request whose head was just read, and which begins with its body if that has come too.
    _ready: "tuple[RequestResponseCycle, ASGI3Application] | None" = None
    # The last request that was given to the application.
    _running: RequestResponseCycle | None = None
    # It is beginning requests that waited.
    _goes_on = False
    # When the last answer left, or the client came.
    _quiet_since = 0.0
    # Since when the head or the body is awaited that has begun; None until more of it is.
    _since: float | None = None
    # How much of the last answer the client had not read when that was looked at.
    _unread_before = 0
    # It was told to end.
    _leaves = False

    def __init__(
        self,
        *given: Any,
        crowd: Crowd | None = None,
        ports: Ports | None = None,
        take: Take = take_nothing,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self._take = take
        self._crowd = crowd
        self._ports = ports or Ports()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there."""
        super().connection_made(transport)
        self._quiet_since = self.loop.time()
        crowd = self._crowd
        if crowd is not None and not crowd.has_room(self, self.connections, self._quiet_since):
            self.make_room()
            return
        self._expect_within(self.timeout_keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more; an alarm would keep all of this until it rings."""
        self._unset_keepalive_if_required()
        # uvicorn tells the last request, which may be behind the one that is being answered.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse it, and begin what came."""
        # None before the first request.
        cycle: Any = self.cycle
        if cycle is None and self._between and data.startswith(PREFACE):
            self._end_with(wrong_port(self._ports))
            return
        self.parse(data)
        self._begin_ready()
        if not (self._between or self._ended) and self.transport.get_protocol() is self:
            self._expect_rest()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._since = None

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        super().on_headers_complete()
        self._since = None
        if self.pipeline:
            self._read_on()

    def on_message_complete(self) -> None:
        """So is its body."""
        super().on_message_complete()
        self._begin_ready()

    def _read_on(self) -> None:
        """Read while requests wait, if there are few: who hangs up is noticed by nothing else."""
        waiting = self.pipeline
        if self._ended or (
            len(waiting) < MOST_BEHIND
            and sum(len(cycle.body) for cycle, _ in waiting) <= HIGH_WATER_LIMIT
        ):
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        self._running = cycle
        self._ready = (cycle, app)

    def _begin_ready(self) -> None:
        """Begin the request that is ready: whole ones may be taken, all others are tasks."""
        if self._ready is None:
            return
        cycle, app = self._ready
        self._ready = None
        if cycle.disconnected or self._is_over():
            return
        # What is taken does not ask for room, nor for its body, and its answer does not wait for a
        # client that reads none.
        if not (
            app is not self.app
            or cycle.more_body
            or cycle.waiting_for_100_continue
            or len(cycle.body) > SMALL
            or self.flow.write_paused
        ):
            body = bytes(cycle.body)
            if self._take(_Whole(self, cycle), body):
                cycle.body = bytearray()
                return
        extensions = cycle.scope.setdefault("extensions", {})
        assert extensions is not None
        extensions[ANSWER] = {"send": partial(answer, cycle)}
        if cycle.waiting_for_100_continue:
            app = expecting(cycle, app)
        self.begin(cycle.run_asgi(app))

    def _is_over(self) -> bool:
        """Tell whether nothing more is answered: behind the last answer, or on a WebSocket."""
        return self.transport.is_closing() or self.transport.get_protocol() is not self

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task, which the server waits for before it ends."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _go_on(self) -> None:
        """Begin what waited behind an answer; what is answered at once is followed by the next."""
        if self._goes_on:
            return
        self._goes_on = True
        while self.pipeline and (self._running is None or self._running.response_complete):
            self._start_asgi_task(*self.pipeline.pop())
            self._begin_ready()
        self._goes_on = False
        if self.pipeline:
            self._read_on()

    def on_response_complete(self) -> None:
        """A request was answered: the next one begins, or has so long to come."""
        self.server_state.total_requests += 1
        # Until now the client may have waited for the server.
        self._since = None
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._go_on()
            return
        self.flow.resume_reading()
        # One alarm looks after many requests: to set and to take back one for each costs more.
        self._quiet_since = self.loop.time()
        if not self._between:
            self._expect_rest()
        elif self.timeout_keep_alive_task is None:
            self._expect_within(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Nothing may have come for long; what is being answered sets a new alarm itself."""
        self.timeout_keep_alive_task = None
        if not self._between:
            self._end_pause()
            return
        if not self._at_rest():
            return
        left = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        unread = self.transport.get_write_buffer_size()
        if left > 0:
            self._expect_within(left)
        elif not unread:
            super().timeout_keep_alive_handler()
        elif unread != self._unread_before:
            # It reads, slowly.
            self._unread_before = unread
            self._expect_within(PAUSE_S)
        else:
            self.transport.abort()

    def _end_pause(self) -> None:
        """A request has begun, and for long nothing more of it came."""
        if self._ended or self._is_over():
            return
        if self._since is None:
            self._expect_rest()
            return
        if self._at_rest():
            if self._in_head:
                self._end_with(too_slow())
            else:
                # It was answered before all of its body had come.
                self.transport.close()
            return
        # What stands before a head is answered first; nor may the client wait for the server.
        if not (self._in_head or self.flow.read_paused or self.cycle.waiting_for_100_continue):
            self._give_up(too_slow())
        self._expect_within(PAUSE_S)

    def _expect_rest(self) -> None:
        """Enforce the time limits of a head and of a body."""
        now = self.loop.time()
        if self._since is None:
            self._since = now
        left = self._since + (HEAD_S if self._in_head else BODY_S) - now
        self._expect_within(min(PAUSE_S, max(left, 0.0)))

    def _expect_within(self, seconds: float) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def shutdown(self) -> None:
        """The server stops: what was answered may still be read, but not for ever."""
        if self.transport.get_protocol() is not self:
            # It ends by itself.
            return
        if self._between or not self._at_rest():
            super().shutdown()
            if not self._between:
                self.loop.call_later(UNSAID_S, self._give_up, stopping())
        elif self._in_head:
            self._end_with(stopping())
        else:
            linger(self.transport)
        self.loop.call_later(UNREAD_S, self._abandon)

    def _give_up(self, error: OjsError) -> None:
        said = self._between or self._in_head or self._ended
        if not (said or self.cycle.response_complete):
            give_up(self.cycle, error)

    def _abandon(self) -> None:
        # A client that reads nothing would hold the process for as long as it likes, and so would
        # one that does not say the rest of its request.
        unsaid = not (self._between or self._in_head or self.pipeline)
        if self in self.connections and (
            unsaid
            or self.flow.write_paused
            or (self.transport.is_closing() and self.transport.get_write_buffer_size())
        ):
            self.transport.abort()

    def waits(self) -> tuple[Waits, float] | None:
        """Return the client's next step and since when it is due; None on the server's turn."""
        if self._leaves:
            return None
        if self._is_over():
            return Waits.LEAVE, self._quiet_since
        since = self._quiet_since if self._between or self._since is None else self._since
        if self._at_rest():
            return Waits.ASK, since
        if self._between or self._in_head or self.pipeline or self.flow.read_paused:
            return None
        return Waits.SEND_BODY, since

    def make_room(self) -> None:
        """End at once, for the sake of another connection."""
        waits = self.waits()
        self._leaves = True
        self._unset_keepalive_if_required()
        if waits is None or waits[0] is not Waits.ASK or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        self._ended = True
        if self._in_head or self.cycle is None:
            # It has not been answered anything yet.
            self.transport.write(refusal(crowded()))
        self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        self._end_with(InvalidRequest(message), status)

    def _end_with(self, error: OjsError, status: int | None = None) -> None:
        self._ended = True
        self.transport.write(refusal(error, status))
        linger(self.transport)

    def _at_rest(self) -> bool:
        """Whether no request is being answered; there is none before the first."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete or cycle.disconnected


class BoundedSocket(WSProtocol):
    """uvicorn's WebSocket, which a client that reads nothing does not hold open for ever."""

    def handle_connect(self, event: Request) -> None:
        """Somebody asks for it."""
        super().handle_connect(event)
        # The application is a task, which has not begun.
        self.scope["extensions"][TEXTS] = {"send": self._send_texts}

    def shutdown(self) -> None:
        """The server stops: the application may say so first, and ends the connection then."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": _RESTART})
        else:
            super().shutdown()
        self.loop.call_later(UNREAD_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """No pong has come: nobody is there, so nothing is left to be read."""
        super().keepalive_timeout()
        self.transport.abort()

    def waits(self) -> None:
        """A WebSocket never waits for its client alone."""

    async def _send_texts(self, texts: Iterable[bytes]) -> None:
        """Several messages, which are UTF-8, in one write."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(b"".join(map(text_frame, texts)))


def text_frame(text: bytes) -> bytes:
    """A message of a server as the one frame of RFC 6455; it is not compressed."""
    size = len(text)
    if size < 126:
        return b"\x81%c%b" % (size, text)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), text)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), text)
