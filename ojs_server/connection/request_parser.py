"""Reading of requests, one behind the other, on httptools.

idle ──▶ head ──▶ body ──▶ idle       a request begins, its head is whole, so is its body
  └────────┴────────┴────▶ ended      nothing more is read: something was refused, or it stops
"""

import logging
from collections.abc import Mapping
from enum import IntEnum, auto
from typing import Any, Final, Protocol
from urllib.parse import unquote

import httptools

from ojs_server.connection.framing import (
    LONG_HEAD,
    LONG_TRAILERS,
    MAX_HEAD,
    NO_HTTP,
    Refused,
    check_head,
)

# Length of the parts of a head other than its method, target and headers.
_FIXED: Final = len(b"  HTTP/1.1\r\n\r\n")

log = logging.getLogger("ojs.http")


class Reads(IntEnum):
    """The part of a request that a connection reads next."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ENDED = auto()


class Reader(Protocol):
    """The connection whose requests are read."""

    def begin_request(
        self, scope: dict[str, Any], *, keep_alive: bool, waits_to_send: bool
    ) -> None:
        """Begin a request, whose head is complete."""

    def add_body(self, piece: bytes) -> None:
        """Add a part of its body."""

    def end_body(self) -> None:
        """Complete its body."""


class RequestParser:
    """Parses the requests of a connection, and refuses what could be understood in two ways."""

    def __init__(self, reader: Reader, common: Mapping[str, Any]) -> None:
        """Set up the parser; `common` is the part of the scope that all requests share."""
        self._reader = reader
        self._common = common
        self._root: str = common["root_path"]
        self._raw_root = self._root.encode("ascii")
        self._parser = self._new_parser()
        self.reads = Reads.IDLE
        # The time since which the rest of the head or body is awaited; maintained by the
        # connection.
        self.since: float | None = None
        # Parts of the head that is being read.
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        # Bytes received since the last parsed element, without those of the read that completed it:
        # httptools does not report the offset.
        self._unread = 0
        # Total length of the header lines parsed in this head or these trailers.
        self._lines = 0

    def feed(self, data: bytes | memoryview) -> bool:
        """Parse what has come; returns True if it asks for a WebSocket. Raises Refused."""
        self._unread += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            if self._is_for_sockets() or self._feed_rest(data, offer):
                return True
        except httptools.HttpParserError as error:
            raise _refusal(error) from None
        if self.reads is Reads.IDLE:
            self._unread = 0
        elif self._unread > MAX_HEAD:
            # Checked here, because the parser buffers an unfinished line without a bound.
            raise Refused(*(LONG_HEAD if self.reads is Reads.HEAD else LONG_TRAILERS))
        return False

    def _feed_rest(self, data: bytes | memoryview, offer: httptools.HttpParserUpgrade) -> bool:
        """Parse once more from each head on that makes an offer: the parser skips the body of such
        a request, whose bytes it would take for the next one. Returns True for a WebSocket."""
        while True:
            # A view, not a copy: there may be many offers in one piece.
            data = memoryview(data)[offer.args[0] :]
            head = self.head(without=b"upgrade")
            self._parser = self._new_parser()
            try:
                self._parser.feed_data(head)
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as following:
                if self._is_for_sockets():
                    return True
                offer = following
            except httptools.HttpParserError as error:
                raise _refusal(error) from None
            else:
                return False

    def _new_parser(self) -> Any:
        parser = httptools.HttpRequestParser(self)
        # Accept data behind the last request; it is ignored here.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _is_for_sockets(self) -> bool:
        last = dict(self._headers)
        tokens = [token.strip().lower() for token in last.get(b"connection", b"").split(b",")]
        return b"upgrade" in tokens and last.get(b"upgrade", b"").lower() == b"websocket"

    def head(self, without: bytes = b"") -> bytes:
        """Return the head that was read last, without one of its headers."""
        line = b"%b %b HTTP/%b" % (
            self._parser.get_method(),
            self._url,
            self._parser.get_http_version().encode(),
        )
        headers = [b"%b: %b" % header for header in self._headers if header[0] != without]
        return b"\r\n".join((line, *headers, b"\r\n"))

    def scope(self) -> dict[str, Any]:
        """Return the scope of the request whose head was read last."""
        return self._scope(self._parser.get_method(), self._parser.get_http_version())

    def _scope(self, method: bytes, version: str) -> dict[str, Any]:
        url = self._url
        if url[:1] == b"/" and url[1:2] != b"/" and not (b"?" in url or b"#" in url):
            raw_path, query = url, b""
        else:
            parsed = httptools.parse_url(url)
            raw_path, query = parsed.path, parsed.query or b""
        path = raw_path.decode("ascii")
        if "%" in path:
            path = unquote(path)
        return {
            **self._common,
            "http_version": version,
            "method": method.decode("ascii"),
            "path": self._root + path,
            "raw_path": self._raw_root + raw_path,
            "query_string": query,
            "headers": self._headers,
            "state": self._common["state"].copy(),
        }

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Begin to parse a request."""
        self.reads = Reads.HEAD
        self.since = None
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
        """Begin the request, once its head is complete."""
        parser, headers = self._parser, self._headers
        method: bytes = parser.get_method()
        version: str = parser.get_http_version()
        if len(method) + len(self._url) + self._lines + _FIXED > MAX_HEAD:
            raise Refused(*LONG_HEAD)
        last = dict(headers)
        check_head(method, version, headers, last)
        if b"upgrade" in last and parser.should_upgrade():
            # The upgrade decides: the parser raises HttpParserUpgrade at the end of the head.
            return
        self.reads = Reads.BODY
        self.since = None
        self._unread = self._lines = 0
        self._reader.begin_request(
            self._scope(method, version),
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            # HTTP/1.0 does not know interim answers.
            waits_to_send=last.get(b"expect", b"").lower() == b"100-continue" and version >= "1.1",
        )

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._unread = 0
        if self.reads is Reads.BODY:
            self._reader.add_body(body)

    def on_message_complete(self) -> None:
        """Complete the body."""
        if self.reads is Reads.BODY:
            self.reads, self._unread = Reads.IDLE, 0
            self._reader.end_body()


def _refusal(error: httptools.HttpParserError) -> Refused:
    log.warning("a request was refused that is no well-formed HTTP")
    why = error.__context__
    return why if isinstance(why, Refused) else Refused(*NO_HTTP)
