"""Makes the dependencies of handlers, and ends them: those of a job with it, those of the worker
when it ends."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final

import msgspec

from ojs_worker.context import JobContext
from ojs_worker.environment import Pool
from ojs_worker.handlers.dependencies import Dependency, Make, Need, Needs, all_needs, need_of

log = logging.getLogger("ojs.worker")

# Time limit for the closing of all values that the worker keeps.
END_S: Final = 10.0
Made = dict[Dependency, Any]
Overrides = Mapping[Make, Make]


def named(needs: Needs, made: Made) -> dict[str, Any]:
    """Return the values by the parameters that they are for."""
    return {name: made[need.dependency] for name, need in needs.items()}


class Resources:
    """Makes values in the event loop of a worker, and calls makers that block in threads."""

    def __init__(self, threads: Pool, overrides: Overrides) -> None:
        self._threads = threads
        self._overrides = overrides
        self._kept: dict[Dependency, _Kept] = {}
        # In the order in which they were made.
        self._order: list[_Kept] = []

    def replaced(self, needs: Needs) -> Needs:
        """Return the dependencies with the makers that take the place of others."""
        if not self._overrides:
            return needs
        return {name: self._replaced(need) for name, need in needs.items()}

    @asynccontextmanager
    async def values(
        self, needs: Iterable[Need], context: JobContext | None
    ) -> AsyncIterator[Made]:
        """The values of these dependencies for a job, and of those that they need themselves; for a
        call of many jobs there is no context."""
        made: Made = {}
        async with AsyncExitStack() as stack:
            for need in needs:
                await self._value(need, context, made, stack)
            yield made

    @asynccontextmanager
    async def values_by_name(self, needs: Needs) -> AsyncIterator[dict[str, Any]]:
        """The values of the dependencies of a call for many jobs, by parameter."""
        async with self.values(needs.values(), None) as made:
            yield named(needs, made)

    async def keep(self, need: Need) -> Any:
        """Return a value that the worker keeps, made now if it is not there yet."""
        need = self._replaced(need)
        kept = self._kept.get(need.dependency)
        if kept is None:
            kept = self._kept[need.dependency] = _Kept()
            kept.task = asyncio.create_task(self._hold(need, kept))
        # Shielded, so that the cancellation of one job does not affect others.
        return await asyncio.shield(kept.value)

    async def close(self) -> None:
        """End all that the worker keeps, what was made last first."""
        try:
            async with asyncio.timeout(END_S):
                for kept in reversed(self._order):
                    kept.ending.set()
                    await asyncio.wait([kept.task])
        except TimeoutError:
            log.error("what was made for the worker has not ended within %g s", END_S)
        for kept in self._kept.values():
            kept.task.cancel()
        await asyncio.gather(*(kept.task for kept in self._kept.values()), return_exceptions=True)

    def _replaced(self, need: Need) -> Need:
        by = self._overrides.get(need.dependency.make)
        if by is not None:
            return need_of(Dependency(by, need.dependency.per))
        return msgspec.structs.replace(need, needs=self.replaced(need.needs))

    async def _hold(self, need: Need, kept: "_Kept") -> None:
        """Make a value and end it in the same task, as some libraries demand."""
        try:
            async with AsyncExitStack() as stack:
                needed = {name: await self.keep(inner) for name, inner in need.needs.items()}
                call = functools.partial(need.dependency.make, **needed)
                value = await self._make(call, need, stack)
                self._order.append(kept)
                kept.value.set_result(value)
                await kept.ending.wait()
        except Exception as error:
            if not kept.value.done():
                # Let the next job try again.
                del self._kept[need.dependency]
                kept.value.set_exception(error)
            else:
                log.exception("the end of %s failed", need.name)

    async def _value(
        self, need: Need, context: JobContext | None, made: Made, stack: AsyncExitStack
    ) -> Any:
        dependency = need.dependency
        if dependency not in made:
            if dependency.per == "worker":
                made[dependency] = await self.keep(need)
            else:
                for inner in need.needs.values():
                    await self._value(inner, context, made, stack)
                made[dependency] = await self._make(_call(need, context, made), need, stack)
        return made[dependency]

    async def _make(self, call: Callable[[], Any], need: Need, stack: AsyncExitStack) -> Any:
        manager: contextlib.AbstractAsyncContextManager[Any]
        match need.kind:
            case "coroutine":
                return await call()
            case "async generator":
                manager = asynccontextmanager(call)()
                value = await manager.__aenter__()
            case "generator":
                manager = _InThread(contextmanager(call)(), self._threads)
                value = await manager.__aenter__()
            case _:
                return await self._threads.run(call)

        async def end(*failure: Any) -> None:
            # The return value is ignored: it may see the job's exception, but not suppress it.
            await manager.__aexit__(*failure)

        stack.push_async_exit(end)
        return value


class _Kept:
    """A value that a worker keeps, and the task that makes and ends it."""

    task: asyncio.Task[None]

    def __init__(self) -> None:
        self.value: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.ending = asyncio.Event()


class _InThread:
    """A context manager that blocks, entered and left in threads."""

    def __init__(self, manager: contextlib.AbstractContextManager[Any], threads: Pool) -> None:
        self._manager = manager
        self._threads = threads

    async def __aenter__(self) -> Any:
        entering = self._threads.run(self._manager.__enter__)
        try:
            return await asyncio.shield(entering)
        except asyncio.CancelledError:
            # A thread cannot be cancelled: leave the context manager as soon as it is entered.
            entering.add_done_callback(self._leave)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        return await self._threads.run(
            functools.partial(self._manager.__exit__, kind, error, trace)
        )

    def _leave(self, entering: asyncio.Future[Any]) -> None:
        if not entering.cancelled() and entering.exception() is None:
            self._threads.run(functools.partial(self._manager.__exit__, None, None, None))


@contextmanager
def values_here(needs: Needs, context: JobContext, made: Made) -> Iterator[dict[str, Any]]:
    """The values of dependencies by parameter, made in this thread; `made` has those that were made
    elsewhere."""
    made = dict(made)
    with ExitStack() as stack:
        for need in all_needs(needs.values()):
            if need.dependency not in made:
                call = _call(need, context, made)
                made[need.dependency] = (
                    _enter(contextmanager(call)(), stack) if need.kind == "generator" else call()
                )
        yield named(needs, made)


def _enter(manager: contextlib.AbstractContextManager[Any], stack: ExitStack) -> Any:
    value = manager.__enter__()

    def end(*failure: Any) -> None:
        manager.__exit__(*failure)

    stack.push(end)
    return value


_of_process: Final[Made] = {}
_until_killed: Final = ExitStack()


@contextmanager
def of_process(needs: Needs, context: JobContext) -> Iterator[dict[str, Any]]:
    """The values of dependencies in a process of its own, which keeps those of the worker until it
    is killed."""
    kept = {
        str(place): need
        for place, need in enumerate(all_needs(needs.values()))
        if need.dependency.per == "worker" and need.dependency not in _of_process
    }
    values = _until_killed.enter_context(values_here(kept, context, _of_process))
    _of_process.update({need.dependency: values[place] for place, need in kept.items()})
    with values_here(needs, context, _of_process) as needed:
        yield needed


def _call(need: Need, context: JobContext | None, made: Made) -> Callable[[], Any]:
    arguments = named(need.needs, made)
    if need.context_name is not None:
        arguments[need.context_name] = context
    return functools.partial(need.dependency.make, **arguments)
