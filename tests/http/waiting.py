"""Waiting for something to become true, for a bounded time."""

import asyncio
from collections.abc import Callable
from itertools import repeat
from typing import Final

from ojs_server.app import Server

LONGEST_S: Final = 10


async def until(holds: Callable[[], bool]) -> None:
    """Return as soon as a condition holds; it is looked at every other millisecond."""
    async with asyncio.timeout(LONGEST_S):
        for _ in repeat(None):
            if holds():
                return
            await asyncio.sleep(0.002)


async def entered(server: Server, count: int) -> None:
    """Return as soon as so many fetches wait at a server."""
    await until(lambda: len(server.engine.wakeups) == count)
