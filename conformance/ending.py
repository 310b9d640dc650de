"""Clean-up that is not broken off: what was started is ended, whoever loses patience meanwhile."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work that must be done; a cancellation is kept until it is."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            break  # the work's own, raised again below
    if cancelled is not None:
        raise cancelled
    return task.result()
