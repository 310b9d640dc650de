"""A sweeper's surroundings under a test's control: the store, the writer, and sleep itself."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.ops.engine.availability import Availability, refusal
from ojs_server.ops.engine.probe import Probe, Probed
from ojs_server.ops.engine.signs import Signs
from ojs_server.ops.engine.wakeups import Wakeups
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.ops.time_limit import at_most
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from ojs_server.store.base import StoreUnavailable
from ojs_server.store.records import DueTimes, QueueCounts

AT = 1_700_000_000_000
LIMIT_S = 30


def sleeping(monkeypatch: pytest.MonkeyPatch, loop: ModuleType) -> asyncio.Event:
    """Let a loop wait for what wakes it and no longer poll; the event tells that it sleeps."""
    asleep = asyncio.Event()

    async def noted(wake: Awaitable[object], pause: float) -> None:
        if pause > LIMIT_S:
            asleep.set()
        await at_most(wake, pause)

    monkeypatch.setattr(loop, "SLOW_POLL_S", 10.0 * LIMIT_S)
    monkeypatch.setattr(loop, "at_most", noted)
    return asleep


class Surroundings:
    """Stands for the engine; time moves only when told to."""

    def __init__(self) -> None:
        self.rules = Rules()
        self.wakeups = Wakeups()
        self.producers = Wakeups()
        self.signs = Signs()
        self.availability = Availability(time.monotonic)
        self.now = AT
        self.stopwatch = 0
        self.due = DueTimes(None, None, None)
        self.queues: list[QueueCounts] = []
        self.failure: Exception | None = None
        self.sweeps: list[Sweep] = []
        self.heard: list[SignsOfLife] = []
        self.probes: list[int] = []
        self.noted: list[int] = []
        self.answer: Callable[[Sweep], Swept] = lambda sweep: Swept(self.now)
        # Called when the due times have been read and are on their way back.
        self.meanwhile: Callable[[], None] = lambda: None

    async def read(self, question: Callable[[Any], Any]) -> Any:
        """Like the engine's."""
        if self.failure is not None:
            raise self.failure from StoreUnavailable("no route to 10.1.2.3")
        reader = SimpleNamespace(
            now=lambda: self.now, due=lambda: self.due, queues=lambda names: self.queues
        )
        found = question(reader)
        self.meanwhile()
        return found

    def behind_ms(self) -> int:
        """Like the engine's."""
        return 0

    async def run(self, operation: Any) -> Any:
        """Like the engine's."""
        if isinstance(operation, SignsOfLife):
            self.heard.append(operation)
            return len(operation.worker_ids)
        if isinstance(operation, Probe):
            self.probes.append(self.now)
            return Probed(self.now, "a disk")
        return await self.sweep(operation)

    async def sweep(self, sweep: Sweep) -> Swept:
        """Note a sweep and answer it."""
        self.sweeps.append(sweep)
        return self.answer(sweep)

    async def note_waiting(self, until: int) -> None:
        """Like the engine's."""
        self.noted.append(until)

    def gone(self) -> None:
        """The store cannot be reached from now on."""
        self.failure = refusal(StoreUnavailable())


class Sleeper:
    """Takes the place of `at_most`: says for how long, and sleeps until the test or a wake."""

    def __init__(self) -> None:
        self._pauses: asyncio.Queue[float] = asyncio.Queue()
        self._ends: asyncio.Queue[None] = asyncio.Queue()

    async def at_most(self, wake: Awaitable[Any], pause: float) -> None:
        """Until a wake, or until the test says that the pause is over."""
        self._pauses.put_nowait(pause)
        waits = {asyncio.ensure_future(wake), asyncio.ensure_future(self._ends.get())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def pause(self) -> float:
        """For how long the sweeper has just gone to sleep, when what it does beside is done."""
        async with asyncio.timeout(30):
            pause = await self._pauses.get()
        for _ in range(20):
            await asyncio.sleep(0)
        return pause

    async def next(self) -> float:
        """Let the pause be over; answers the next one."""
        self._ends.put_nowait(None)
        return await self.pause()

    async def sleeps_on(self) -> bool:
        """True if nothing has woken the sweeper."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self._pauses.empty()


class Night:
    """A sweeper at work between its pauses."""

    def __init__(self, around: Surroundings, sleeper: Sleeper, *, shared: bool) -> None:
        engine: Any = around
        self.around = around
        self.sleeper = sleeper
        self.sweeper = Housekeeping(engine, lambda: around.stopwatch, shared=shared)
        self._tasks = {asyncio.create_task(self.sweeper.run())}

    async def end(self) -> None:
        """Cancel it, and keep nothing of it."""
        while self._tasks:
            task = self._tasks.pop()
            task.cancel()
            await asyncio.wait({task})
