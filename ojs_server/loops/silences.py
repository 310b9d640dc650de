"""Ending the transactions of other servers that have fallen silent in the middle of them."""

import asyncio
import logging
from typing import Final, Protocol

from ojs_server.domain.errors import Unavailable

EVERY_S: Final = 1.0

log = logging.getLogger("ojs.silences")


class Ending(Protocol):
    """Who can end them."""

    async def end_silent_transactions(self) -> int:
        """End those that have lasted for too long; answers how many."""


async def watch_silences(engine: Ending) -> None:
    """Look once a second, until cancelled."""
    while True:
        try:
            ended = await engine.end_silent_transactions()
        except Unavailable:
            # Whoever needs the store says so.
            ended = 0
        if ended:
            log.warning("%d transactions of servers that had fallen silent were ended", ended)
        await asyncio.sleep(EVERY_S)
