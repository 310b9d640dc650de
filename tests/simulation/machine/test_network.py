"""The simulated network: bytes in order, breaks, partitions, resets, proxies and flow control."""

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from tests.simulation.machine.loop import Lane, SimulatedLoop
from tests.simulation.machine.network import HIGH_WATER, Network, Weather

PORT = 80
PLACE = ("server", PORT)


class Peer(asyncio.Protocol):
    """Notes what happens to a connection, and answers each piece with itself, if it should."""

    def __init__(self, *, echo: bool = False) -> None:
        self.echo = echo
        self.received = b""
        self.pieces = 0
        self.ended = False
        self.lost: list[Exception | None] = []
        self.paused: list[bool] = []
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.pieces += 1
        if self.echo:
            self.transport.write(data)

    def eof_received(self) -> bool:
        self.ended = True
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.append(error)

    def pause_writing(self) -> None:
        self.paused.append(True)

    def resume_writing(self) -> None:
        self.paused.append(False)


class Town:
    """A server and a client, each in a lane of its own."""

    def __init__(self, seed: int = 1, **weather: float) -> None:
        self.loop = SimulatedLoop(random.Random(seed))  # type: ignore[abstract]
        self.network = Network(self.loop, random.Random(f"network {seed}"))
        self.network.weather = Weather(**weather)
        self.loop.network = self.network
        self.server = self.loop.lane("server", "server")
        self.client = self.loop.lane("client", "client")
        self.accepted: list[Peer] = []
        self.echo = False

    def _accept(self) -> Peer:
        self.accepted.append(Peer(echo=self.echo))
        return self.accepted[-1]

    async def within(self, lane: Lane, call: Callable[[], Awaitable[object]]) -> None:
        """Carry out a call in a lane, to its end."""
        done = asyncio.Event()

        async def whole() -> None:
            await call()
            done.set()

        self.loop.start(lane, whole(), "call")
        await done.wait()

    async def listen(self) -> None:
        """Have the server accept connections."""

        async def listening() -> None:
            await self.loop.create_server(self._accept, "server", PORT)

        await self.within(self.server, listening)

    async def connected(self) -> tuple[Peer, Peer]:
        """Open a connection; returns the client's end and the server's."""
        opened: list[Peer] = []

        async def connect() -> None:
            _, protocol = await self.loop.create_connection(Peer, "server", PORT)
            opened.append(cast(Peer, protocol))

        await self.within(self.client, connect)
        return opened[0], self.accepted[-1]

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        """Listen, and run a test."""

        async def whole() -> None:
            await self.listen()
            await main()

        self.loop.run_until_complete(whole())
        assert self.loop.errors == []


@pytest.mark.parametrize("seed", range(5))
def test_bytes_arrive_in_order_however_late_some_are(seed: int) -> None:
    town = Town(seed, late=0.3, late_s=10.0)
    sent = [bytes([number]) * 100 for number in range(100)]

    async def main() -> None:
        ours, theirs = await town.connected()
        for piece in sent:
            ours.transport.write(piece)
            await asyncio.sleep(0.01)
        await asyncio.sleep(60)
        assert theirs.received == b"".join(sent)
        assert theirs.pieces > len(sent), "no piece was split"

    town.run(main)
    assert town.network.fired["late"] > 10


def test_the_end_of_a_direction_comes_after_its_bytes() -> None:
    town = Town()

    async def main() -> None:
        ours, theirs = await town.connected()
        ours.transport.write(b"last words")
        ours.transport.close()
        await asyncio.sleep(1)
        assert (theirs.received, theirs.ended) == (b"last words", True)
        assert ours.lost == theirs.lost == [None]

    town.run(main)


def test_nobody_listens() -> None:
    town = Town()

    async def main() -> None:
        async def connect() -> None:
            with pytest.raises(ConnectionRefusedError):
                await town.loop.create_connection(Peer, "server", 81)

        await town.within(town.client, connect)

    town.run(main)


def test_a_connection_breaks_instead_of_bringing_a_piece() -> None:
    town = Town()

    async def main() -> None:
        ours, theirs = await town.connected()
        town.network.weather.break_before = 1.0
        ours.transport.write(b"request")
        await asyncio.sleep(1)
        assert theirs.received == b""
        for end in (ours, theirs):
            assert [type(error) for error in end.lost] == [ConnectionResetError]

    town.run(main)
    assert town.network.fired == {"break before": 1}


