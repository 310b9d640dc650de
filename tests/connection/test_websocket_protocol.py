"""WebSocket connections: handshake, messages, closes, and clients that are silent or too long."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection as Frames
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from ojs_server.connection.connection import Connection
from ojs_server.connection.extensions import TEXTS
from ojs_server.connection.flow_control import UNREAD_S
from ojs_server.connection.websocket_protocol import (
    CLOSE_S,
    MAX_MESSAGE,
    PING_S,
    PONG_S,
    ClientGone,
    text_frame,
)
from ojs_server.http.refusals import refusal
from tests.http.alarms import Clock
from tests.http.reading import Wire

ACCEPT = {"type": "websocket.accept", "subprotocol": "b", "headers": [(b"x-a", b"1")]}
CLOSE = {"type": "websocket.close", "code": 1001, "reason": "bye"}
App = Callable[[Any, Any, Any], Awaitable[None]]


class Socket:
    """A client of a connection, and what the application behind it was told."""

    def __init__(self, app: App | None = None) -> None:
        self.clock = Clock()
        self.told: list[Any] = []
        self.scope: Any = None
        self.send: Any = None
        self.wire = Wire()
        self.state = ServerState()
        self._client = WSConnection(ConnectionType.CLIENT)
        self._read = 0
        config = uvicorn.Config(
            app or self._serve, interface="asgi3", ws="none", lifespan="off", log_config=None
        )
        connection: Any = Connection(config, self.state, {}, self.clock, refusal=refusal)  # type: ignore[arg-type]
        self.wire.set_protocol(connection)
        connection.connection_made(self.wire)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, self.send = scope, send
        while (message := await receive())["type"] != "websocket.disconnect":
            self.told.append(message)
        self.told.append(message)

    async def opened(self) -> "Socket":
        """Shake hands."""
        await self.say(Request(host="localhost", target="/a%20b?c=d", subprotocols=["a", "b"]))
        await self.send(ACCEPT)
        (accepted,) = self.heard()
        assert isinstance(accepted, AcceptConnection)
        return self

    async def say(self, *said: Event) -> None:
        """Send frames in one piece."""
        await self.come(b"".join(self._client.send(event) for event in said))

    async def come(self, data: bytes) -> None:
        """Send bytes."""
        protocol: Any = self.wire.get_protocol()
        protocol.data_received(data)
        await self.settled()

    def heard(self) -> list[Any]:
        """Return the WebSocket events that the server has sent since the last call."""
        new = self.wire.written[self._read :]
        self._read += len(new)
        self._client.receive_data(new)
        return list(self._client.events())

    def stop(self) -> None:
        """Stop the server."""
        for member in list(self.state.connections):
            member.shutdown()

    async def settled(self) -> None:
        """Wait until the application has nothing to do."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def lost(self) -> None:
        """Break the connection off."""
        protocol: Any = self.wire.get_protocol()
        protocol.connection_lost(None)
        await self.settled()
        assert not self.state.connections
        assert not self.state.tasks
        assert not self.clock.waits


async def test_a_handshake_and_messages() -> None:
    socket = Socket()
    await socket.say(Request(host="localhost", target="/a%20b?c=d", subprotocols=["a", "b"]))
    assert socket.told == [{"type": "websocket.connect"}]
    assert (socket.scope["type"], socket.scope["scheme"]) == ("websocket", "ws")
    assert (socket.scope["path"], socket.scope["query_string"]) == ("/a b", b"c=d")
    assert socket.scope["subprotocols"] == ["a", "b"]
    assert (b"host", b"localhost") in socket.scope["headers"]
    await socket.send(ACCEPT)
    (accepted,) = socket.heard()
    assert isinstance(accepted, AcceptConnection)
    assert (accepted.subprotocol, accepted.extra_headers) == ("b", [(b"x-a", b"1")])
    await socket.say(
        TextMessage("é", message_finished=False), TextMessage("!"), BytesMessage(b"\0")
    )
    assert socket.told[1:] == [
        {"type": "websocket.receive", "text": "é!"},
        {"type": "websocket.receive", "bytes": b"\0"},
    ]
    await socket.send({"type": "websocket.send", "text": "ü"})
    await socket.send({"type": "websocket.send", "bytes": b"\1", "text": None})
    await socket.scope["extensions"][TEXTS]["send"]([b"1", b"2"])
    assert [one.data for one in socket.heard()] == ["ü", b"\1", "1", "2"]
    await socket.say(Ping(b"p"))
    assert socket.heard() == [Pong(b"p")]
    await socket.lost()
    assert socket.told[-1]["type"] == "websocket.disconnect"


async def test_a_client_closes() -> None:
    socket = await Socket().opened()
    await socket.say(CloseConnection(4000, "enough"))
    assert socket.heard() == [CloseConnection(4000, "enough")]
    closed = {"type": "websocket.disconnect", "code": 4000, "reason": "enough"}
    assert (socket.told[-1], socket.wire.closed) == (closed, True)
    with pytest.raises(ClientGone):
        await socket.send({"type": "websocket.send", "text": "late"})
    await socket.lost()


async def test_the_application_closes_and_the_client_may_answer() -> None:
    socket = await Socket().opened()
    await socket.send(CLOSE)
    (closed,) = socket.heard()
    assert (closed, socket.wire.closed) == (CloseConnection(1001, "bye"), False)
    # It had been sent before the client read the close.
    await socket.say(closed.response())
    assert socket.wire.closed
    await socket.lost()


