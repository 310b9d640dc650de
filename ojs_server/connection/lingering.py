"""The end of a connection whose client may still be sending.

If a socket is closed before all received bytes were read, the client's system gets a reset and
drops what its program has not read yet, the answer included. So the server closes only its own
direction, and reads and discards for a while.
"""

import asyncio
from typing import Any, Final, Protocol

from ojs_server.connection.flow_control import Flow

LINGER_S: Final = 2.0
# Most bytes that are discarded; more than the largest body that is likely to be sent.
MOST_BYTES: Final = 64 * 1024 * 1024


class Ended(Protocol):
    """A connection that answers no more requests."""

    transport: asyncio.Transport
    flow: Flow
    loop: Any

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""


class Lingering(asyncio.Protocol):
    """A refused connection before it closes: it drops input until the client has closed it, for a
    limited time."""

    def __init__(self, behind: Ended) -> None:
        self._transport = transport = behind.transport
        self._behind = behind
        self._left = MOST_BYTES
        self._alarm = behind.loop.call_later(LINGER_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Discard the data; abort the connection if it is too much."""
        self._left -= len(data)
        if self._left < 0:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer and end the connection."""
        self._alarm.cancel()
        self._behind.connection_lost(exc)


def linger(behind: Ended) -> None:
    """Close a connection whose client may still be sending, after what was written."""
    transport = behind.transport
    if transport.is_closing() or isinstance(transport.get_protocol(), Lingering):
        return
    transport.set_protocol(Lingering(behind))
    # TLS cannot be closed in one direction; there the client relies on the Content-Length.
    if transport.can_write_eof():
        transport.write_eof()
    behind.flow.resume_reading()
