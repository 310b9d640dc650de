"""Room for new connections at the port of gRPC.

The library refuses connections above a number, but does not list those that it has, and closes none
to make room. So while more than half of them are taken, those on which no call has shown a valid
key are shut down, the oldest first. They are found among the descriptors of the process.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

log = logging.getLogger("ojs.grpc")

_DESCRIPTORS: Final = "/dev/fd"
# Pauses between two checks: while connections are few or have to be closed, and while they are many
# and all have shown a key.
LOOK_S: Final = 0.2
CALM_S: Final = 2.0
_WARN_EVERY_S: Final = 10.0


class Connections:
    """The connections of a port, and the clients on them that have shown a key."""

    def __init__(self, most: int, count: Callable[[int], None]) -> None:
        self._most = most
        # Called with the number of closed connections.
        self._count = count
        self._proven: set[str] = set()
        # Connections at the last check, the oldest first.
        self._seen: dict[str, None] = {}
        self._warn_at = 0.0
        self._unreported = 0

    def prove(self, peer: str) -> None:
        """Keep the connection of a client, named as the library names it: it has a valid key."""
        self._proven.add(peer)

    async def watch(self, port: int) -> None:
        """Keep half of the connections for newcomers as long as others have shown no key."""
        # Windows has no such folder.
        while descriptors := _descriptors():
            pause_s = LOOK_S
            if max(len(descriptors), len(self._proven)) > self._most // 2:
                pause_s = LOOK_S if await self._make_room(port) else CALM_S
            self._warn(asyncio.get_running_loop().time())
            await asyncio.sleep(pause_s)

    async def _make_room(self, port: int) -> bool:
        """Close connections without a key if there are too many; return True if there were."""
        proven = frozenset(self._proven)
        found = await asyncio.to_thread(open_sockets, port)
        # Forget peers that are gone. Peers that have shown a key since the check began may be
        # missing in `found`.
        self._proven -= proven - found.keys()
        excess = len(found) - self._most // 2
        # Spare new connections once, so that they can show their key.
        known = [peer for peer in self._seen if peer in found]
        self._seen = dict.fromkeys([*known, *found])
        victims = [peer for peer in known if peer not in self._proven][: max(excess, 0)]
        if closed := sum(hang_up(found[peer], port, peer) for peer in victims):
            self._count(closed)
            self._unreported += closed
        return excess > 0 and not self._proven.issuperset(found)

    def _warn(self, now: float) -> None:
        if not self._unreported or now < self._warn_at:
            return
        log.warning(
            "more than half of the %d connections for gRPC are taken: %d without a valid key were "
            "closed; --max-connections and --grpc-share are the bounds",
            self._most,
            self._unreported,
        )
        self._warn_at = now + _WARN_EVERY_S
        self._unreported = 0


def _descriptors() -> list[str]:
    return os.listdir(_DESCRIPTORS) if Path(_DESCRIPTORS).is_dir() else []


def open_sockets(port: int) -> dict[str, int]:
    """Return the descriptors of the connections at a port of this process, by client."""
    found = {}
    for name in _descriptors():
        try:
            with _socket_of(int(name)) as connection:
                peer = _peer_of(connection, port)
        except OSError:
            # Not a socket, not connected, or closed meanwhile.
            continue
        if peer is not None:
            found[peer] = int(name)
    return found


def hang_up(descriptor: int, port: int, peer: str) -> bool:
    """Shut down the connection of a client if the descriptor is still its own; the library then
    closes it as if the client had left."""
    try:
        with _socket_of(descriptor) as connection:
            if _peer_of(connection, port) != peer:
                return False
            connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False
    return True


def _socket_of(descriptor: int) -> socket.socket:
    """Return a copy, which keeps the number from meaning another connection meanwhile; raises
    OSError if it is no socket."""
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _peer_of(connection: socket.socket, port: int) -> str | None:
    """Return the name that the library has for the client of a connection at this port."""
    own = connection.getsockname()
    # Addresses of other families are strings.
    if not isinstance(own, tuple) or own[1] != port:
        return None
    host, number = connection.getpeername()[:2]
    host = host.removeprefix("::ffff:")
    return f"ipv6:%5B{host}%5D:{number}" if ":" in host else f"ipv4:{host}:{number}"
