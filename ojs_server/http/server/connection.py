"""A connection in HTTP/1.1: requests are read one after the other, and answered in their order.

What is read:

    idle ──▶ head ──▶ body ──▶ idle       a request begins, its head is whole, so is its body
      └────────┴────────┴────▶ ended      nothing more is read: something was refused, or it stops

What is answered: one request at a time (`running`). Others wait behind it, and nothing more is read
once they are many. A request begins when its head is whole: one that has come with all of its body
may be taken at once (`take`), all others are tasks of the application.

What ends it: between two requests it is closed after a pause. A head and a body have to be whole in
time (`HEAD_S`, `BODY_S`) and to go on (`PAUSE_S`), or are answered 408. If an answer is sent before
its request was read, the rest of the request is discarded (`lingering`). A client that does not
read its answer is cut off. One timer serves all of these, and is seldom set.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from enum import IntEnum, auto
from typing import Any, Final, Protocol
from urllib.parse import unquote

import httptools
from uvicorn import Config

from ojs_server.domain.errors import InvalidRequest, OjsError
from ojs_server.http.server.body_budget import SMALL
from ojs_server.http.server.connection_limit import ConnectionLimit, Waits
from ojs_server.http.server.exchange import Exchange
from ojs_server.http.server.flow_control import MOST_UNREAD, UNREAD_S, Flow
from ojs_server.http.server.framing import (
    LONG_HEAD,
    LONG_TRAILERS,
    MAX_HEAD,
    NO_HTTP,
    Refused,
    check_head,
)
from ojs_server.http.server.http2_preface import PREFACE, wrong_port
from ojs_server.http.server.incomplete_requests import (
    refusal,
    stopping,
    too_many_connections,
    too_slow,
)
from ojs_server.http.server.lingering import linger
from ojs_server.http.server.websocket_protocol import WebSocketConnection
from ojs_server.http.services import Ports

# How long it may take then to say the rest of its request, which it is answered within that time.
UNSAID_S: Final = 3.0
# So many requests may come behind one that is being answered before nothing more is read.
MOST_BEHIND: Final = 64
# How long a client may take to go on with a request that it has begun.
PAUSE_S: Final = 30.0
# How long it may take for a head, however often it goes on, and for a body.
HEAD_S: Final = 30.0
BODY_S: Final = 300.0
# What a head has beside its method, its target and its headers.
_FIXED: Final = len(b"  HTTP/1.1\r\n\r\n")
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}

Take = Callable[[Exchange, bytes], bool]

log = logging.getLogger("ojs.http")


class Reads(IntEnum):
    """The part of a request that a connection reads next."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ENDED = auto()


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

    def __init__(
        self,
        config: Config,
        server_state: Shared,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
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
        self._limit = limit
        self._ports = ports or Ports()
        self._take = take
        self._parser = self._new_parser()
        self.reads = Reads.IDLE
        # The request that came last, the one that is being answered or was last, and those behind.
        self.newest: Exchange | None = None
        self.running: Exchange | None = None
        self._behind: deque[Exchange] = deque()
        # The request whose head was just read, and which begins with its body if that is there too.
        self._ready: Exchange | None = None
        self._goes_on = False
        # Of the head that is being read.
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        # How many bytes have come since the end of a head or of a piece of a body was known last.
        # Those of the read in which it was are left out: nobody says how many lie behind that end.
        self._unread = 0
        # How many the lines have that were read since then.
        self._lines = 0
        # Something was refused, behind the answers to what came before it.
        self._refused: tuple[int, str] | None = None
        # What rings, and since when the head or the body is awaited that has begun.
        self._alarm: Any = None
        self._since: float | None = None
        # When the last answer left, or the client came.
        self._quiet_since = 0.0
        # How much of the last answer the client had not read when that was looked at.
        self._unread_before = 0
        # It was told to make room.
        self._leaves = False

    # What the transport says.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection of a client."""
        self._connections.add(self)
        self.transport = transport
        self.flow = Flow(transport)
        self._server = _address(transport.get_extra_info("sockname"))
        self._client = _address(transport.get_extra_info("peername"))
        self._scheme = "https" if transport.get_extra_info("sslcontext") else "http"
        self._quiet_since = self.loop.time()
        limit = self._limit
        if limit is not None and not limit.has_room(self, self._connections, self._quiet_since):
            self.make_room()
            return
        self._expect_within(self.pause_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection; its timer is cancelled, because it would keep the objects in
        memory."""
        self._connections.discard(self)
        self._calm()
        for exchange in (self.running, self.newest, *self._behind):
            if exchange is not None:
                exchange.leave()
        self._behind.clear()
        self._ready = None
        self.flow.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and begin the requests that are complete."""
        if self.reads is Reads.ENDED:
            return
        if self.newest is None and self.reads is Reads.IDLE and data.startswith(PREFACE):
            self._end_with(wrong_port(self._ports))
            return
        self._unread += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            self._become_socket()
            return
        except httptools.HttpParserError as error:
            why = error.__context__ if isinstance(error.__context__, Refused) else None
            log.warning("a request was refused that is no well-formed HTTP")
            self._refuse(*((why.status, why.message) if why else NO_HTTP))
        else:
            if self.reads is Reads.IDLE:
                self._unread = 0
            elif self._unread > MAX_HEAD:
                # The parser keeps a line until it ends.
                self._refuse(*(LONG_HEAD if self.reads is Reads.HEAD else LONG_TRAILERS))
        self._begin_ready()
        if self.reads in (Reads.HEAD, Reads.BODY) and not self._is_over():
            self._expect_rest()

    def pause_writing(self) -> None:
        """Pause writing, because the client reads too slowly."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self.flow.resume_writing()

    # What the parser says.

    def _feed(self, data: bytes) -> None:
        """Parse; after a head that offers an upgrade, parse that head again without the offer, as
        the parser would skip the body of such a request."""
        rest: bytes | memoryview = data
        while True:
            try:
                self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as offer:
                if self._is_for_sockets():
                    raise
                # Not copied: there may be many offers in one piece.
                rest = memoryview(rest)[offer.args[0] :]
            else:
                return
            head = self._head(without=b"upgrade")
            self._parser = self._new_parser()
            self._parser.feed_data(head)

    def _new_parser(self) -> Any:
        parser = httptools.HttpRequestParser(self)
        # What comes behind the last request is not answered, which is seen here.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _is_for_sockets(self) -> bool:
        last = dict(self._headers)
        tokens = [token.strip().lower() for token in last.get(b"connection", b"").split(b",")]
        return b"upgrade" in tokens and last.get(b"upgrade", b"").lower() == b"websocket"

    def _head(self, without: bytes = b"") -> bytes:
        line = b"%b %b HTTP/%b" % (
            self._parser.get_method(),
            self._url,
            self._parser.get_http_version().encode(),
        )
        headers = [b"%b: %b" % header for header in self._headers if header[0] != without]
        return b"\r\n".join((line, *headers, b"\r\n"))

    def on_message_begin(self) -> None:
        """Begin to parse a request."""
        self.reads = Reads.HEAD
        self._since = None
        self._lines = 0
        self._url = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        """Add a part of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; a trailer is ignored, because it must not replace a header."""
        self._lines += len(name) + len(value) + 4
        if self.reads is Reads.HEAD:
            self._headers.append((name.lower(), value))
        elif self._lines > MAX_HEAD:
            raise Refused(*LONG_TRAILERS)

    def on_headers_complete(self) -> None:
        """Create the request, once its head is complete."""
        parser, headers, url = self._parser, self._headers, self._url
        method: bytes = parser.get_method()
        version: str = parser.get_http_version()
        if len(method) + len(url) + self._lines + _FIXED > MAX_HEAD:
            raise Refused(*LONG_HEAD)
        last = dict(headers)
        check_head(method, version, headers, last)
        if b"upgrade" in last and parser.should_upgrade():
            # It begins once it is known as what; the parser says so at the end of the head.
            return
        self.reads = Reads.BODY
        self._since = None
        self._unread = self._lines = 0
        exchange = Exchange(
            self,
            self._scope(method, version, url),
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            # An older client does not know interim answers.
            waits_to_send=last.get(b"expect", b"").lower() == b"100-continue" and version >= "1.1",
        )
        before, self.newest = self.running, exchange
        if self._behind or not (before is None or before.complete):
            self._behind.append(exchange)
            self.flow.pause_reading()
            self._read_on()
        else:
            self.running = self._ready = exchange

    def _scope(self, method: bytes, version: str, url: bytes) -> dict[str, Any]:
        if url[:1] == b"/" and url[1:2] != b"/" and not (b"?" in url or b"#" in url):
            raw_path, query = url, b""
        else:
            parsed = httptools.parse_url(url)
            raw_path, query = parsed.path, parsed.query or b""
        path = raw_path.decode("ascii")
        if "%" in path:
            path = unquote(path)
        root = self._root_path
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self._server,
            "client": self._client,
            "scheme": self._scheme,
            "method": method.decode("ascii"),
            "root_path": root,
            "path": root + path,
            "raw_path": root.encode("ascii") + raw_path,
            "query_string": query,
            "headers": self._headers,
            "state": self._app_state.copy(),
        }

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._unread = 0
        exchange = self.newest
        if self.reads is Reads.BODY and exchange is not None and not exchange.complete:
            exchange.feed(body)
            if exchange.size > MOST_UNREAD:
                self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Complete the body."""
        exchange = self.newest
        if self.reads is not Reads.BODY or exchange is None:
            return
        self.reads, self._unread = Reads.IDLE, 0
        exchange.more_body = False
        exchange.tell()
        self._begin_ready()

    # Requests begin, and are answered.

    def _begin_ready(self) -> None:
        """Begin the next request: hot calls that are complete may be taken, all others run as
        tasks."""
        exchange, self._ready = self._ready, None
        if exchange is None or exchange.disconnected or self._is_over():
            return
        # What is taken does not ask for room, nor for its body, and its answer does not wait for a
        # client that reads none.
        if not (
            exchange.more_body
            or exchange.waits_to_send
            or exchange.size > SMALL
            or self.flow.write_paused
        ):
            body = exchange.body()
            if self._take(exchange, body):
                return
            exchange.feed(body)
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
        # Until now the client may have waited for the server.
        self._since = None
        if self._is_over():
            return
        if self._behind or self._refused is not None:
            self._go_on()
            return
        self.flow.resume_reading()
        # One alarm looks after many requests: to set and to take back one for each costs more.
        self._quiet_since = self.loop.time()
        if self.reads is Reads.IDLE:
            if self._alarm is None:
                self._expect_within(self.pause_s)
        elif self.reads is not Reads.ENDED:
            self._expect_rest()

    def _go_on(self) -> None:
        """Begin the requests that wait behind an answer, as far as each is answered at once."""
        if self._goes_on:
            return
        self._goes_on = True
        while self._behind and self._at_rest():
            self.running = self._ready = self._behind.popleft()
            self._begin_ready()
        self._goes_on = False
        if self._refused is not None and not self._behind and self._at_rest():
            self._end_with(InvalidRequest(self._refused[1]), self._refused[0])
        elif self._behind:
            self._read_on()

    def _read_on(self) -> None:
        """Read on if few requests wait: reading is the only way to notice that the client has
        gone."""
        if self.reads is Reads.ENDED or (
            len(self._behind) < MOST_BEHIND
            and sum(exchange.size for exchange in self._behind) <= MOST_UNREAD
        ):
            self.flow.resume_reading()

    def _at_rest(self) -> bool:
        """True if no request is being answered, also before the first one."""
        running = self.running
        return running is None or running.complete or running.disconnected

    def _is_over(self) -> bool:
        """Return True if nothing more is answered: after the last answer, or on a WebSocket."""
        return self.transport.is_closing() or self.transport.get_protocol() is not self

    def _become_socket(self) -> None:
        """Hand the connection, and the head of the upgrade, to the WebSocket protocol."""
        self._calm()
        self._connections.discard(self)
        version, method = self._parser.get_http_version(), self._parser.get_method()
        scope = self._scope(method, version, self._url)
        scope["type"], scope["scheme"] = "websocket", self._scheme.replace("http", "ws")
        socket = WebSocketConnection(self, self._connections, self._app, scope)
        self.transport.set_protocol(socket)
        socket.data_received(self._head())

    # What is refused, and the end.

    def _refuse(self, status: int, message: str) -> None:
        """Refuse the last request, after the answers before it, and stop reading."""
        in_body, newest = self.reads is Reads.BODY, self.newest
        self.reads = Reads.ENDED
        if in_body and newest is not None:
            if newest in self._behind:
                self._behind.remove(newest)
                self._refuse_later(status, message)
                return
            if newest.started:
                # What is written now would be a part of that answer, or of the next one.
                self.transport.close()
                return
            # Its body will never be whole.
            newest.leave()
        elif not self._at_rest():
            self._refuse_later(status, message)
            return
        self._end_with(InvalidRequest(message), status)

    def _refuse_later(self, status: int, message: str) -> None:
        self._refused = (status, message)
        # What follows is thrown away; who hangs up is noticed by nothing else.
        self.flow.resume_reading()

    def _end_with(self, error: OjsError, status: int | None = None) -> None:
        self.reads = Reads.ENDED
        self.transport.write(refusal(error, status))
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
            # It ends by itself.
            return
        newest = self.newest
        if not self._at_rest() and newest is not None:
            if self.reads is not Reads.ENDED:
                newest.keep_alive = False
            if self.reads in (Reads.HEAD, Reads.BODY):
                self.loop.call_later(UNSAID_S, self._give_up, stopping())
        elif self.reads is Reads.IDLE:
            self.transport.close()
        elif self.reads is Reads.HEAD:
            self._end_with(stopping())
        else:
            linger(self)
        self.loop.call_later(UNREAD_S, self._abandon)

    def _abandon(self) -> None:
        # A client that reads nothing would hold the process for as long as it likes, and so would
        # one that does not say the rest of its request.
        unsaid = self.reads is Reads.BODY and not self._behind
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
        if self._is_over():
            return Waits.LEAVE, self._quiet_since
        idle = self.reads is Reads.IDLE or self._since is None
        since = self._quiet_since if idle or self._since is None else self._since
        if self._at_rest():
            return Waits.ASK, since
        if self.reads is not Reads.BODY or self._behind or self.flow.read_paused:
            return None
        return Waits.SEND_BODY, since

    def make_room(self) -> None:
        """Close this connection to make room for another one."""
        waits, in_head = self.waits(), self.reads is Reads.HEAD
        self._leaves = True
        self._calm()
        if waits is None or waits[0] is not Waits.ASK or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        self.reads = Reads.ENDED
        if in_head or self.newest is None:
            # It has not been answered anything yet.
            self.transport.write(refusal(too_many_connections()))
        self.transport.close()

    # The alarm.

    def _ring(self) -> None:
        """End an idle connection whose timeout has passed, or set the timer anew."""
        self._alarm = None
        if self.reads is not Reads.IDLE:
            self._end_pause()
            return
        if not self._at_rest():
            return
        left = self._quiet_since + self.pause_s - self.loop.time()
        unread = self.transport.get_write_buffer_size()
        if left > 0:
            self._expect_within(left)
        elif not unread:
            self.transport.close()
        elif unread != self._unread_before:
            # It reads, slowly.
            self._unread_before = unread
            self._expect_within(PAUSE_S)
        else:
            self.transport.abort()

    def _end_pause(self) -> None:
        """End the connection of a request that has begun and does not go on."""
        if self.reads is Reads.ENDED or self._is_over():
            return
        if self._since is None:
            self._expect_rest()
            return
        in_head, newest = self.reads is Reads.HEAD, self.newest
        if self._at_rest():
            if in_head:
                self._end_with(too_slow())
            else:
                # It was answered before all of its body had come.
                self.transport.close()
            return
        # What stands before a head is answered first; nor may the client wait for the server.
        waits_to_send = newest is not None and newest.waits_to_send
        if not (in_head or self.flow.read_paused or waits_to_send):
            self._give_up(too_slow())
        self._expect_within(PAUSE_S)

    def _give_up(self, error: OjsError) -> None:
        newest = self.newest
        if self.reads is Reads.BODY and newest is not None and not newest.complete:
            newest.give_up(error)

    def _expect_rest(self) -> None:
        """Enforce the time limits of a head and of a body."""
        now = self.loop.time()
        if self._since is None:
            self._since = now
        left = self._since + (HEAD_S if self.reads is Reads.HEAD else BODY_S) - now
        self._expect_within(min(PAUSE_S, max(left, 0.0)))

    def _expect_within(self, seconds: float) -> None:
        self._calm()
        self._alarm = self.loop.call_later(seconds, self._ring)

    def _calm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


def _address(said: Any) -> tuple[str, int] | None:
    return (str(said[0]), int(said[1])) if isinstance(said, list | tuple) else None
