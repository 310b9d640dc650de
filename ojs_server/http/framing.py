"""Where requests begin and end on a connection, in the cases in which uvicorn leaves that open.

A request that offers another protocol is served as if it did not, and with its body.
"""

from typing import Final, NoReturn

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_NO_HTTP: Final = (400, "this is not a well-formed HTTP request")
_NO_TUNNEL: Final = (400, "CONNECT asks for a tunnel to another server, and there are none here")


class _Stopped(Exception):
    """The parser goes no further."""


class FramedHttp(HttpToolsProtocol):
    """uvicorn's way of reading requests, with one way to understand each."""

    # Whether the parser waits for a request to begin.
    _between = True
    # Why the parser was stopped.
    _why = _NO_HTTP

    def parse(self, data: bytes) -> None:
        """Take what came to the parser."""
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(*self._why)

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
        self._between = False

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        if self.parser.get_method() == b"CONNECT":
            self._stop(*_NO_TUNNEL)
        if not self._declines():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """So is its body."""
        if not self._declines():
            super().on_message_complete()
            self._between = True

    def _stop(self, status: int, message: str) -> NoReturn:
        self._why = (status, message)
        raise _Stopped

    def _refuse(self, status: int, message: str) -> None:
        """Answer what is no request for the application, and end the connection."""
        raise NotImplementedError
