"""Time limits of a connection, which one alarm looks after.

Between two requests a connection is closed after a pause. A head and a body have to be whole in
time and to go on, or are answered 408. One alarm serves many requests: to set and to take back one
for each costs more.
"""

import asyncio
from typing import Any, Final, Protocol

from ojs_server.connection.exchange import Exchange
from ojs_server.connection.flow_control import Flow
from ojs_server.connection.incomplete_requests import too_slow
from ojs_server.connection.request_parser import Reads, RequestParser
from ojs_server.domain.errors import OjsError

# Longest pause of a client within a request.
PAUSE_S: Final = 30.0
# Time limits for a whole head and a whole body.
HEAD_S: Final = 30.0
BODY_S: Final = 300.0


class Timed(Protocol):
    """A connection with time limits for its client."""

    transport: asyncio.Transport
    flow: Flow
    loop: Any
    parser: RequestParser
    # The request received last.
    newest: Exchange | None

    def is_at_rest(self) -> bool:
        """True if no request is being answered, also before the first one."""

    def is_over(self) -> bool:
        """Return True if nothing more is answered."""

    def end_with(self, error: OjsError) -> None:
        """Answer an error, and end the connection."""


class Deadlines:
    """The time limits of one connection; `pause_s` is that between two requests."""

    def __init__(self, line: Timed, pause_s: float) -> None:
        self._line = line
        self._pause_s = pause_s
        self._alarm: Any = None
        # The time of the last answer, or of the connect.
        self.quiet_since: float = line.loop.time()
        # Unsent bytes of the last answer at the last check.
        self._unread = 0

    def expect_request(self) -> None:
        """Enforce the limit of a pause, from now on."""
        self.quiet_since = self._line.loop.time()
        if self._alarm is None:
            self._ring_in(self._pause_s)

    def expect_rest(self) -> None:
        """Enforce the limits of the head or the body that has begun."""
        parser, now = self._line.parser, self._line.loop.time()
        if parser.since is None:
            parser.since = now
        left = parser.since + (HEAD_S if parser.reads is Reads.HEAD else BODY_S) - now
        self._ring_in(min(PAUSE_S, max(left, 0.0)))

    def calm(self) -> None:
        """Take the alarm back."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def give_up(self, error: OjsError) -> None:
        """Let the newest request be answered with an error if the rest of its body is awaited."""
        newest = self._line.newest
        if self._line.parser.reads is Reads.BODY and newest is not None and not newest.complete:
            newest.give_up(error)

    def _ring(self) -> None:
        """End a connection whose time is over, or set the alarm anew."""
        self._alarm = None
        line, transport = self._line, self._line.transport
        if line.parser.reads is not Reads.IDLE:
            self._end_pause()
            return
        if not line.is_at_rest():
            return
        left = self.quiet_since + self._pause_s - line.loop.time()
        unread = transport.get_write_buffer_size()
        if left > 0:
            self._ring_in(left)
        elif not unread:
            transport.close()
        elif unread != self._unread:
            # The client reads slowly.
            self._unread = unread
            self._ring_in(PAUSE_S)
        else:
            transport.abort()

    def _end_pause(self) -> None:
        """End a request that has begun and does not go on."""
        line, parser = self._line, self._line.parser
        if parser.reads is Reads.ENDED or line.is_over():
            return
        if parser.since is None:
            self.expect_rest()
            return
        in_head, newest = parser.reads is Reads.HEAD, line.newest
        if line.is_at_rest():
            if in_head:
                line.end_with(too_slow())
            else:
                # The answer was sent before the body was complete.
                line.transport.close()
            return
        # Not in a head, as preceding requests are answered first, and not while the client waits
        # for the server.
        waits_to_send = newest is not None and newest.waits_to_send
        if not (in_head or line.flow.read_paused or waits_to_send):
            self.give_up(too_slow())
        self._ring_in(PAUSE_S)

    def _ring_in(self, seconds: float) -> None:
        self.calm()
        self._alarm = self._line.loop.call_later(seconds, self._ring)
