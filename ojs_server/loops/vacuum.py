"""Look for what keeps the database from removing old row versions."""

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from ojs_server.domain.errors import Unavailable

EVERY_S: Final = 30.0


class Looking(Protocol):
    """An engine that can look for it."""

    async def look_for_vacuum_holders(self) -> None:
        """Find out, and remember it."""


async def watch_vacuum(engine: Looking) -> None:
    """Look twice a minute until cancelled."""
    while True:
        with suppress(Unavailable):  # reported by the operations that need the store
            await engine.look_for_vacuum_holders()
        await asyncio.sleep(EVERY_S)
