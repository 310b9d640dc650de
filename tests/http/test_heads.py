"""Heads that a connection repeats: what is read of them is what the parser would have read."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import example, given
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from ojs_server.http.call import REMEMBERED
from ojs_server.http.heads import MOST, MOST_BYTES, head_of, length_after
from ojs_server.http.protocol import BoundedHttp

GET = b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


class Wire(asyncio.Transport):
    """A connection whose other end reads everything."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Everything is given at once."""

    def resume_reading(self) -> None:
        """The same."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Reading:
    """A connection, and what the application behind it was told."""

    def __init__(self, protocol: type[HttpToolsProtocol]) -> None:
        config = uvicorn.Config(
            self._serve, interface="asgi3", proxy_headers=False, lifespan="off", log_config=None
        )
        config.load()
        self.told: list[tuple[Any, ...]] = []
        self.remembered: list[bool] = []
        self.begun = 0
        self.state = ServerState()
        self.wire = Wire()
        self.protocol = protocol(config, self.state, {})
        self.protocol.connection_made(self.wire)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun += 1
        # The first one takes longest, so that what overtakes it is seen.
        for _ in range(6 // self.begun):
            await asyncio.sleep(0)
        body = b""
        while scope["path"] != "/unread":
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            body += message["body"]
            if not message["more_body"]:
                break
        names = ("type", "method", "path", "raw_path", "query_string", "http_version", "headers")
        self.told.append((*(scope[name] for name in names), body))
        self.remembered.append(REMEMBERED in scope.get("extensions", {}))
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})

    async def read(self, pieces: Sequence[tuple[bytes, bool]]) -> None:
        """Take the pieces; after some, everything that is whole is answered first."""
        for piece, settles in pieces:
            if self.wire.closed:
                break
            self.protocol.data_received(piece)
            if settles:
                await self._settled()
        await self._settled()
        self.protocol._unset_keepalive_if_required()
        self.protocol.connection_lost(None)
        await self._settled()

    async def _settled(self) -> None:
        for _ in range(40):
            await asyncio.sleep(0)


def body_after(head: bytes, body: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


head = st.sampled_from(
    [
        b"POST /a HTTP/1.1\r\nHost: x\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n",
        b"POST /b%20c?d HTTP/1.1\r\nHost: x\r\nX-Same: 1\r\nx-same: 2\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n",
        b"POST /a HTTP/1.0\r\nHost: x\r\n",
        b"\r\n\r\nPOST /a HTTP/1.1\r\nHost: x\r\n",
        b"POST /a HTTP/1.1\nHost: x\r\n",
    ]
)
UNREAD = body_after(b"POST /unread HTTP/1.1\r\nHost: x\r\n", GET)
body = st.sampled_from([b"", b"{}", b"body", b"\r\n\r\n", b"ab\r\n\r\nGET / HTTP/1.1\r\n\r\n"])
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
BARE = b"POST /a HTTP/1.1\nHost: x\nContent-Length: 10\n\nab\r\n\r\nabcd"
request = st.one_of(
    st.builds(body_after, head, body),
    st.sampled_from(
        [GET, POST, UNREAD, CHUNKED, BARE, BARE + b"123456", POST[:-2], POST + b"more"]
    ),
)
cuts = st.lists(st.integers(1, 200), max_size=2)


def pieces_of(requests: Sequence[tuple[bytes, list[int], bool]]) -> list[tuple[bytes, bool]]:
    found: list[tuple[bytes, bool]] = []
    for sent, cut, settles in requests:
        places = [0, *sorted({place for place in cut if place < len(sent)}), len(sent)]
        found += [(sent[start:end], settles) for start, end in pairwise(places)]
    return found


@given(
    st.lists(st.tuples(request, st.just([]) | cuts, st.booleans()), min_size=2, max_size=6),
)
@example([(POST, [], True), (POST, [], True)])
@example([(POST, [], True), (POST + POST, [], True)])
@example([(POST, [], False), (POST, [], False)])
@example([(BARE, [], True), (BARE + b"123456", [], True)])
@example([(GET, [], True), (UNREAD, [len(UNREAD) - len(GET)], True)])
@example([(POST, [], True), (POST[:-2], [], True), (POST, [], True)])
def test_what_is_remembered_is_read_as_the_parser_reads_it(
    requests: list[tuple[bytes, list[int], bool]],
) -> None:
    async def both() -> tuple[Reading, Reading]:
        readings = Reading(HttpToolsProtocol), Reading(BoundedHttp)
        for reading in readings:
            await reading.read(pieces_of(requests))
        return readings

    parsed, remembered = asyncio.run(both())
    assert remembered.told == parsed.told
    assert remembered.wire.closed == parsed.wire.closed
    assert remembered.wire.written.count(b"200 OK") == parsed.wire.written.count(b"200 OK")


async def test_a_head_that_comes_again_is_not_parsed_again() -> None:
    reading = Reading(BoundedHttp)
    await reading.read([(GET, True), (POST, True), (POST, True), (GET, True), (POST, True)])
    assert reading.remembered == [False, False, True, True, True]
    assert [told[-1] for told in reading.told] == [b"", b"body", b"body", b"", b"body"]


async def test_few_heads_are_remembered() -> None:
    many = [(GET.replace(b"/a", b"/%d" % number), True) for number in range(MOST + 3)]
    reading = Reading(BoundedHttp)
    await reading.read([*many, *many])
    assert sum(reading.remembered) == MOST


@pytest.mark.parametrize(
    ("sent", "length"),
    [
        (GET, 0),
        (POST, 4),
        (GET.replace(b"Host", b"Connection: Keep-Alive\r\nHost"), 0),
        (GET.replace(b"Host", b"Connection: close\r\nHost"), None),
        (GET.replace(b"Host", b"Expect: 100-continue\r\nHost"), None),
        (GET.replace(b"Host", b"Transfer-Encoding: chunked\r\nHost"), None),
        (GET.replace(b"Host", b"Upgrade: websocket\r\nHost"), None),
        (POST.replace(b"Host", b"Content-Length: 4\r\nHost"), None),
        (POST.replace(b": 4", b": +4"), None),
        (b"\r\n" + GET, None),
        (GET.replace(b"\r\nHost", b"\nHost"), None),
    ],
)
def test_only_heads_without_doubt_say_how_long_their_body_is(
    sent: bytes, length: int | None
) -> None:
    found = head_of(sent)
    assert found is not None
    lines = [line.split(b": ", 1) for line in found.splitlines() if b": " in line]
    headers = [(name.lower(), value) for name, value in lines]
    assert length_after(found, headers) == length


def test_long_heads_are_left_to_the_parser() -> None:
    assert head_of(GET[:-1]) is None
    assert head_of(GET.replace(b"/a", b"/" + b"a" * MOST_BYTES)) is None
