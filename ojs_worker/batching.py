"""Handlers that do many jobs in one call: jobs that a worker has at the same time are gathered, and
each ends with its own part of the outcome."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, get_args, get_origin

from ojs_worker.annotations import hints_of
from ojs_worker.durations import Duration, milliseconds

Together = Callable[[list[Any]], Awaitable[Any]]


class Gathering:
    """Jobs that wait for a common call of their handler."""

    def __init__(self, do: Together, size: int, wait_s: float) -> None:
        self._do = do
        self._size = size
        self._wait_s = wait_s
        self._items: list[tuple[Any, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def one(self, item: Any) -> Any:
        """Do one job with others; returns its own result."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # What waited in a loop that is gone went with it.
            self._loop, self._timer, self._items = loop, None, []
        ended: asyncio.Future[Any] = loop.create_future()
        self._items.append((item, ended))
        if len(self._items) >= self._size:
            self._begin()
        elif self._timer is None:
            self._timer = loop.call_later(self._wait_s, self._begin)
        return await ended

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # A job that was cancelled meanwhile is left out.
        items = [one for one in self._items if not one[1].done()]
        self._items = []
        if items:
            task = asyncio.get_running_loop().create_task(self._run(items))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, items: Sequence[tuple[Any, asyncio.Future[Any]]]) -> None:
        left = len(items)
        task = asyncio.current_task()

        def one_ended(ended: asyncio.Future[Any]) -> None:
            # Without anybody who waits for it the call has no use.
            nonlocal left
            left -= 1
            if not left and ended.cancelled() and task is not None:
                task.cancel()

        for _, ended in items:
            ended.add_done_callback(one_ended)
        try:
            results = _shared(await self._do([item for item, _ in items]), len(items))
        except BaseException as error:
            results = [error] * len(items)
        for (_, ended), result in zip(items, results, strict=True):
            if ended.done():
                continue
            if isinstance(result, BaseException):
                ended.set_exception(_raised(result))
            else:
                ended.set_result(result)


def _shared(results: Any, count: int) -> Sequence[Any]:
    if results is None:
        return [None] * count
    if not isinstance(results, list | tuple) or len(results) != count:
        found = f"{len(results)} results" if isinstance(results, list | tuple) else repr(results)
        raise TypeError(
            "a handler of many jobs returns None, or a list with a result or an exception for each "
            f"of its {count} jobs, not {found}"
        )
    return results


def _raised(error: BaseException) -> BaseException:
    """Return an exception for one of many jobs: a cancelled call is no cancelled job."""
    if isinstance(error, asyncio.CancelledError | StopIteration):
        return RuntimeError(f"the call for many jobs ended with {type(error).__name__}")
    return error


def one_by_one(do: Any, size: int, wait: Duration) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler of single jobs for a coroutine function that takes a list of them."""
    name = getattr(do, "__qualname__", repr(do))
    if not inspect.iscoroutinefunction(do):
        raise TypeError(f"{name}: a handler of many jobs is a coroutine function")
    parameters = list(inspect.signature(do).parameters.values())
    if len(parameters) != 1 or size < 1:
        raise TypeError(f"{name}: a handler of many jobs takes one list, of at least one job")
    hints = hints_of(do, name)
    gathering = Gathering(do, size, milliseconds(wait, "wait") / 1000)
    parameter = parameters[0]

    async def handler(item: Any) -> Any:
        return await gathering.one(item)

    item = inspect.Parameter(parameter.name, inspect.Parameter.POSITIONAL_ONLY)
    handler.__signature__ = inspect.Signature([item])  # type: ignore[attr-defined]
    handler.__annotations__ = {
        parameter.name: _member(hints.get(parameter.name)),
        "return": _member(hints.get("return")),
    }
    for member in ("__doc__", "__name__", "__qualname__", "__module__"):
        setattr(handler, member, getattr(do, member))
    return handler


def _member(hint: Any) -> Any:
    if hint is type(None):
        return None
    members = get_args(hint) if get_origin(hint) is list else ()
    return members[0] if members else Any
