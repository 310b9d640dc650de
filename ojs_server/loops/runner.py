"""Keep loops alive: named tasks that start together and are cancelled together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("ojs.loops")

RESTART_S = 1.0


class Loops:
    """Background tasks of one server."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until `stop`; one that fails is logged and started again."""
        self._tasks.append(asyncio.create_task(_forever(name, loop), name=name))

    async def stop(self) -> None:
        """Cancel all loops and wait until they are gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()


async def _forever(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await loop()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("the loop %s failed; it starts again in %g s", name, RESTART_S)
        await asyncio.sleep(RESTART_S)
