"""Handlers that do many jobs in one call: jobs that a worker has at the same time are gathered, and
each ends with its own part of the outcome."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, get_args, get_origin

from ojs_worker.durations import Duration, milliseconds
from ojs_worker.handlers.annotations import hints_of
from ojs_worker.handlers.dependencies import Dependency, all_needs, need_of

Together = Callable[..., Awaitable[Any]]
# Makes the dependencies of a call by parameter, and closes them after it.
Values = Callable[[], AbstractAsyncContextManager[Mapping[str, Any]]]


class Gathering:
    """A coroutine function that takes a list, and the jobs that wait for a common call of it."""

    def __init__(self, do: Any, size: int, wait: Duration) -> None:
        self.single = _single(do, size)
        self._do = do
        self._size = size
        self._wait_s = milliseconds(wait, "wait") / 1000
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: _Call | None = None

    async def run(self, item: Any, values: Values) -> Any:
        """Do one job with others; returns its own result. The first of them makes the values."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # The event loop is another one, so nothing waits any more.
            self._loop, self._next = loop, None
        call = self._next
        if call is None:
            call = self._next = _Call(self._do, values)
            call.timer = loop.call_later(self._wait_s, self._begin, call)
        ended: asyncio.Future[Any] = loop.create_future()
        call.items.append((item, ended))
        if len(call.items) >= self._size:
            self._begin(call)
        try:
            return await ended
        except asyncio.CancelledError:
            await call.leave()
            raise

    def _begin(self, call: "_Call") -> None:
        self._next = None
        call.begin()


class _Call:
    """A common call, from its first job on."""

    timer: asyncio.TimerHandle

    def __init__(self, do: Together, values: Values) -> None:
        self.items: list[tuple[Any, asyncio.Future[Any]]] = []
        self._do = do
        self._values = values
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin it with the jobs that still wait."""
        self.timer.cancel()
        # Leave out jobs that were cancelled meanwhile.
        self.items = [entry for entry in self.items if not entry[1].done()]
        if self.items:
            self._task = asyncio.create_task(self._run())

    async def leave(self) -> None:
        """Cancel it if no job waits for it any more."""
        if self._task is not None and all(ended.done() for _, ended in self.items):
            self._task.cancel()
            # Let it close its dependencies before the worker closes those that it keeps.
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        count = len(self.items)
        try:
            async with self._values() as values:
                done = await self._do([item for item, _ in self.items], **values)
                results = _shared(done, count)
        except BaseException as error:
            results = [error] * count
        for (_, ended), result in zip(self.items, results, strict=True):
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
        returned = f"{len(results)} results" if isinstance(results, list | tuple) else repr(results)
        raise TypeError(
            "a handler of many jobs returns None, or a list with a result or an exception for each "
            f"of its {count} jobs, not {returned}"
        )
    return results


def _raised(error: BaseException) -> BaseException:
    """Return an exception for one of many jobs: a cancelled call is no cancelled job."""
    if isinstance(error, asyncio.CancelledError | StopIteration):
        return RuntimeError(f"the call for many jobs ended with {type(error).__name__}")
    return error


def _single(do: Any, size: int) -> Callable[..., Awaitable[Any]]:
    """Return the function of one job: its parameters, and a direct call of it."""
    name = getattr(do, "__qualname__", repr(do))
    if not inspect.iscoroutinefunction(do):
        raise TypeError(f"{name}: a handler of many jobs is a coroutine function")
    first, dependencies = _parameters(do, name)
    if size < 1:
        raise ValueError(f"{name}: `size` is at least 1, not {size}")
    hints = hints_of(do, name)

    async def single(item: Any, *args: Any, **named: Any) -> Any:
        (result,) = _shared(await do([item], *args, **named), 1)
        if isinstance(result, BaseException):
            raise result
        return result

    item = inspect.Parameter(first.name, inspect.Parameter.POSITIONAL_ONLY)
    single.__signature__ = inspect.Signature([item, *dependencies])  # type: ignore[attr-defined]
    single.__annotations__ = {
        **hints,
        first.name: _member(hints.get(first.name)),
        "return": _member(hints.get("return")),
    }
    for member in ("__doc__", "__name__", "__qualname__", "__module__"):
        setattr(single, member, getattr(do, member))
    return single


def _parameters(do: Any, name: str) -> tuple[inspect.Parameter, list[inspect.Parameter]]:
    """Return the parameter of the list and those of dependencies."""
    first, *others = inspect.signature(do).parameters.values() or (None,)
    needs = [other.default for other in others if isinstance(other.default, Dependency)]
    if first is None or isinstance(first.default, Dependency) or len(needs) < len(others):
        raise TypeError(f"{name}: a handler of many jobs takes one list, and dependencies")
    for need in all_needs(map(need_of, needs)):
        if need.context_name is not None:
            raise TypeError(
                f"{name}: {need.name} takes the context of a job, and a handler of many jobs has "
                "none"
            )
    return first, others


def _member(hint: Any) -> Any:
    if hint is type(None):
        return None
    members = get_args(hint) if get_origin(hint) is list else ()
    return members[0] if members else Any
