"""An event loop for several simulated processes, in simulated time and without threads.

Each process has a lane: callbacks of one lane run in their order, lanes take turns by chance. A
lane can be killed, after which nothing of it runs any more, not even a `finally`; or frozen, so
that all of it waits. If no lane has anything to do, time jumps to the next timer.
"""

import asyncio
import contextvars
import hashlib
import random
import socket
import struct
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from typing import Any, Final, Protocol, TypeVar

Value = TypeVar("Value")
Factory = Callable[[], asyncio.BaseProtocol]

# Addresses of the hosts that are not known by their name alone.
ADDRESSES: Final = {"hook": "192.0.2.1"}
_HOSTS: Final = {address: host for host, address in ADDRESSES.items()}

# A step in the digest: the number of its lane, and its time.
_STEP: Final = struct.Struct("<Hd")
# Simulated cost of a callback, so that time passes even where nothing waits.
STEP_S: Final = 2e-6


class Stuck(Exception):
    """Nothing is left to do, and no timer is set."""


def name_of(callback: Callable[..., Any]) -> bytes:
    """Return a name of a callback that is the same in each run."""
    name: str = getattr(callback, "__qualname__", None) or type(callback).__qualname__
    return name.encode()


class Call:
    """A callback in a lane. It has the members of asyncio's handles, whose own are dear."""

    __slots__ = ("_when", "args", "callback", "context", "off")

    def __init__(
        self,
        when: float,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: contextvars.Context,
    ) -> None:
        self._when = when
        self.callback: Callable[..., Any] | None = callback
        self.args = args
        self.context = context
        self.off = False

    def cancel(self) -> None:
        """Take the callback back; what it refers to is let go."""
        self.off = True
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        """Tell whether the callback was taken back."""
        return self.off

    def when(self) -> float:
        """Return the time at which it is due."""
        return self._when


LANE: Final["contextvars.ContextVar[Lane]"] = contextvars.ContextVar("lane")


class Lane:
    """One simulated process: its callbacks and its clocks."""

    def __init__(self, number: int, name: str, host: str) -> None:
        self.number = number
        self.name = name
        self.host = host
        self.ready: deque[Call] = deque()
        self.timers: list[tuple[float, int, Call]] = []
        self.dead = False
        self.frozen = False
        # Change of the wall clock by its steps.
        self.wall_offset_ms = 0
        # Time in which the machine was suspended, and its monotonic clock stood still.
        self.suspended_s = 0.0
        # Called when the process is killed.
        self.on_kill: list[Callable[[], None]] = []
        # All tasks: a coroutine that is forgotten would run its `finally`.
        self.tasks: list[asyncio.Task[Any]] = []
        self._most = 64
        # A context in which everything belongs to this lane.
        self.context = contextvars.Context()
        self.context.run(LANE.set, self)

    def keep(self, task: "asyncio.Task[Any]") -> None:
        """Keep a task until it is done, or for ever if the lane is killed before."""
        self.tasks.append(task)
        if len(self.tasks) > self._most:
            self.tasks = [one for one in self.tasks if not one.done()]
            self._most = max(64, 2 * len(self.tasks))

    def kill(self) -> None:
        """End the process at once."""
        if not self.dead:
            self.dead = True
            for told in self.on_kill:
                told()