def test_a_connection_breaks_after_it_has_brought_a_piece() -> None:
    arrived = set()
    for seed in range(8):
        town = Town(seed)

        async def main(town: Town = town) -> None:
            ours, theirs = await town.connected()
            town.network.weather.break_after = 1.0
            ours.transport.write(b"request")
            await asyncio.sleep(1)
            arrived.add(theirs.received)
            for end in (ours, theirs):
                assert [type(error) for error in end.lost] == [ConnectionResetError]

        town.run(main)
        assert town.network.fired["break after"] == 1
    assert b"request" in arrived


def test_nothing_passes_a_partition_until_it_ends() -> None:
    town = Town()
    town.echo = True

    async def main() -> None:
        ours, theirs = await town.connected()
        town.network.block("client", "server", both=True)
        ours.transport.write(b"one")
        await asyncio.sleep(100)
        assert theirs.received == b""
        town.network.unblock("client", "server", both=True)
        ours.transport.write(b"two")
        await asyncio.sleep(1)
        assert ours.received == theirs.received == b"onetwo"

    town.run(main)


def test_a_partition_of_one_direction_lets_the_other_pass() -> None:
    town = Town()

    async def main() -> None:
        ours, theirs = await town.connected()
        town.network.block("server", "client", both=False)
        ours.transport.write(b"request")
        theirs.transport.write(b"answer")
        await asyncio.sleep(10)
        assert (theirs.received, ours.received) == (b"request", b"")
        town.network.unblock("server", "client", both=False)
        await asyncio.sleep(1)
        assert ours.received == b"answer"

    town.run(main)


def test_a_connection_is_opened_once_a_partition_ends() -> None:
    town = Town()

    async def main() -> None:
        town.network.block("client", "server", both=True)
        town.loop.call_later(30, lambda: town.network.unblock("client", "server", both=True))
        await town.connected()
        assert town.loop.now >= 30

    town.run(main)


@pytest.mark.parametrize("seed", range(4))
def test_the_peer_of_a_killed_process_learns_of_it(seed: int) -> None:
    town = Town(seed)

    async def main() -> None:
        ours, theirs = await town.connected()
        town.server.kill()
        town.network.end_process(town.server, silently=False)
        ours.transport.write(b"to the dead")
        await asyncio.sleep(1)
        assert len(ours.lost) == 1
        assert theirs.received == b""
        assert theirs.lost == []

        async def connect() -> None:
            with pytest.raises(ConnectionRefusedError):
                await town.loop.create_connection(Peer, "server", PORT)

        await town.within(town.client, connect)

    town.run(main)


def test_the_peer_of_a_host_without_power_learns_of_it_late() -> None:
    town = Town()

    async def main() -> None:
        ours, _ = await town.connected()
        town.server.kill()
        town.network.end_process(town.server, silently=True)
        await asyncio.sleep(0.4)
        assert ours.lost == []
        await asyncio.sleep(60)
        assert [type(error) for error in ours.lost] == [ConnectionResetError]

    town.run(main)


def test_a_proxy_sends_an_unanswered_request_again() -> None:
    town = Town(repeat=1.0)

    async def main() -> None:
        ours, theirs = await town.connected()
        ours.transport.write(b"request")
        await asyncio.sleep(0.1)
        town.network.weather.break_before = 1.0
        theirs.transport.write(b"answer")
        await asyncio.sleep(0.1)
        town.network.weather.break_before = 0.0
        await asyncio.sleep(60)
        assert [one.received for one in town.accepted] == [b"request", b"request"]
        assert ours.received == b""
        assert all(len(one.lost) == 1 for one in town.accepted)

    town.run(main)
    assert town.network.fired["repeat"] == 1


@pytest.mark.parametrize("window", [HIGH_WATER, 1000])
def test_a_writer_is_paused_until_its_peer_has_read(window: int) -> None:
    town = Town()

    async def main() -> None:
        ours, theirs = await town.connected()
        theirs.transport.pause_reading()
        kept = theirs.transport.get_extra_info("socket")
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        ours.transport.write(b"x" * (window + 1))
        await asyncio.sleep(5)
        assert (ours.paused, theirs.received) == ([True], b"")
        assert ours.transport.get_write_buffer_size() == 1
        theirs.transport.resume_reading()
        await asyncio.sleep(1)
        assert (ours.paused, len(theirs.received)) == ([True, False], window + 1)

    town.run(main)


def test_an_abort_resets_the_peer() -> None:
    town = Town()

    async def main() -> None:
        ours, theirs = await town.connected()
        ours.transport.abort()
        await asyncio.sleep(1)
        assert ours.lost == [None]
        assert [type(error) for error in theirs.lost] == [ConnectionResetError]

    town.run(main)


def test_a_port_has_one_listener() -> None:
    town = Town()

    async def main() -> None:
        with pytest.raises(OSError, match="in use"):
            await town.loop.create_server(Peer, *PLACE)

    town.run(main)
