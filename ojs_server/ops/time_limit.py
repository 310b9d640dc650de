"""Wait with a time limit."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress


async def at_most(waiting: Awaitable[object], seconds: float) -> None:
    """Wait for `waiting`, at most `seconds`."""
    # Not wait_for: before Python 3.12 it loses a cancellation that meets what was waited for.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting
