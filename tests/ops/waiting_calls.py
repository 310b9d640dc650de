"""Waiting callers; each has looked in vain once before a test goes on."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from ojs_server.ops.engine.engine import Engine

Answer = TypeVar("Answer")


class WaitingCalls(Generic[Answer]):
    """Calls to one engine; those that have not ended with the test are cancelled."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._tasks: list[asyncio.Task[Answer]] = []

    async def begin(self, call: Coroutine[Any, Any, Answer], looks: int) -> asyncio.Task[Answer]:
        """A call that has asked the store so many times."""
        looked = asyncio.Semaphore(0)
        engine, run = self.engine, self.engine.run

        async def noticed(operation: Any) -> Any:
            try:
                return await run(operation)
            finally:
                looked.release()

        engine.run = noticed  # type: ignore[method-assign]
        task = asyncio.create_task(call)
        async with asyncio.timeout(30):
            for _ in range(looks):
                await looked.acquire()
        engine.run = run  # type: ignore[method-assign]
        self._tasks.append(task)
        return task

    async def end(self) -> None:
        """Cancel those that still wait."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
