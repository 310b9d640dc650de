"""Waiting for something to become true, for a bounded time."""

import asyncio
from collections.abc import Callable
from itertools import repeat
from typing import Final

LONGEST_S: Final = 10


async def until(holds: Callable[[], bool]) -> None:
    """Return as soon as a condition holds; it is looked at every other millisecond."""
    async with asyncio.timeout(LONGEST_S):
        for _ in repeat(None):
            if holds():
                return
            await asyncio.sleep(0.002)
