"""A network between simulated hosts: TCP connections that are slow, break, and stand still.

Bytes of one direction arrive in order, as TCP promises. What is lost on the way is only late,
unless the connection breaks; then what was sent last has arrived or not, and nobody knows. A proxy
between two hosts may send a request again whose connection broke.
"""

import asyncio
import random
import socket
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, cast

import msgspec

from tests.simulation.machine.loop import LANE, Factory, Lane, SimulatedLoop

# Bytes on their way or unread, from which on a writer is told to pause, unless a reader sets less.
HIGH_WATER: Final = 65536
# Chance that a piece arrives in two parts.
SPLIT: Final = 0.03
# Repetitions by a proxy come at most this much later.
REPEAT_S: Final = 20.0


class Weather(msgspec.Struct):
    """Weather of the network: it is the same for all connections."""

    # Seconds from one host to another.
    least_s: float = 0.0001
    most_s: float = 0.002
    # Chance that a piece breaks its connection instead of arriving (`before`), or after it.
    break_before: float = 0.0
    break_after: float = 0.0
    # Chance that a piece is late by up to `late_s`, as one that was lost and sent again.
    late: float = 0.0
    late_s: float = 0.0
    # Chance that a request is sent again by a proxy, if its connection broke.
    repeat: float = 0.0


class Listening:
    """A port of a process."""

    def __init__(
        self, network: "Network", place: tuple[str, int], lane: Lane, factory: Factory
    ) -> None:
        self._network = network
        self._place = place
        self.lane = lane
        self.factory = factory
        self.sockets = [FakeSocket(place)]

    def close(self) -> None:
        """Accept no more connections."""
        self._network.unlisten(self._place, self)

    async def wait_closed(self) -> None:
        """Nothing is left to wait for."""


class FakeSocket:
    """The socket of a transport, as libraries ask about it."""

    family = 2
    type = 1

    def __init__(self, place: tuple[str, int], peer: tuple[str, int] | None = None) -> None:
        self._place = place
        self._peer = peer
        # Bytes on their way here or unread, from which on the writer is told to pause.
        self.window = HIGH_WATER

    def getpeername(self) -> tuple[str, int] | None:
        """Return host and port of the other end."""
        return self._peer

    def getsockname(self) -> tuple[str, int]:
        """Return host and port."""
        return self._place

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Set how much is received before it is read; there is nothing else to set."""
        if (level, option) == (socket.SOL_SOCKET, socket.SO_RCVBUF):
            self.window = value

    def fileno(self) -> int:
        """There is no file."""
        return -1


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(
        self, network: "Network", lane: Lane, local: tuple[str, int], remote: tuple[str, int]
    ) -> None:
        self.socket = FakeSocket(local, remote)
        super().__init__(
            {
                "sockname": local,
                "peername": remote,
                "socket": self.socket,
                "sslcontext": None,
            }
        )
        self.lane = lane
        self.peer: End
        self.protocol: asyncio.BaseProtocol
        # Bytes written since something was last received: a request without an answer.
        self.unanswered = b""
        self.closing = False
        # True once nothing arrives here any more.
        self.deaf = False
        self._network = network
        self._lost = False
        self._error: Exception | None = None
        self._made = False
        self._paused = False
        self._wants_pause = False
        self._unread: deque[bytes] = deque()
        # Bytes that were written, and that the peer's protocol has not read.
        self._pending = 0
        self._fin = False

    # Used by the protocol.

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol."""
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Give what arrives from now on to another protocol."""
        self.protocol = protocol

    def is_closing(self) -> bool:
        """Tell whether this end is closed."""
        return self.closing

    def is_reading(self) -> bool:
        """Tell whether what arrives is read."""
        return not self._paused

    def pause_reading(self) -> None:
        """Keep what arrives."""
        self._paused = True

    def resume_reading(self) -> None:
        """Read what was kept, and what arrives."""
        if self._paused:
            self._paused = False
            self._network.loop.post(self.lane, self._read)

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that the kernel has not taken."""
        return max(0, self._pending - self.peer.socket.window)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limits stay as they are."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes."""
        if self.closing or not data:
            return
        piece = bytes(data)
        self.unanswered += piece
        self._pending += len(piece)
        if self._pending > self.peer.socket.window and not self._wants_pause:
            self._wants_pause = True
            cast(asyncio.Protocol, self.protocol).pause_writing()
        self._network.send(self, piece)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send bytes."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """One direction can end before the other."""
        return True

    def write_eof(self) -> None:
        """End this direction."""
        if not self._fin:
            self._fin = True
            self._network.send(self, None)

    def close(self) -> None:
        """Close, after all that was written."""
        if not self.closing:
            self.closing = True
            self.write_eof()
            self._network.loop.post(self.lane, self.lose, None)

    def abort(self) -> None:
        """Close at once."""
        if not self._lost:
            self.closing = True
            self._network.loop.post(self.lane, self.lose, None)
            self._network.reset(self.peer)

    # Used by the network.

    def made(self) -> None:
        """Tell the protocol that there is a connection, though it may be lost already."""
        self._made = True
        self.protocol.connection_made(self)
        if self._lost:
            self.protocol.connection_lost(self._error)
        else:
            self._read()

    def arrive(self, piece: bytes | None) -> None:
        """Take bytes that have arrived, or the end of the peer's direction."""
        if self._lost:
            self._network.reset(self.peer)
        else:
            self._unread.append(b"" if piece is None else piece)
            self._read()

    def _read(self) -> None:
        while self._made and self._unread and not (self._paused or self._lost or self.deaf):
            piece = self._unread.popleft()
            protocol = cast(asyncio.Protocol, self.protocol)
            if piece:
                self.unanswered = b""
                self.peer.consumed(len(piece))
                if not self.closing:
                    protocol.data_received(piece)
            elif not protocol.eof_received():
                self.close()

    def consumed(self, count: int) -> None:
        """Note that the peer has read bytes."""
        self._pending -= count
        if self._wants_pause and self._pending <= self.peer.socket.window // 4:
            self._wants_pause = False
            self._network.loop.post(self.lane, self._resume)

    def _resume(self) -> None:
        if not self._lost:
            cast(asyncio.Protocol, self.protocol).resume_writing()

    def lose(self, error: Exception | None) -> None:
        """Tell the protocol that the connection is gone."""
        if not self._lost:
            self._lost = True
            self._error = error
            self.closing = True
            self._network.forget(self)
            if self._made:
                self.protocol.connection_lost(error)


