"""The client's end of a WebSocket, against a library."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from wsproto import ConnectionType, WSConnection, events

from tests.simulation.machine.loop import SimulatedLoop
from tests.simulation.machine.network import Network
from tests.simulation.machine.websocket import NARROW, Closed, Denied, WebSocket, open_websocket

PLACE = ("server", 80)
LONG = b"long " * 20_000
SILENCE_S = 30.0


class Library:
    """A server that answers a text with itself; it closes after `bye`, and says more to `long`."""

    def __init__(self, *, denies: bool = False) -> None:
        self.denies = denies
        self.pongs = 0
        self.closed = 0
        self._wire = WSConnection(ConnectionType.SERVER)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(ConnectionResetError):
            while data := await reader.read(100_000):
                self._wire.receive_data(data)
                for event in self._wire.events():
                    for reply in self._replies(event):
                        writer.write(self._wire.send(reply))
        writer.close()

    def _replies(self, event: events.Event) -> list[events.Event]:
        if isinstance(event, events.Request):
            if self.denies:
                return [events.RejectConnection(status_code=403)]
            return [events.AcceptConnection()]
        if isinstance(event, events.CloseConnection):
            self.closed = event.code
            return []
        if isinstance(event, events.Pong):
            self.pongs += 1
        elif isinstance(event, events.TextMessage):
            if event.data == "bye":
                return [events.CloseConnection(1001, "bye")]
            text = LONG.decode() if event.data == "long" else event.data
            return [events.Ping(b"still there?"), events.TextMessage(text)]
        return []


def talk(library: Library, how: Callable[[WebSocket], Awaitable[None]]) -> None:
    """Open a connection to a server in virtual time, and talk."""
    loop = SimulatedLoop(random.Random(1))  # type: ignore[abstract]
    loop.network = Network(loop, random.Random(2))

    async def whole() -> None:
        await asyncio.start_server(library.serve, *PLACE)
        random_bits = random.Random(3).getrandbits
        try:
            opened = await open_websocket(
                PLACE, "/ws", {}, random_bits, window=NARROW, silence_s=SILENCE_S
            )
            await how(opened)
            opened.abort()
        finally:
            # The server notices the end.
            await asyncio.sleep(1)

    loop.run_until_complete(whole())
    assert loop.errors == []


def test_texts_of_all_lengths_pass_and_pings_are_answered() -> None:
    library, texts = Library(), [b"", b"short", b"x" * 125, b"y" * 126, b"z" * 3000]

    async def how(socket: WebSocket) -> None:
        for text in texts:
            socket.send(text)
            assert await socket.receive() == text
        socket.send(b"long")
        assert await socket.receive() == LONG
        socket.close()
        await asyncio.sleep(1)

    talk(library, how)
    assert (library.pongs, library.closed) == (len(texts) + 1, 1000)


def test_a_close_has_its_code_and_is_answered() -> None:
    library = Library()

    async def how(socket: WebSocket) -> None:
        socket.send(b"bye")
        with pytest.raises(Closed) as closed:
            await socket.receive()
        assert closed.value.code == 1001
        await asyncio.sleep(1)

    talk(library, how)
    assert library.closed == 1001


def test_silence_ends_a_connection() -> None:
    async def how(socket: WebSocket) -> None:
        began = asyncio.get_running_loop().time()
        with pytest.raises(TimeoutError):
            await socket.receive()
        assert asyncio.get_running_loop().time() - began == pytest.approx(SILENCE_S, abs=0.1)

    talk(Library(), how)


def test_another_answer_has_its_status() -> None:
    async def how(socket: WebSocket) -> None:
        raise AssertionError("it is open")

    with pytest.raises(Denied) as denied:
        talk(Library(denies=True), how)
    assert denied.value.status == 403
