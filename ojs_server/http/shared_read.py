"""A read of the store whose result many callers share for a few seconds."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, TypeVar

import msgspec

EVERY_S: Final = 5.0

Value = TypeVar("Value")


class Statistics(msgspec.Struct, frozen=True):
    """The statistics of all queues as JSON: the numbers alone, and with queues and workers by
    name."""

    numbers: bytes
    lists: bytes


class SharedRead(Generic[Value]):
    """A value that is read at most every few seconds, for any number of readers."""

    def __init__(self, read: Callable[[], Coroutine[Any, Any, Value]]) -> None:
        self._read = read
        self._task: asyncio.Task[Value] | None = None
        self._until = 0.0

    async def latest(self) -> Value:
        """Return the value that was read last, or is being read."""
        now = asyncio.get_running_loop().time()
        if self._task is None or (self._task.done() and now >= self._until):
            self._task = asyncio.create_task(self._read())
            self._until = now + EVERY_S
        # Shielded, because other callers wait for the same read.
        return await asyncio.shield(self._task)
