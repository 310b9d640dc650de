"""The WebSocket as cases use it, and targets that speak it badly or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from conformance.play import websocket as socket
from conformance.play.stage import Stage
from conformance.play.websocket import UNCLEAN, connected
from conformance.play.wire import Wire
from conformance.verdicts.reply import CheckFailed

Serve = Callable[["Peer"], Awaitable[None]]


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.wire = WSConnection(ConnectionType.SERVER)
        self.headers: dict[bytes, bytes] = {}

    async def put(self, *events: Event) -> None:
        for event in events:
            self.writer.write(self.wire.send(event))
        await self.writer.drain()

    async def next(self) -> Event:
        while True:
            for event in self.wire.events():
                return event
            self.wire.receive_data(await self.reader.read(65536) or None)

    async def accept(self, subprotocol: str | None = None) -> Request:
        request = await self.next()
        assert isinstance(request, Request)
        await self.put(AcceptConnection(subprotocol=subprotocol))
        return request


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[Stage]:
    at_work: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(Peer(reader, writer))
        except OSError:
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_work.add(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base/"
    async with server, httpx.AsyncClient(base_url=url) as client:
        yield Stage(Wire(client), {}, headers={"X-Mine": "a"})
    # End handlers that never return, and with them their connections.
    for task in at_work:
        task.cancel()
    await asyncio.gather(*at_work, return_exceptions=True)


async def never(_: Peer) -> None:
    await asyncio.Event().wait()


async def test_a_talk_from_the_handshake_to_the_close() -> None:
    met: list[Event] = []

    async def serve(peer: Peer) -> None:
        request = await peer.accept("ojs.v1")
        assert request.target == "/base/ojs/v1/ws"
        assert (b"x-mine", b"a") in request.extra_headers
        met.append(await peer.next())
        await peer.put(
            TextMessage('{"type":"subscr', message_finished=False),
            TextMessage('ibed","channel":"all"}'),
            Ping(b"there"),
            TextMessage('{"type":"event","id":"1"}'),
            TextMessage('{"type":"error","code":"c","message":"m"}'),
        )
        met.append(await peer.next())
        await peer.put(CloseConnection(1001))

    async with serving(serve) as stage:
        async with connected(stage) as connection:
            assert connection.subprotocol == "ojs.v1"
            assert (await connection.subscribe("all"))["channel"] == "all"
            assert (await connection.event())["id"] == "1"
            await connection.refused("c")
            assert await connection.ended() == 1001
        (shown,) = stage.wire.exchanges
    assert met == [TextMessage('{"action":"subscribe","channel":"all"}'), Pong(b"there")]
    assert shown.url.endswith("/base/ojs/v1/ws")
    assert shown.request_body == '{"action":"subscribe","channel":"all"}'
    assert shown.body.splitlines()[1] == '{"type":"event","id":"1"}'


async def test_a_deaf_client_leaves_pings_unanswered() -> None:
    answered = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.accept()
        await peer.next()
        await peer.put(Ping(), TextMessage("{}"))
        assert isinstance(await peer.next(), TextMessage)
        answered.set()

    async with serving(serve) as stage, connected(stage) as connection:
        connection.deaf = True
        await connection.send_message("ping me")
        await connection.pinged(5)
        await connection.send_message("that was no pong")
        await asyncio.wait_for(answered.wait(), 5)


async def html(peer: Peer) -> None:
    peer.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<!doctype")


async def smtp(peer: Peer) -> None:
    peer.writer.write(b"220 mail.example.org ESMTP\r\n")


async def refusing(peer: Peer) -> None:
    await peer.next()
    await peer.put(RejectConnection(status_code=404))


async def leaving(peer: Peer) -> None:
    await peer.reader.read(1)


async def resetting(peer: Peer) -> None:
    await peer.reader.read(1)
    peer.writer.transport.abort()


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (html, "expected a WebSocket, got the answer 200"),
        (smtp, "expected a WebSocket, got the end of the connection, with 1006"),
        (refusing, "expected a WebSocket, got the answer 404"),
        (leaving, "expected a WebSocket, got the end of the connection, with 1006"),
        (resetting, "expected a WebSocket, got the end of the connection, with 1006"),
        (never, "expected a WebSocket, got nothing within 0.2 s"),
    ],
)
async def test_what_is_no_websocket_fails_the_case(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, message: str
) -> None:
    if serve is never:
        monkeypatch.setattr(socket, "_SECONDS", 0.2)
    async with serving(serve) as stage:
        with pytest.raises(CheckFailed) as caught:
            async with connected(stage):
                pass
    assert message in str(caught.value)
    assert caught.value.failure.exchange == 0


async def garbage(peer: Peer) -> None:
    peer.writer.write(b"\xff" * 100)


async def no_utf8(peer: Peer) -> None:
    peer.writer.write(b"\x81\x02\xff\xff")


async def binary(peer: Peer) -> None:
    await peer.put(BytesMessage(b"x"))


async def no_json(peer: Peer) -> None:
    await peer.put(TextMessage("<p>"))


async def flooding(peer: Peer) -> None:
    while True:
        await peer.put(TextMessage("x" * 1_000_000, message_finished=False))


async def gone(peer: Peer) -> None:
    peer.writer.transport.abort()


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (garbage, "expected WebSocket frames, got "),
        (no_utf8, "expected WebSocket frames, got "),
        (binary, "expected messages of text, got a message of bytes"),
        (no_json, "expected an object, got nothing (the body is not JSON"),
        (flooding, "expected messages that anybody can read, got more than 3000000 bytes"),
        (gone, "expected a message, got the end of the connection, with 1006"),
        (never, "expected a message, got nothing within 0.05 s"),
    ],
)
async def test_what_is_said_badly_fails_the_case(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, message: str
) -> None:
    monkeypatch.setattr(socket, "MOST_BYTES", 3_000_000)

    async def accepted(peer: Peer) -> None:
        await peer.accept()
        await serve(peer)

    async with serving(accepted) as stage:
        with pytest.raises(CheckFailed) as caught:
            async with connected(stage) as connection:
                await connection.next(0.05 if serve is never else 10)
    assert message in str(caught.value)


async def test_other_messages_than_the_wanted_ones_fail_the_case() -> None:
    async def serve(peer: Peer) -> None:
        await peer.accept()
        await peer.put(
            TextMessage('{"type":"subscribed","channel":"all"}'),
            TextMessage('{"type":"error","code":"other","message":"m"}'),
            CloseConnection(1000),
        )
        await peer.next()

    async with serving(serve) as stage, connected(stage) as connection:
        with pytest.raises(CheckFailed, match="expected a message of the type event"):
            await connection.event()
        with pytest.raises(CheckFailed, match="expected an error mine with a message"):
            await connection.refused("mine")
        assert await connection.ended() == 1000 != UNCLEAN
        with pytest.raises(CheckFailed, match="expected a ping, got the end of the connection"):
            await connection.pinged(5)


async def test_where_nobody_listens_the_case_fails() -> None:
    async with httpx.AsyncClient(base_url="http://127.0.0.1:1") as client:
        stage = Stage(Wire(client), {})
        with pytest.raises(CheckFailed, match="transport: expected a connection"):
            async with connected(stage):
                pass
        assert stage.wire.exchanges[0].trouble
