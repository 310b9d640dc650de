"""Wait with a time limit."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress


async def at_most(waiting: Awaitable[object], seconds: float) -> None:
    """Wait for `waiting`, at most `seconds`."""
    # Not wait_for, which before Python 3.12 loses a cancellation that coincides with the result.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting
