"""Daemon threads for blocking handlers: one that hangs does not keep the process alive."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Work = tuple[asyncio.Future[Any], contextvars.Context, Callable[[], Any]]


class ThreadPool:
    """Runs calls in threads; there are as many as were ever busy at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._threads = 0
        # Number of calls that are waiting or running.
        self._busy = 0

    def run(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a call; the future has its value or its exception."""
        future = self._loop.create_future()
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            name = f"{self._name}-{self._threads}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._work.put((future, contextvars.copy_context(), call))
        return future

    def close(self) -> None:
        """Let each thread end after its current call."""
        for _ in range(self._threads):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            future, context, call = work
            value, error = None, None
            try:
                value = context.run(call)
            except BaseException as raised:  # also SystemExit: it ends the handler, not the thread
                error = raised
            # If the loop is closed, the result is not needed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._deliver, future, value, error)
            del work, future, context, call, value, error

    def _deliver(
        self, future: asyncio.Future[Any], value: Any, error: BaseException | None
    ) -> None:
        self._busy -= 1
        if future.done():
            return
        if isinstance(error, StopIteration):
            # asyncio does not allow StopIteration in a future.
            error = RuntimeError(f"the handler raised StopIteration: {error}")
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
