"""A connection in HTTP/1.1: requests are read one after the other, and answered in their order.

What is read has the states of `request_parser.py`. What is answered: one request at a time
(`running`). Others wait behind it, and nothing more is read once they are many. A request begins
when its head is whole: one that has come with all of its body may be taken at once (`take`), all
others are tasks of the application.

What ends it: a client that takes too long (`deadlines.py`), or does not read its answer. If an
answer is sent before its request was read, the rest of the request is discarded (`lingering`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from uvicorn import Config

from ojs_server.connection.body_budget import SMALL
from ojs_server.connection.connection_limit import ConnectionLimit, Waits
from ojs_server.connection.deadlines import Deadlines
from ojs_server.connection.exchange import Exchange
from ojs_server.connection.flow_control import MOST_UNREAD, UNREAD_S, Flow
from ojs_server.connection.framing import Refused
from ojs_server.connection.http2_preface import PREFACE, wrong_port
from ojs_server.connection.incomplete_requests import stopping, too_many_connections
from ojs_server.connection.lingering import linger
from ojs_server.connection.ports import Ports
from ojs_server.connection.request_parser import Reads, RequestParser
from ojs_server.connection.websocket_protocol import WebSocketConnection
from ojs_server.domain.errors import InvalidRequest, OjsError

# Time to finish a request after shutdown has begun.
UNSAID_S: Final = 3.0
# Most pipelined requests behind the one being answered; then reading pauses.
MOST_BEHIND: Final = 64
# Bytes parsed at a time, between checks of the number of waiting requests.
PIECE: Final = 8192
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}

Take = Callable[[Exchange, bytes], bool]
# Returns the whole answer for an error, with its own status or the one that is given.
Refusal = Callable[[OjsError, int | None], bytes]


class Shared(Protocol):
    """State shared by all connections of a server: uvicorn tells each of them when it stops, and
    waits for their tasks."""

    total_requests: int
    connections: set[Any]
    tasks: set[asyncio.Task[None]]


def take_nothing(exchange: Exchange, body: bytes) -> bool:
    """Take no request, so that the application answers all of them."""
    return False


class Connection(asyncio.Protocol):
    """An HTTP/1.1 connection of one client."""

    transport: asyncio.Transport
    flow: Flow
    parser: RequestParser
    _deadlines: Deadlines

    def __init__(
        self,
        config: Config,
        server_state: Shared,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        refusal: Refusal,
        limit: ConnectionLimit | None = None,
        ports: Ports | None = None,
        take: Take = take_nothing,
    ) -> None:
        if not config.loaded:
            config.load()
        self._config = config
        self._app = config.loaded_app
        self._state = server_state
        self._connections = server_state.connections
        self._app_state = app_state
        self._root_path: str = config.root_path
        self.pause_s = float(config.timeout_keep_alive)
        self.loop: Any = _loop or asyncio.get_event_loop()
        self._refusal = refusal
        self._limit = limit
        self._ports = ports or Ports()
        self._take = take
        # The request received last, the one being answered or answered last, and those waiting
        # behind it.
        self.newest: Exchange | None = None
        self.running: Exchange | None = None
        self._behind: deque[Exchange] = deque()
        # Received bytes, to be parsed once fewer requests wait.
        self._unparsed = memoryview(b"")
        # The request whose head has just been read; it begins after the rest of the data is parsed,
        # so that it may have its body.
        self._ready: Exchange | None = None
        self._goes_on = False
        # Status and message of a refused request, to be sent after the answers before it.
        self._refused: tuple[int, str] | None = None
        # True once this connection was closed to make room for another.
        self._leaves = False

    # Called by the transport.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection of a client."""
        self._connections.add(self)
        self.transport = transport
        self.flow = Flow(transport)
        common = {
            "type": "http",
            "asgi": _ASGI,
            "server": _address(transport.get_extra_info("sockname")),
            "client": _address(transport.get_extra_info("peername")),
            "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
            "root_path": self._root_path,
            "state": self._app_state,
        }
        self.parser = RequestParser(self, common)
        self._deadlines = Deadlines(self, self.pause_s)
        limit = self._limit
        if limit is None or limit.has_room(self, self._connections, self.loop.time()):
            self._deadlines.expect_request()
        else:
            self.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection; its timer is cancelled, because it would keep the objects in
        memory."""
        self._connections.discard(self)
        self._deadlines.calm()
        for exchange in (self.running, self.newest, *self._behind):
            if exchange is not None:
                exchange.leave()
        self._behind.clear()
        self._unparsed = memoryview(b"")
        self._ready = None
        self.flow.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and begin the requests that are complete."""
        if self.parser.reads is Reads.ENDED:
            return
        if self.newest is None and self.parser.reads is Reads.IDLE and data.startswith(PREFACE):
            self.end_with(wrong_port(self._ports))
            return
        if self._unparsed:
            self.flow.pause_reading()
            self._unparsed = memoryview(bytes(self._unparsed) + data)
        else:
            self._unparsed = memoryview(data)
            self._parse()

    def _parse(self) -> None:
        """Parse what has come, until many requests wait."""
        try:
            while self._unparsed and not (self._behind and self._is_crowded()):
                piece, self._unparsed = self._unparsed[:PIECE], self._unparsed[PIECE:]
                if self.parser.feed(piece):
                    self._unparsed = memoryview(b"")
                    self._become_socket()
                    return
        except Refused as why:
            self._unparsed = memoryview(b"")
            self._refuse(why.status, why.message)
        if self._ready is not None:
            self._begin_ready()
        if self.parser.reads in (Reads.HEAD, Reads.BODY) and not self.is_over():
            self._deadlines.expect_rest()

    def _parse_rest(self) -> None:
        """Parse what has come and was kept, and read on behind it."""
        self._parse()
        newest = self.newest
        if not self._is_crowded() and (newest is None or newest.size <= MOST_UNREAD):
            self.flow.resume_reading()

    def pause_writing(self) -> None:
        """Pause writing, because the client reads too slowly."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self.flow.resume_writing()

    # Called by the parser.

    def begin_request(
        self, scope: dict[str, Any], *, keep_alive: bool, waits_to_send: bool
    ) -> None:
        """Begin a request at once, or behind those that are not answered yet."""
        exchange = Exchange(self, scope, keep_alive=keep_alive, waits_to_send=waits_to_send)
        before, self.newest = self.running, exchange
        if self._behind or not (before is None or before.complete):
            self._behind.append(exchange)
            if self._is_crowded():
                self.flow.pause_reading()
            else:
                self.flow.resume_reading()
        else:
            self.running = self._ready = exchange

    def add_body(self, piece: bytes) -> None:
        """Add a part of the body of the newest request."""
        exchange = self.newest
        if exchange is not None and not exchange.complete:
            exchange.feed(piece)
            if exchange.size > MOST_UNREAD:
                self.flow.pause_reading()

    def end_body(self) -> None:
        """Complete the body of the newest request."""
        exchange = self.newest
        if exchange is not None:
            exchange.more_body = False
            exchange.notify()
            self._begin_ready()

    # Beginning and answering requests.

    def _begin_ready(self) -> None:
        """Begin the next request: hot calls that are complete may be taken, all others run as
        tasks."""
        exchange, self._ready = self._ready, None
        if exchange is None or exchange.disconnected or self.transport.is_closing():
            return
        # Take only complete, small requests, and only if the client reads its answers: a taken
        # request neither reads a body nor waits before it writes.
        may_be_taken = not (
            exchange.more_body
            or exchange.waits_to_send
            or exchange.size > SMALL
            or self.flow.write_paused
        )
        if may_be_taken and self._take(exchange, exchange.body()):
            return
        self.begin(exchange.run(self._app))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task, which the server waits for before it ends."""
        tasks = self._state.tasks
        task = self.loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def answered(self) -> None:
        """Begin the next request after an answer, or start the idle timeout."""
        self._state.total_requests += 1
        # The client may have waited for the server, so its deadline begins now.
        self.parser.since = None
        if self.is_over():
            return
        if self._behind or self._refused is not None:
            self._go_on()
            return
        if self._unparsed or self.flow.read_paused:
            self._read_more()
        if self.parser.reads is Reads.IDLE:
            self._deadlines.expect_request()
        elif self.parser.reads is not Reads.ENDED:
            self._deadlines.expect_rest()

    def _go_on(self) -> None:
        """Begin the requests that wait behind an answer, as far as each is answered at once."""
        if self._goes_on:
            return
        self._goes_on = True
        while self._behind and self.is_at_rest():
            self.running = self._ready = self._behind.popleft()
            self._begin_ready()
        self._goes_on = False
        if self._refused is not None and not self._behind and self.is_at_rest():
            self.end_with(InvalidRequest(self._refused[1]), self._refused[0])
        elif self._behind:
            self.read_on()

    def read_on(self) -> None:
        """Read on if few requests wait: reading is the only way to notice that the client has
        gone."""
        if self.parser.reads is Reads.ENDED or not self._is_crowded():
            self._read_more()

    def _read_more(self) -> None:
        """Parse what has come already, before more is read."""
        if self._unparsed:
            self.loop.call_soon(self._parse_rest)
        else:
            self.flow.resume_reading()

    def _is_crowded(self) -> bool:
        """True if many requests, or long ones, wait behind the one that is being answered."""
        return len(self._behind) >= MOST_BEHIND or (
            sum(exchange.size for exchange in self._behind) > MOST_UNREAD
        )

    def is_at_rest(self) -> bool:
        """True if no request is being answered, also before the first one."""
        running = self.running
        return running is None or running.complete or running.disconnected

    def is_over(self) -> bool:
        """True if nothing more is answered: after the last answer, or on a WebSocket."""
        return self.transport.is_closing() or self.transport.get_protocol() is not self

    def _become_socket(self) -> None:
        """Hand the connection, and the head of the upgrade, to the WebSocket protocol."""
        self._deadlines.calm()
        self._connections.discard(self)
        scope = self.parser.scope()
        scope["type"], scope["scheme"] = "websocket", scope["scheme"].replace("http", "ws")
        socket = WebSocketConnection(self, self._connections, self._app, scope)
        self.transport.set_protocol(socket)
        socket.data_received(self.parser.head())

    # Refusals, and the end of the connection.

    def _refuse(self, status: int, message: str) -> None:
        """Refuse the last request, after the answers before it, and stop reading."""
        in_body, newest = self.parser.reads is Reads.BODY, self.newest
        self.parser.reads = Reads.ENDED
        if in_body and newest is not None:
            if newest in self._behind:
                self._behind.remove(newest)
                self._refuse_later(status, message)
                return
            if newest.started:
                # An error would become part of that answer, or be taken for the next one.
                self.transport.close()
                return
            # The rest of its body will not be parsed.
            newest.leave()
        elif not self.is_at_rest():
            self._refuse_later(status, message)
            return
        self.end_with(InvalidRequest(message), status)

    def _refuse_later(self, status: int, message: str) -> None:
        self._refused = (status, message)
        # Discard further input; only reading notices that the client has gone.
        self.flow.resume_reading()

    def end_with(self, error: OjsError, status: int | None = None) -> None:
        """Answer an error, and end the connection."""
        self.parser.reads = Reads.ENDED
        self.transport.write(self._refusal(error, status))
        linger(self)

    def end(self, *, reads_on: bool) -> None:
        """Close the connection after what was written; with `reads_on` the client may still be
        sending."""
        if reads_on:
            linger(self)
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection because the server stops; what was written may be read for a
        while."""
        if self.transport.get_protocol() is not self:
            # The WebSocket protocol closes the connection.
            return
        newest = self.newest
        if not self.is_at_rest() and newest is not None:
            if self.parser.reads is not Reads.ENDED:
                newest.keep_alive = False
            if self.parser.reads in (Reads.HEAD, Reads.BODY):
                self.loop.call_later(UNSAID_S, self._deadlines.give_up, stopping())
        elif self.parser.reads is Reads.IDLE:
            self.transport.close()
        elif self.parser.reads is Reads.HEAD:
            self.end_with(stopping())
        else:
            linger(self)
        self.loop.call_later(UNREAD_S, self._abandon)

    def _abandon(self) -> None:
        # A client that does not read, or does not finish its request, would keep the process from
        # ending.
        unsaid = self.parser.reads is Reads.BODY and not self._behind
        transport = self.transport
        if self in self._connections and (
            unsaid
            or self.flow.write_paused
            or (transport.is_closing() and transport.get_write_buffer_size())
        ):
            transport.abort()

    def waits(self) -> tuple[Waits, float] | None:
        """Return the client's next step and since when it is due; None on the server's turn."""
        if self._leaves:
            return None
        if self.is_over():
            return Waits.LEAVE, self._deadlines.quiet_since
        idle = self.parser.reads is Reads.IDLE or self.parser.since is None
        since = (
            self._deadlines.quiet_since if idle or self.parser.since is None else self.parser.since
        )
        if self.is_at_rest():
            return Waits.ASK, since
        if self.parser.reads is not Reads.BODY or self._behind or self.flow.read_paused:
            return None
        return Waits.SEND_BODY, since

    def make_room(self) -> None:
        """Close this connection to make room for another one."""
        waits, in_head = self.waits(), self.parser.reads is Reads.HEAD
        self._leaves = True
        self._deadlines.calm()
        if waits is None or waits[0] is not Waits.ASK or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        self.parser.reads = Reads.ENDED
        if in_head or self.newest is None:
            # This client has not got an answer yet.
            self.transport.write(self._refusal(too_many_connections(), None))
        self.transport.close()


def _address(address: Any) -> tuple[str, int] | None:
    return (str(address[0]), int(address[1])) if isinstance(address, list | tuple) else None
