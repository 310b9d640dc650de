"""Frames of HTTP/2 on a connection without calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conformance.play.http2 import http2
from conformance.processes.ports import reserve_port
from conformance.verdicts.reply import CheckFailed

HERE = "127.0.0.1"


def frame(kind: int, payload: bytes = b"") -> bytes:
    """A frame about the connection."""
    return len(payload).to_bytes(3) + bytes((kind, 0, 0, 0, 0, 0)) + payload


SETTINGS = frame(4, b"\0\4\0\0\xff\xff")
PING = frame(6, bytes(8))
GOAWAY = frame(7, bytes(8))


@asynccontextmanager
async def serving(said: bytes) -> AsyncIterator[str]:
    """A server that says this to whoever begins HTTP/2, and leaves; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"SM\r\n\r\n" + frame(4))
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(serve, HERE, 0) as server:
        yield f"{HERE}:{server.sockets[0].getsockname()[1]}"


async def test_frames_are_read_up_to_the_one_that_is_wanted() -> None:
    async with serving(SETTINGS + PING + GOAWAY) as address, http2(address) as connection:
        await connection.until("GOAWAY")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (SETTINGS, "frames: expected GOAWAY, got none"),
        (SETTINGS + PING + frame(77), "frames: expected GOAWAY, got PING, 77"),
        (SETTINGS + GOAWAY[:-1], "frames: expected GOAWAY, got none"),
        (b"", "frames: expected SETTINGS, got none"),
    ],
)
async def test_an_end_without_it_is_told(said: bytes, told: str) -> None:
    async with serving(said) as address:
        with pytest.raises(CheckFailed) as failed:
            async with http2(address) as connection:
                await connection.until("GOAWAY")
    assert told in str(failed.value)


async def test_a_port_that_is_closed_is_told() -> None:
    with pytest.raises(CheckFailed, match="transport: expected a connection"):
        async with http2(f"{HERE}:{reserve_port()}"):
            pass
