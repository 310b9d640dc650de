"""A refused connection whose client still sends: the time for which its input is read."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ojs_server.app import Server
from ojs_server.connection import lingering
from tests.http.listening import on_a_socket
from tests.http.steps import JOBS

TOO_LONG = f"POST {JOBS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n".encode()
# Limits of time and of size, by the one that is reached.
LIMITS = {"long": (0.2, 1 << 40), "much": (60.0, 1_000_000)}

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def refused(
    server: Server, limit: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Ends]:
    """A client that has received its refusal, after which no more answers come."""
    seconds, size = LIMITS[limit]
    monkeypatch.setattr(lingering, "LINGER_S", seconds)
    monkeypatch.setattr(lingering, "MOST_BYTES", size)
    async with on_a_socket(server) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(TOO_LONG)
        async with asyncio.timeout(10):
            assert (await reader.read()).startswith(b"HTTP/1.1 413 ")
        yield reader, writer
        writer.transport.abort()


async def goes_on(writer: asyncio.StreamWriter) -> None:
    """Send without end."""
    while True:
        writer.write(b"a" * 65_536)
        await writer.drain()
        await asyncio.sleep(0)


@pytest.mark.parametrize("limit", LIMITS)
async def test_who_goes_on_sending_is_listened_to_no_longer(refused: Ends) -> None:
    async with asyncio.timeout(10):
        with pytest.raises(ConnectionError):
            await goes_on(refused[1])