class Network:
    """All hosts, their ports, and the connections between them."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random) -> None:
        self.loop = loop
        self.weather = Weather()
        self.fired: Counter[str] = Counter()
        # True once nothing is sent again by a proxy any more.
        self.calm = False
        self._chance = chance
        self._ports: dict[tuple[str, int], Listening] = {}
        self._numbers = 40_000
        # Directions in which nothing passes.
        self._blocked: Counter[tuple[str, str]] = Counter()
        self._stalled: list[tuple[End, bytes | None]] = []
        self._opened: list[asyncio.Future[None]] = []
        self._arrivals: dict[End, float] = {}
        self._ends: dict[End, None] = {}
        # Hosts that were switched off: nothing of them says that a connection is gone.
        self._silent: set[str] = set()

    # Connections.

    def listen(self, factory: Factory, host: str, port: int) -> Listening:
        """Accept connections in the current lane."""
        place = (host, port)
        if place in self._ports:
            raise OSError(98, f"{host}:{port} is in use")
        lane = LANE.get()
        listening = Listening(self, place, lane, factory)
        self._ports[place] = listening
        lane.on_kill.append(listening.close)
        return listening

    def unlisten(self, place: tuple[str, int], listening: Listening) -> None:
        """Close a port."""
        if self._ports.get(place) is listening:
            del self._ports[place]

    async def connect(
        self, factory: Factory, host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection from the current lane."""
        lane = LANE.get()
        while True:
            await asyncio.sleep(self._delay())
            if not (self.is_blocked(lane.host, host) or self.is_blocked(host, lane.host)):
                break
            opened: asyncio.Future[None] = self.loop.create_future()
            self._opened.append(opened)
            await opened
        listening = self._ports.get((host, port))
        if listening is None:
            raise ConnectionRefusedError(111, f"Connect call failed ('{host}', {port})")
        self._numbers += 1
        ours = self._joined(lane, (lane.host, self._numbers), listening, factory)
        await asyncio.sleep(self._delay())
        ours.made()
        return ours, ours.protocol

    def _joined(
        self, lane: Lane, local: tuple[str, int], listening: Listening, factory: Factory
    ) -> End:
        """Make both ends of a connection; the server learns of it a moment later."""
        remote = listening.sockets[0].getsockname()
        ours = End(self, lane, local, remote)
        theirs = End(self, listening.lane, remote, local)
        ours.peer, theirs.peer = theirs, ours
        ours.protocol = factory()
        self._ends[ours] = self._ends[theirs] = None

        def accept() -> None:
            theirs.protocol = listening.factory()
            theirs.made()

        self.loop.post(listening.lane, accept)
        return ours

    # Pieces on their way.

    def send(self, end: End, piece: bytes | None) -> None:
        """Bring a piece to the other end, or break the connection."""
        weather, chance = self.weather, self._chance
        if weather.break_before and chance.random() < weather.break_before:
            self.fired["break before"] += 1
            self._break(end)
            return
        if piece is not None and len(piece) > 1 and chance.random() < SPLIT:
            place = chance.randrange(1, len(piece))
            self._later(end, piece[:place])
            piece = piece[place:]
        self._later(end, piece)
        if weather.break_after and chance.random() < weather.break_after:
            self.fired["break after"] += 1
            self.loop.post_in(self._delay() * 2, self.loop.system, self._break, end)

    def _later(self, end: End, piece: bytes | None) -> None:
        delay = self._delay()
        if self.weather.late and self._chance.random() < self.weather.late:
            self.fired["late"] += 1
            delay += self._chance.random() * self.weather.late_s
        at = max(self.loop.now + delay, self._arrivals.get(end, 0.0) + 1e-6)
        self._arrivals[end] = at
        self.loop.post_in(at - self.loop.now, self.loop.system, self._deliver, end, piece)

    def _deliver(self, end: End, piece: bytes | None) -> None:
        peer = end.peer
        if self.is_blocked(end.lane.host, peer.lane.host) or any(
            stalled is end for stalled, _ in self._stalled
        ):
            self._stalled.append((end, piece))
        elif not peer.deaf:
            self.loop.post(peer.lane, peer.arrive, piece)

    def _delay(self) -> float:
        weather = self.weather
        return weather.least_s + (weather.most_s - weather.least_s) * self._chance.random() ** 3

    def _break(self, end: End) -> None:
        """Break a connection: both ends learn of it, in their time."""
        for one in (end, end.peer):
            may_repeat = self.weather.repeat and one.unanswered and self._is_client(one)
            if may_repeat and self._chance.random() < self.weather.repeat:
                self._repeat(one)
            self.reset(one)

    def reset(self, end: End) -> None:
        """Tell one end that the connection is reset."""
        if not end.deaf and end in self._ends:
            end.deaf = True
            error = ConnectionResetError(104, "Connection reset by peer")
            self.loop.post_in(self._delay(), self.loop.system, self._tell, end, error)

    def _tell(self, end: End, error: Exception) -> None:
        self.loop.post(end.lane, end.lose, error)

    def forget(self, end: End) -> None:
        """Forget an end that is lost."""
        self._ends.pop(end, None)

    def _is_client(self, end: End) -> bool:
        return end.get_extra_info("peername") in self._ports

    def _repeat(self, end: End) -> None:
        """Send an unanswered request again, as a proxy does; nobody gets the answer."""
        request, place = end.unanswered, end.get_extra_info("peername")
        self.fired["repeat"] += 1

        def again() -> None:
            listening = self._ports.get(place)
            if listening is not None and not self.calm:
                self._numbers += 1
                ghost = self._joined(
                    self.loop.system, ("proxy", self._numbers), listening, asyncio.Protocol
                )
                ghost.made()
                ghost.write(request)
                self.loop.post_in(5.0, self.loop.system, ghost.abort)

        self.loop.post_in(self._chance.random() * REPEAT_S, self.loop.system, again)

    # Faults.

    def is_blocked(self, one: str, other: str) -> bool:
        """Tell whether nothing passes from one host to another."""
        return self._blocked[(one, other)] > 0 or one in self._silent or other in self._silent

    def block(self, one: str, other: str, *, both: bool) -> None:
        """Let nothing pass from one host to another."""
        self.fired["partition"] += 1
        self._blocked[(one, other)] += 1
        if both:
            self._blocked[(other, one)] += 1

    def unblock(self, one: str, other: str, *, both: bool) -> None:
        """Let everything pass again, also what has waited."""
        self._blocked[(one, other)] -= 1
        if both:
            self._blocked[(other, one)] -= 1
        self._release()

    def _release(self) -> None:
        stalled, self._stalled = self._stalled, []
        for end, piece in stalled:
            self._deliver(end, piece)
        opened, self._opened = self._opened, []
        for one in opened:
            if not one.done():
                one.set_result(None)

    def end_process(self, lane: Lane, *, silently: bool) -> None:
        """Close the connections of a process that was killed, or whose host was switched off."""
        for end in [one for one in self._ends if one.lane is lane]:
            end.deaf = True
            peer = end.peer
            self.forget(end)
            if silently:
                # The host answers with a reset once it is there again.
                self.loop.post_in(
                    self._chance.uniform(0.5, 40.0), self.loop.system, self.reset, peer
                )
            elif self._chance.random() < 0.5:
                self.reset(peer)
            else:
                self.loop.post_in(
                    self._delay(), self.loop.system, self.loop.post, peer.lane, peer.arrive, None
                )