class Connector(Protocol):
    """The network of a loop."""

    async def connect(
        self, factory: Factory, host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection from the current lane."""

    def listen(self, factory: Factory, host: str, port: int) -> Any:
        """Accept connections in the current lane."""


class Work(Protocol):
    """Carries out calls that another thread would."""

    def run(self, loop: "SimulatedLoop", call: Callable[[], Value]) -> "asyncio.Future[Value]":
        """Have a call carried out."""


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The loop of all simulated processes."""

    def __init__(self, chance: random.Random, trace: Callable[[str], None] | None = None) -> None:
        # Real time of the simulation: no process has this clock.
        self.now = 0.0
        self.steps = 0
        self.lanes: list[Lane] = []
        self.network: Connector | None = None
        # Carries out what has no executor of its own.
        self.work: Work | None = None
        self.errors: list[str] = []
        # A path that differs in each run, and does not belong into lines.
        self.hidden = "\0"
        self.trace = trace
        self.digest = hashlib.blake2b(digest_size=16)
        self._chance = chance
        self._numbers = 0
        self._stopping = False
        self._closed = False
        self._running = False
        self._graves: list[Lane] = []
        self.system = self.lane("system", "system")

    # Lanes.

    def lane(self, name: str, host: str) -> Lane:
        """Make a lane."""
        made = Lane(len(self.lanes) + len(self._graves), name, host)
        self.lanes.append(made)
        return made

    def enter(self, lane: Lane) -> contextvars.Context:
        """Return a new context in which everything belongs to a lane."""
        return lane.context.copy()

    def post(self, lane: Lane, callback: Callable[..., Any], *args: Any) -> None:
        """Have a callback run in a lane, as an interrupt of its process."""
        if not lane.dead:
            lane.ready.append(Call(self.now, callback, args, self.enter(lane)))

    def post_in(self, delay_s: float, lane: Lane, callback: Callable[..., Any], *args: Any) -> Call:
        """Have a callback run in a lane after a time of the world, whatever the lane's clock."""
        return self._at(lane, self.now - lane.suspended_s + delay_s, callback, args, None)

    def start(self, lane: Lane, coroutine: Coroutine[Any, Any, Any], name: str) -> None:
        """Start a task of a lane."""
        self.post(lane, self._begin, coroutine, name)

    def _begin(self, coroutine: Coroutine[Any, Any, Any], name: str) -> None:
        self.create_task(coroutine, name=name).add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.call_exception_handler({"message": task.get_name(), "exception": error})

    def freeze(self, lane: Lane) -> None:
        """Stop a process, as SIGSTOP does."""
        lane.frozen = True

    def thaw(self, lane: Lane, suspended_s: float = 0.0) -> None:
        """Continue a process; `suspended_s` is how long its machine was suspended."""
        lane.frozen = False
        lane.suspended_s += suspended_s

    def note(self, line: str) -> None:
        """Add a line about the current process to the trace and to the digest."""
        line = line.replace(self.hidden, ".")
        self.digest.update(line.encode())
        if self.trace is not None:
            name = LANE.get(self.system).name
            self.trace(f"{self.now:12.6f} {name:10} {line}")

    # The interface of asyncio.

    def time(self) -> float:
        """Return the monotonic clock of the current process."""
        lane = LANE.get(None)
        return self.now if lane is None else self.now - lane.suspended_s

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        """Add a callback to the current lane, or that of the context."""
        context = context or contextvars.copy_context()
        call = Call(self.now, callback, args, context)
        context.get(LANE, self.system).ready.append(call)
        return call

    def call_soon_threadsafe(  # type: ignore[override]
        self,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        """Add a callback to the current lane: there are no threads."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        """Set a timer."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        """Set a timer by the clock of the current lane."""
        context = context or contextvars.copy_context()
        return self._at(context.get(LANE, self.system), when, callback, args, context)

    def _at(
        self,
        lane: Lane,
        when: float,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> Call:
        call = Call(when, callback, args, context or self.enter(lane))
        self._numbers += 1
        heappush(lane.timers, (when, self._numbers, call))
        return call

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, Value] | Coroutine[Any, Any, Value],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Value]:
        """Start a task."""
        context = context or contextvars.copy_context()
        task: asyncio.Task[Value] = asyncio.Task(coro, loop=self, name=name, context=context)
        context.get(LANE, self.system).keep(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Value], *args: Any
    ) -> asyncio.Future[Value]:
        """Carry out a call as a thread would: later."""
        work: Work | None = executor if hasattr(executor, "run") else self.work
        assert work is not None
        return work.run(self, lambda: func(*args))

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Factory, host: str, port: int, **options: Any
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection over the simulated network."""
        if options.get("ssl"):
            raise NotImplementedError("the simulated network has no TLS")
        assert self.network is not None
        return await self.network.connect(protocol_factory, _HOSTS.get(host, host), port)

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Factory, host: str, port: int, **options: Any
    ) -> Any:
        """Accept connections of the simulated network."""
        assert self.network is not None
        return self.network.listen(protocol_factory, host, port)

    async def getaddrinfo(  # type: ignore[override]
        self, host: str, port: int, **options: Any
    ) -> list[Any]:
        """Return the address of a host; most are known by their name alone."""
        address = ADDRESSES.get(host, host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note an error that nobody handles."""
        error = context.get("exception")
        self.errors.append(f"{context.get('message')}: {error!r}")
        self.note(f"unhandled: {self.errors[-1]}")

    def get_debug(self) -> bool:
        """There is no debug mode."""
        return False

    def get_task_factory(self) -> None:
        """Tasks are made as usual."""

    def is_running(self) -> bool:
        """Tell whether the loop runs."""
        return self._running

    def is_closed(self) -> bool:
        """Tell whether the loop is closed."""
        return self._closed

    def close(self) -> None:
        """Close the loop."""
        self._closed = True

    def stop(self) -> None:
        """Stop after the current callback."""
        self._stopping = True

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is passed over when it is due."""

    def run_until_complete(  # type: ignore[override]
        self, future: Coroutine[Any, Any, Value]
    ) -> Value:
        """Run until a task of the system lane is done."""
        asyncio._set_running_loop(self)
        self._running = True
        try:
            context = self.enter(self.system)
            task = self.create_task(future, context=context)
            while not task.done():
                self._step()
            return task.result()
        finally:
            self._running = False
            asyncio._set_running_loop(None)

    # Steps.

    def _step(self) -> None:
        """Run one callback of one lane, or let time pass until there is one."""
        able: list[Lane] = []
        next_at: float | None = None
        ended = False
        now = self.now
        for lane in self.lanes:
            if lane.dead:
                ended = True
                continue
            if lane.frozen:
                continue
            ready, timers = lane.ready, lane.timers
            if timers:
                # A little more, as the difference is rounded.
                clock = now - lane.suspended_s + 1e-9
                while timers and (timers[0][0] <= clock or timers[0][2].off):
                    call = heappop(timers)[2]
                    if not call.off:
                        ready.append(call)
            if ready:
                able.append(lane)
            elif timers:
                due_at = timers[0][0] + lane.suspended_s
                if next_at is None or due_at < next_at:
                    next_at = due_at
        if ended:
            self._bury()
        if not able:
            if next_at is None:
                raise Stuck
            self.now = max(now, next_at)
            return
        count = len(able)
        lane = able[0] if count == 1 else able[int(self._chance.random() * count)]
        call = lane.ready.popleft()
        callback = call.callback
        if callback is None:
            return
        self.steps += 1
        self.now = now = now + STEP_S
        self.digest.update(_STEP.pack(lane.number, now))
        self.digest.update(name_of(callback))
        call.context.run(callback, *call.args)

    def _bury(self) -> None:
        """Set dead lanes aside; they are kept, as no coroutine of theirs may end."""
        self._graves += [one for one in self.lanes if one.dead]
        self.lanes = [one for one in self.lanes if not one.dead]
