"""Where requests begin and end on a connection, in the cases in which uvicorn leaves that open.

A request that offers another protocol is served as if it did not, and with its body. What stands
around bodies is bounded: heads, and what may follow the chunks of a body, which says nothing.
What is refused here is refused in its turn, behind the answers to the requests before it.
"""

import asyncio
from typing import Any, Final, NoReturn

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD: Final = 64 * 1024

_NO_HTTP: Final = (400, "this is not a well-formed HTTP request")
_NO_TUNNEL: Final = (400, "CONNECT asks for a tunnel to another server, and there are none here")
_NO_CODING: Final = (400, "Transfer-Encoding names more than `chunked`, which alone is supported")
_NO_HOST: Final = (400, "the request has no Host, which HTTP/1.1 asks for")
_LONG_HEAD: Final = (431, f"the request's line and headers exceed {MAX_HEAD} bytes")
_LONG_TRAILERS: Final = (431, f"what surrounds the chunks of the body exceeds {MAX_HEAD} bytes")
# Headers of which a second one would be another answer to the question who calls whom.
_ONCE: Final = (b"host", b"authorization", b"origin")
# What a head has beside its method, its target and its headers.
_FIXED: Final = len(b"  HTTP/1.1\r\n\r\n")


class _Stopped(Exception):
    """The parser goes no further."""


class FramedHttp(HttpToolsProtocol):
    """uvicorn's way of reading requests, with one way to understand each."""

    # Whether the parser waits for a request to begin.
    _between = True
    _in_head = False
    # How many bytes have come since it last knew the end of a head or a piece of a body. Those of
    # the read in which it did are left out: nobody says how many lie behind that end.
    _unread = 0
    # How many the lines have that it read since then.
    _lines = 0
    # Whether something was refused, behind which nothing is read.
    _ended = False
    # Why the parser was stopped.
    _why = _NO_HTTP

    def parse(self, data: bytes) -> None:
        """Take what came to the parser."""
        if self._ended:
            return
        self._unread += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            self._unset_keepalive_if_required()
            self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._end(*self._why)
        else:
            if self._between:
                self._unread = 0
            elif self._unread > MAX_HEAD:
                # The parser keeps a line until it ends.
                self._end(*(_LONG_HEAD if self._in_head else _LONG_TRAILERS))

    def _feed(self, data: bytes) -> None:
        """Parse, and once more from each head on that makes an offer: the parser skips the body of
        such a request, whose bytes it would take for the next one."""
        rest: bytes | memoryview = data
        while True:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as offer:
                if not self._declines():
                    raise
                # Not copied: there may be many offers in one piece.
                rest = memoryview(rest)[offer.args[0] :]
                head = self._head_without_offer()
                self.parser = httptools.HttpRequestParser(self)
                # As uvicorn's.
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self.parser.feed_data(head)
            else:
                return

    def _declines(self) -> bool:
        return self.parser.should_upgrade() and not self._should_upgrade()

    def _head_without_offer(self) -> bytes:
        line = b"%b %b HTTP/%b" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode(),
        )
        headers = [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join((line, *headers, b"\r\n"))

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._between, self._in_head, self._lines = False, True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of its head; or one behind its body, which would replace what the head says."""
        self._lines += len(name) + len(value) + len(b": \r\n")
        if self._in_head:
            super().on_header(name, value)
        elif self._lines > MAX_HEAD:
            self._stop(*_LONG_TRAILERS)

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        method = self.parser.get_method()
        if len(method) + len(self.url) + self._lines + _FIXED > MAX_HEAD:
            self._stop(*_LONG_HEAD)
        if method == b"CONNECT":
            self._stop(*_NO_TUNNEL)
        names = [name for name, _ in self.headers]
        for name in _ONCE:
            if names.count(name) > 1:
                self._stop(400, f"the request says {name.decode().title()} more than once")
        if b"host" not in names and self.parser.get_http_version() == "1.1":
            self._stop(*_NO_HOST)
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        # The parser undoes no other, and asks only that the last be this one.
        if codings and (len(codings) > 1 or codings[0].strip().lower() != b"chunked"):
            self._stop(*_NO_CODING)
        if self.expect_100_continue and self.parser.get_http_version() < "1.1":
            # It does not know interim answers.
            self.expect_100_continue = False
        if not self._declines():
            super().on_headers_complete()
        self._in_head, self._unread, self._lines = False, 0, 0

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        super().on_body(body)
        self._unread = 0

    def on_message_complete(self) -> None:
        """So is its body."""
        if not self._declines():
            super().on_message_complete()
            self._between, self._unread = True, 0

    def _stop(self, status: int, message: str) -> NoReturn:
        self._why = (status, message)
        raise _Stopped

    def _end(self, status: int, message: str) -> None:
        """Refuse what came last in its turn, and read nothing more."""
        in_body = not (self._between or self._in_head)
        self._ended, self._between = True, False
        # None before the first request.
        cycle: Any = self.cycle
        if in_body:
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
                self._refuse_later(status, message)
                return
            if cycle.response_started:
                # What is written now would be a part of that answer, or of the next one.
                self.transport.close()
                return
            # Its body will never be whole.
            cycle.disconnected = True
            cycle.message_event.set()
        elif cycle is not None and not cycle.response_complete:
            self._refuse_later(status, message)
            return
        self._refuse(status, message)

    def _refuse_later(self, status: int, message: str) -> None:
        """A request of its own, so that it has its turn among the others."""
        turn = self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )
        turn.more_body = False

        async def refuse(*_: Any) -> None:
            turn.response_started = turn.response_complete = True
            self._refuse(status, message)

        self.pipeline.appendleft((turn, refuse))
        # What follows is thrown away; who hangs up is noticed by nothing else.
        self.flow.resume_reading()

    def _refuse(self, status: int, message: str) -> None:
        """Answer what is no request for the application, and end the connection."""
        raise NotImplementedError
