"""Repeat a call to the store at an interval."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ojs_server.domain.errors import Unavailable


async def repeat(call: Callable[[], Awaitable[object]], every_s: float) -> None:
    """Repeat a call until cancelled, also while the store is away."""
    while True:
        with suppress(Unavailable):  # reported by the operations that need the store
            await call()
        await asyncio.sleep(every_s)
