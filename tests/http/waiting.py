"""Waiting for something to become true, for a bounded time."""

import asyncio
from collections.abc import Callable
from itertools import repeat
from typing import Final

from ojs_server.app import Server

LONGEST_S: Final = 10.0


async def until(holds: Callable[[], bool], within_s: float = LONGEST_S) -> None:
    """Wait until a condition holds; it is checked every two milliseconds."""
    async with asyncio.timeout(within_s):
        for _ in repeat(None):
            if holds():
                return
            await asyncio.sleep(0.002)


async def entered(server: Server, count: int) -> None:
    """Wait until this number of fetches waits at a server."""
    await until(lambda: len(server.engine.wakeups) == count)
