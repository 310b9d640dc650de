"""Free ports for servers that are started by a command."""

import errno
import secrets
import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

_HOST: Final = "127.0.0.1"
_GIVEN: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST: Final = 10_000
_HIGHEST: Final = 65_535
# The range of RFC 6335, for systems that do not say theirs.
_USUAL: Final = (49_152, _HIGHEST)


def reserve_port() -> int:
    """Return a free port that nobody else is given while its server is away.

    It is none of those that the system gives to connections, and to servers that name no port.

    A connection is opened and closed on it. For the minute that the system then remembers it
    (TIME_WAIT), only a program that names the port can listen there, as servers do that set
    SO_REUSEADDR. A port that was merely free a moment ago may be another program's by the time
    the server comes up, and that program would be judged in its place.
    """
    while True:
        try:
            return _reserved(secrets.choice(_ports()))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def _reserved(port: int) -> int:
    with socket.socket() as probe:
        # Fails for ports that are in use, or were so a minute ago.
        probe.bind((_HOST, port))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(1)
        reserved: int = listener.getsockname()[1]
        with socket.create_connection((_HOST, reserved)) as client:
            accepted, _ = listener.accept()
            # The client closes last: the side that closes first has the port in TIME_WAIT.
            accepted.close()
            client.recv(1)
    return reserved


@cache
def _ports() -> Sequence[int]:
    low, high = given_by_system()
    # If there are no others, the system chooses.
    return [port for port in range(_LOWEST, _HIGHEST + 1) if not low <= port <= high] or [0]


def given_by_system() -> tuple[int, int]:
    """Return the first and the last port that the system gives of its own accord."""
    try:
        low, high = map(int, _GIVEN.read_text(encoding="ascii").split())
    except OSError:
        return _USUAL
    return low, high
