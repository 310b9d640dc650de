"""Answers of applications, as they leave."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from ojs_server.connection.connection import Connection
from ojs_server.http.refusals import refusal
from tests.http.reading import Wire

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
Header = tuple[bytes, bytes]


class CountingWire(Wire):
    """A connection that counts what is written."""

    writes = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes += 1
        super().write(data)


async def answered(
    headers: Sequence[Header], pieces: Sequence[bytes], *, ends: bool = True
) -> CountingWire:
    """Return the connection of an application that sends these, and may fail in the midst."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number, piece in enumerate(pieces, 1):
            more = not ends or number < len(pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": more})
        if not ends:
            raise ValueError("broken")

    config = uvicorn.Config(app, interface="asgi3", lifespan="off", log_config=None)
    wire = CountingWire()
    connection = Connection(config, ServerState(), {}, refusal=refusal)
    wire.set_protocol(connection)
    connection.connection_made(wire)
    connection.data_received(GET)
    for _ in range(10):
        await asyncio.sleep(0)
    connection.connection_lost(None)
    return wire


async def test_a_whole_answer_leaves_in_one_write() -> None:
    wire = await answered([(b"Content-Length", b"2")], [b"ok"])
    assert wire.written == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    assert (wire.writes, wire.closed) == (1, False)


async def test_a_stream_leaves_in_chunks() -> None:
    wire = await answered([], [b"a", b"", b"bc"])
    assert wire.written.endswith(b"\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")
    assert wire.writes == 2


@pytest.mark.parametrize(
    ("headers", "pieces", "ends"),
    [
        ([], [], False),
        ([(b"a", b"b\r\nc: d")], [b"ok"], True),
        ([(b"a", b"b\0")], [b"ok"], True),
        ([(b"content-length", b"2")], [b"not ok"], True),
    ],
)
async def test_an_application_that_fails_before_the_first_piece_is_answered_for(
    headers: list[Header], pieces: list[bytes], ends: bool
) -> None:
    wire = await answered(headers, pieces, ends=ends)
    assert wire.written.startswith(b"HTTP/1.1 500 ")
    assert wire.written.endswith(b"Internal Server Error")
    assert wire.closed


async def test_an_application_that_fails_later_ends_the_connection() -> None:
    wire = await answered([], [b"a"], ends=False)
    assert wire.written.endswith(b"\r\n\r\n1\r\na\r\n")
    assert wire.closed
