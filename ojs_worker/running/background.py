"""Background tasks of a worker, and a time limit for waiting on tasks."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any

log = logging.getLogger("ojs.worker")


class BackgroundTasks:
    """Keeps references to background tasks, so that they are not collected, and logs their
    errors."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine as a background task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel the tasks that are not done."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the worker has a fault of its own", exc_info=error)


async def within(limit_s: float, *work: Awaitable[Any]) -> None:
    """Wait for all of these until the time limit, then cancel the rest."""
    if not work:
        return
    tasks = [asyncio.ensure_future(awaitable) for awaitable in work]
    _, late = await asyncio.wait(tasks, timeout=limit_s)
    for task in late:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            log.error("an error while the worker ended", exc_info=result)
