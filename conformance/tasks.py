"""Clean-up that a cancellation does not interrupt."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work to end; a cancellation is delayed until then."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            break  # raised again by result() below
    if cancelled is not None:
        raise cancelled
    return task.result()


async def side_by_side(
    works: Iterable[Callable[[], Coroutine[Any, Any, None]]], at_once: int
) -> None:
    """Do all of these, a few at a time; if cancelled, wait until each has cleaned up."""
    free = asyncio.Semaphore(at_once)

    async def limited(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with free:
            await work()

    # Unlike gather, a cancelled TaskGroup waits until all tasks have ended.
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(limited(work))
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
