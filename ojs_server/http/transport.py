"""A connection's way out: what is written in one turn of the loop leaves together.

uvicorn writes an answer's head and its body apart, and the loop would send each at once.
"""

import asyncio
from typing import Any, Final

# More than this is passed on at once, so that a reader that is slow is noticed in time.
MAX_HELD: Final = 64 * 1024


class TogetherTransport:
    """All of another transport, with writes that wait for the end of the loop's turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send soon, with what follows within this turn."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > MAX_HELD:
            self.flush()

    def flush(self) -> None:
        """Send now what is held."""
        if self._held:
            data = b"".join(self._held)
            self._held.clear()
            self._size = 0
            # The client may have gone since.
            if not self._transport.is_closing():
                self._transport.write(data)

    def close(self) -> None:
        """Send what is held, then end the connection."""
        self.flush()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        """How many bytes have not been sent."""
        return self._size + self._transport.get_write_buffer_size()