async def test_an_unanswered_close_ends_after_a_while() -> None:
    socket = await Socket().opened()
    await socket.send(CLOSE)
    socket.clock.forward(CLOSE_S + 1)
    assert socket.wire.closed
    await socket.lost()


@pytest.mark.parametrize("size", [MAX_MESSAGE, MAX_MESSAGE + 1])
async def test_messages_have_a_largest_size(size: int) -> None:
    socket = await Socket().opened()
    half = size // 2
    await socket.say(
        TextMessage("x" * half, message_finished=False), TextMessage("x" * (size - half))
    )
    if size <= MAX_MESSAGE:
        assert len(socket.told[-1]["text"]) == size
    else:
        assert socket.told[-1]["code"] == 1009
        assert socket.heard()[0].code == 1009
        assert socket.wire.closed
    await socket.lost()


async def test_frames_that_break_the_protocol_end_the_connection() -> None:
    socket = await Socket().opened()
    await socket.come(b"\xff\xff\xff\xff")
    assert socket.told[-1]["code"] == 1002
    assert (socket.heard()[0].code, socket.wire.closed) == (1002, True)
    await socket.lost()


async def test_a_wrong_handshake_is_refused() -> None:
    socket = Socket()
    lines = b"Host: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8"
    await socket.come(b"GET / HTTP/1.1\r\n" + lines + b"\r\n\r\n")
    assert socket.wire.written.startswith(b"HTTP/1.1 4")
    assert socket.wire.closed
    assert socket.told == []


async def test_the_application_denies_the_handshake() -> None:
    socket = Socket()
    await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
    headers = [(b"content-length", b"4")]
    start = {"type": "websocket.http.response.start", "status": 401, "headers": headers}
    await socket.send(start)
    body = {"type": "websocket.http.response.body", "more_body": True}
    await socket.send({**body, "body": b"no"})
    await socket.send({**body, "body": b"no", "more_body": False})
    refused, *parts = socket.heard()
    assert isinstance(refused, RejectConnection)
    assert refused.status_code == 401
    assert all(isinstance(part, RejectData) for part in parts)
    assert b"".join(part.data for part in parts) == b"nono"
    assert socket.wire.closed
    await socket.lost()


async def test_a_close_before_the_handshake_is_a_403() -> None:
    socket = Socket()
    await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
    await socket.send({"type": "websocket.close"})
    assert socket.heard()[0].status_code == 403
    assert socket.wire.closed
    await socket.lost()


@pytest.mark.parametrize("accepts", [False, True])
async def test_an_application_that_fails(accepts: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if accepts:
            await send(ACCEPT)
        raise ValueError("broken")

    socket = Socket(app)
    await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
    told = socket.heard()
    if accepts:
        assert told[-1].code == 1011
    else:
        assert told[0].status_code == 500
        assert socket.wire.closed
    await socket.lost()


async def test_messages_out_of_turn_are_mistakes_of_the_application() -> None:
    socket = Socket()
    await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
    with pytest.raises(RuntimeError, match="is connecting"):
        await socket.send({"type": "websocket.send", "text": "early"})
    await socket.lost()


async def test_a_client_that_answers_pings_stays() -> None:
    socket = await Socket().opened()
    for _ in range(3):
        socket.clock.forward(PING_S + 1)
        (ping,) = socket.heard()
        await socket.say(ping.response())
        socket.clock.forward(PONG_S + 1)
    assert not socket.wire.closed
    await socket.lost()


async def test_pings_of_a_client_that_reads_nothing_are_not_answered() -> None:
    socket = await Socket().opened()
    protocol: Any = socket.wire.get_protocol()
    protocol.pause_writing()
    await socket.say(*[Ping(b"p")] * 3)
    assert socket.heard() == []
    protocol.resume_writing()
    await socket.say(Ping(b"q"))
    assert socket.heard() == [Pong(b"q")]
    await socket.lost()


async def test_a_silent_client_is_cut_off() -> None:
    socket = await Socket().opened()
    socket.clock.forward(PING_S + 1)
    assert isinstance(socket.heard()[0], Ping)
    socket.clock.forward(PONG_S + 1)
    assert socket.wire.closed
    await socket.lost()


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_stop_lets_the_application_say_a_last_message(accepted: bool) -> None:
    socket = Socket()
    if accepted:
        await socket.opened()
        socket.stop()
    else:
        await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
        socket.stop()
        await socket.send(ACCEPT)
    await socket.settled()
    assert socket.told[-1]["code"] == 1012
    await socket.lost()


async def test_a_client_that_does_not_read_holds_no_stop() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(ACCEPT)
        await asyncio.Event().wait()

    socket = Socket(app)
    await socket.say(Request(host="localhost", target="/", subprotocols=["b"]))
    socket.stop()
    socket.clock.forward(UNREAD_S + 1)
    assert socket.wire.closed
    for task in socket.state.tasks:
        task.cancel()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_client_reads_messages_that_were_sent_together(size: int) -> None:
    said = ["é" + "x" * (size - 2) if size > 1 else "x" * size, "next"]
    client = Frames(ConnectionType.CLIENT)
    client.receive_data(b"".join(text_frame(text.encode()) for text in said))
    heard = [""]
    for event in client.events():
        assert isinstance(event, TextMessage)
        heard[-1] += event.data
        if event.message_finished:
            heard.append("")
    assert heard == [*said, ""]
