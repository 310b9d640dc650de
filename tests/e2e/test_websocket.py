"""The WebSocket of a server in a process of its own, over a real connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    Pong,
    Request,
    TextMessage,
)

from tests.e2e.node import Node, running

LONGEST_S = 20


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._wire = WSConnection(ConnectionType.CLIENT)

    def send(self, event: Any) -> None:
        """Send one frame."""
        self._writer.write(self._wire.send(event))

    async def next(self) -> Any:
        """The next frame; a close or the end of the connection is one, too."""
        async with asyncio.timeout(LONGEST_S):
            while True:
                for event in self._wire.events():
                    if isinstance(event, TextMessage):
                        return msgspec.json.decode(event.data)
                    assert not isinstance(event, BytesMessage)
                    return event
                data = await self._reader.read(65536)
                if not data:
                    return None
                self._wire.receive_data(data)


@asynccontextmanager
async def connected(node: Node) -> AsyncIterator[Client]:
    """An open connection."""
    address = urlsplit(node.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    client = Client(reader, writer)
    client.send(Request(host=address.netloc, target="/ojs/v1/ws", subprotocols=["ojs.v1"]))
    accepted = await client.next()
    assert isinstance(accepted, AcceptConnection)
    assert accepted.subprotocol == "ojs.v1"
    try:
        yield client
    finally:
        writer.close()


async def test_events_come_over_a_real_connection_until_the_server_stops(store_url: str) -> None:
    async with running(store_url) as node, httpx.AsyncClient() as http, connected(node) as client:
        client.send(Message('{"action":"subscribe","channel":"all"}'))
        assert await client.next() == {"type": "subscribed", "channel": "all"}
        for _ in range(3):
            job = (
                await http.post(f"{node.url}/ojs/v1/jobs", json={"type": "t", "args": []})
            ).json()
            told = await client.next()
            assert (told["event"], told["data"]["job_id"]) == ("job.state_changed", job["id"])
        client.send(Ping(b"there"))
        assert await client.next() == Pong(b"there")
        stopping = asyncio.create_task(node.stop())
        assert (await client.next())["event"] == "server.shutdown"
        assert isinstance(await client.next(), CloseConnection)
        assert await stopping == 0


async def test_a_message_that_is_too_long_ends_the_connection(store_url: str) -> None:
    async with running(store_url) as node, connected(node) as client:
        client.send(Message("x" * 70_000))
        closed = await client.next()
        assert isinstance(closed, CloseConnection)
        assert closed.code == 1009
