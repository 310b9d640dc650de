"""Flow control of a connection: pauses reading and writing while the other side is slow."""

import asyncio
from typing import Final

# Most bytes of a body that wait for its reader.
MOST_UNREAD: Final = 64 * 1024
# Time for a client to read its answer after shutdown has begun.
UNREAD_S: Final = 5.0


class Flow:
    """The flow control of one connection, in both directions."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_reading(self) -> None:
        """Pause reading, so that the client waits."""
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        if self.read_paused:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Stop writing, because the client reads too slowly."""
        self.write_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        """Allow writing, because the client has read enough, or is gone."""
        self.write_paused = False
        self._writable.set()

    async def drain(self) -> None:
        """Wait until more may be written."""
        await self._writable.wait()
