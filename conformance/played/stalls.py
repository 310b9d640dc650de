"""Stalls of the event loop, in which requests wait to be read.

On a machine under load the suite reads a request later than it came. It cannot see by how much, but
by how much its own timers are late, and no request waits longer than the loop stands still.
"""

import asyncio
import math
import time
from typing import Final

LOOK_S: Final = 0.02


class Stalls:
    """The newest stall, found by a timer that should fire every `LOOK_S`."""

    def __init__(self) -> None:
        self._due = math.inf
        self._ended_at = -math.inf
        self._length_s = 0.0

    async def watch(self) -> None:
        """Look at the clock without end."""
        while True:
            self.look(time.monotonic())
            await asyncio.sleep(LOOK_S)

    def look(self, now: float) -> None:
        """Take note of the time at which the timer fired."""
        self._length_s, self._ended_at = max(0.0, now - self._due), now
        self._due = now + LOOK_S

    def unread_s(self, now: float) -> float:
        """Return how long a request that is handled now may have waited to be read, in seconds."""
        if now > self._due:
            return now - self._due
        # It may have come in a stall and be handled a few turns of the loop after it.
        return self._length_s if now - self._ended_at <= LOOK_S else 0.0
