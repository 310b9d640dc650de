"""An event loop with simulated time: if nothing is ready, time jumps to the next timer."""

import asyncio
import selectors
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from ojs_server.environment import Inbox

Given = ParamSpec("Given")
Value = TypeVar("Value")
Item = TypeVar("Item")


class Stuck(Exception):
    """Nothing is left to do, and no alarm will ring."""


class Hands:
    """Seconds since the simulation began."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class TurnedSelector(selectors.BaseSelector):
    """Lets the time pass that the loop would wait; nobody outside of the loop has anything to say.

    The loop's own wake-up, which threads use, is the only file.
    """

    def __init__(self, hands: Hands) -> None:
        self._files = selectors.SelectSelector()
        self._hands = hands

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file."""
        return self._files.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Watch a file no longer."""
        return self._files.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the files that have something to say, or turn the hands on."""
        found = self._files.select(0)
        if not found:
            if timeout is None:
                raise Stuck
            self._hands.seconds += max(timeout, 0.0)
        return found

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Return what is watched."""
        return self._files.get_map()

    def close(self) -> None:
        """Watch nothing."""
        self._files.close()


class AtOnce(Executor):
    """Does everything before it answers."""

    def submit(
        self, fn: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> "Future[Value]":
        """Do it."""
        done: Future[Value] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


class LaterInbox:
    """Does each thing in a later turn of the loop, as a thread would."""

    def __init__(self, do: Callable[[Any], None]) -> None:
        self._do = do
        self._items: list[Any] = []

    def put(self, item: Any) -> None:
        """Have one more done."""
        self._items.append(item)
        asyncio.get_running_loop().call_soon(self._next)

    def close(self) -> None:
        """Do what is left."""
        while self._items:
            self._next()

    def _next(self) -> None:
        if self._items:
            self._do(self._items.pop(0))


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop that has no threads and never waits."""

    def __init__(self) -> None:
        self.hands = Hands()
        super().__init__(TurnedSelector(self.hands))

    def time(self) -> float:
        """Return the hands' seconds."""
        return self.hands.seconds

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Value], *args: Any
    ) -> "asyncio.Future[Value]":
        """Do it in this thread, whoever would."""
        return asyncio.wrap_future(AtOnce().submit(func, *args), loop=self)


class NoThreads:
    """Threads of a server, none of which is one."""

    def executor(self, most: int, name: str) -> Executor:
        """Make an executor."""
        return AtOnce()

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        """Make an inbox."""
        return LaterInbox(do)


class NoPool:
    """Threads of a worker, none of which is one."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()

    def run(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a call in this thread."""
        return self._loop.run_in_executor(None, call)

    def close(self) -> None:
        """There is no thread to end."""
