"""End the transactions of other servers that fell silent in the middle of them."""

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from ojs_server.domain.errors import Unavailable

EVERY_S: Final = 1.0


class Ending(Protocol):
    """A store that can end silent transactions."""

    async def end_silent_transactions(self) -> int:
        """End the transactions that have been silent too long; return their number."""


async def watch_silences(engine: Ending) -> None:
    """Check once a second until cancelled."""
    while True:
        with suppress(Unavailable):  # reported by the operations that need the store
            await engine.end_silent_transactions()
        await asyncio.sleep(EVERY_S)
