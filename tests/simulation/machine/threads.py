"""Threads of simulated processes: calls are carried out in one step, at a moment by chance."""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

import msgspec

from ojs_server.environment import Inbox
from tests.simulation.machine.loop import SimulatedLoop

Value = TypeVar("Value")
Item = TypeVar("Item")


class Pace(msgspec.Struct, frozen=True):
    """Seconds that threads take, from the shortest to the longest."""

    read_s: tuple[float, float] = (0.0002, 0.002)
    commit_s: tuple[float, float] = (0.0005, 0.005)


def drawn(chance: random.Random, span: tuple[float, float]) -> float:
    """Draw a time; short ones are likelier than long ones."""
    least, most = span
    return least + (most - least) * chance.random() ** 3


class SimulatedExecutor(Executor):
    """Carries out calls one step at a time, as many at once as it has threads."""

    def __init__(self, most: int, chance: random.Random, span: tuple[float, float]) -> None:
        self._free = most
        self._chance = chance
        self._span = span
        self._waiting: deque[Callable[[], None]] = deque()

    def run(self, loop: SimulatedLoop, call: Callable[[], Value]) -> "asyncio.Future[Value]":
        """Have a call carried out."""
        future: asyncio.Future[Value] = loop.create_future()

        def begin() -> None:
            loop.call_later(drawn(self._chance, self._span), carry_out)

        def carry_out() -> None:
            try:
                value, error = call(), None
            except BaseException as raised:
                value, error = None, raised
            loop.call_later(drawn(self._chance, self._span) / 4, tell, value, error)

        def tell(value: Any, error: BaseException | None) -> None:
            if not future.done():
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)
            if self._waiting:
                self._waiting.popleft()()
            else:
                self._free += 1

        if self._free:
            self._free -= 1
            begin()
        else:
            self._waiting.append(begin)
        return future


class SimulatedInbox(Generic[Item]):
    """Does one thing after the other, each a while after the one before it."""

    def __init__(
        self,
        loop: SimulatedLoop,
        name: str,
        do: Callable[[Item], None],
        chance: random.Random,
        span: tuple[float, float],
    ) -> None:
        self._loop = loop
        self._name = name
        self._do = do
        self._chance = chance
        self._span = span
        self._items: deque[Item] = deque()

    def put(self, item: Item) -> None:
        """Add an item."""
        self._items.append(item)
        if len(self._items) == 1:
            self._soon()

    def close(self) -> None:
        """Do what is left."""
        while self._items:
            self._do(self._items.popleft())

    def _soon(self) -> None:
        self._loop.call_later(drawn(self._chance, self._span), self._next)

    def _next(self) -> None:
        if self._items:
            self._do(self._items[0])
            self._loop.note(f"{self._name} has done {_described(self._items[0])}")
            # Removed only now: what is put meanwhile is not to begin before this has ended.
            self._items.popleft()
            if self._items:
                self._soon()


def _described(item: object) -> str:
    """Return the kinds of the operations of a batch, or the kind of another item."""
    if isinstance(item, tuple) and len(item) == 3 and isinstance(item[1], list):
        return ", ".join(type(operation).__name__ for operation in item[1])
    return type(item).__name__


class SimulatedThreads:
    """The threads of a server."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random, pace: Pace) -> None:
        self._loop = loop
        self._chance = chance
        self._pace = pace

    def executor(self, most: int, name: str) -> Executor:
        """Make an executor."""
        return SimulatedExecutor(most, self._chance, self._pace.read_s)

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        """Make an inbox."""
        return SimulatedInbox(self._loop, name, do, self._chance, self._pace.commit_s)


class SimulatedPool:
    """The threads for blocking handlers of a worker: each call has one."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random, pace: Pace) -> None:
        self._loop = loop
        self._executor = SimulatedExecutor(1000, chance, pace.read_s)

    def run(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a call."""
        return self._executor.run(self._loop, call)

    def close(self) -> None:
        """There is no thread to end."""
