"""The simulated processes: server nodes, workers and clients, each in a lane of its own."""

import asyncio
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from ojs_server import environment as of_server
from ojs_server.app import Server
from ojs_server.server import http_config, share_connections
from ojs_server.settings import Settings
from ojs_server.store.base import Store, StoreUnavailable
from ojs_wire.values import RisingIds
from ojs_worker import Worker
from ojs_worker import environment as of_worker
from ojs_worker.running.lifetime import Running
from tests.simulation.machine.loop import Lane, SimulatedLoop
from tests.simulation.machine.threads import Pace, SimulatedPool, SimulatedThreads

START_MS = 1_900_000_000_000
PORT = 8080
# Interval in which a server sees that it is to end.
TICK_S = 0.5


class Ordered:
    """A set that is gone through in the order of its making: addresses differ in each run."""

    def __init__(self) -> None:
        self._members: dict[Any, None] = {}

    def add(self, member: Any) -> None:
        """Add a member."""
        self._members[member] = None

    def discard(self, member: Any) -> None:
        """Remove a member, if it is one."""
        self._members.pop(member, None)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._members))

    def __len__(self) -> int:
        return len(self._members)


def wall_ms(loop: SimulatedLoop, lane: Lane) -> Callable[[], int]:
    """Return the wall clock of a process."""
    return lambda: START_MS + round(loop.now * 1000) + lane.wall_offset_ms


def monotonic(loop: SimulatedLoop, lane: Lane) -> Callable[[], float]:
    """Return the monotonic clock of a process, which stands still if its machine does."""
    return lambda: loop.now - lane.suspended_s


def server_environment(
    loop: SimulatedLoop, lane: Lane, chance: random.Random, pace: Pace, process: int
) -> of_server.Environment:
    """Return the environment of a server."""
    return of_server.Environment(
        chance=of_server.Chance(
            chance.getrandbits, chance.random, RisingIds(chance.getrandbits).many
        ),
        secret=chance.randbytes,
        wall_ms=wall_ms(loop, lane),
        monotonic=monotonic(loop, lane),
        threads=SimulatedThreads(loop, chance, pace),
        host=lane.host,
        process=process,
    )


def worker_environment(
    loop: SimulatedLoop, lane: Lane, chance: random.Random, pace: Pace, process: int
) -> of_worker.Environment:
    """Return the environment of a worker, or of a client."""
    return of_worker.Environment(
        random_bits=chance.getrandbits,
        random=chance.random,
        rising_id=RisingIds(chance.getrandbits),
        wall_ms=wall_ms(loop, lane),
        monotonic=monotonic(loop, lane),
        elapsed=lambda: loop.now,
        pool=lambda name: SimulatedPool(loop, chance, pace),
        watched=False,
        host=lane.host,
        process=process,
    )


class Process:
    """A process of which only one life runs at a time, each in a lane of its own."""

    def __init__(self, loop: SimulatedLoop, name: str, pace: Pace, chance: random.Random) -> None:
        self.name = name
        self.lane: Lane
        # Number of starts.
        self.lives = 0
        self._loop = loop
        self._pace = pace
        self._chance = chance

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.lives and not self.lane.dead:
            return
        self.lives += 1
        self.lane = self._loop.lane(f"{self.name}.{self.lives}", self.name)
        self._loop.start(self.lane, self._run(), f"run {self.name}")

    async def _run(self) -> None:
        raise NotImplementedError


class Node(Process):
    """A server node."""

    def __init__(
        self,
        loop: SimulatedLoop,
        name: str,
        settings: Settings,
        pace: Pace,
        chance: random.Random,
        open_store: Callable[[Lane, of_server.Environment], Store],
    ) -> None:
        super().__init__(loop, name, pace, chance)
        self.server: Server | None = None
        # Called with the reason when the process has ended by itself, and not by `stop`.
        self.on_end: Callable[[str], None] = lambda reason: None
        self.settings = settings
        self._open_store = open_store
        self._uvicorn: uvicorn.Server | None = None

    @property
    def up(self) -> bool:
        """True if the process runs."""
        return self.server is not None and not self.lane.dead

    async def _run(self) -> None:
        environment = server_environment(
            self._loop, self.lane, self._chance, self._pace, self.lives
        )
        try:
            store = self._open_store(self.lane, environment)
        except StoreUnavailable as error:
            self._end(str(error))
            return
        server = Server(self.settings, store, environment)
        share_connections(server, grpc=False)
        config = http_config(server)
        config.load()
        serving = uvicorn.Server(config)
        serving.lifespan = config.lifespan_class(config)
        state: Any = serving.server_state
        state.connections = Ordered()
        self._uvicorn = serving
        await serving.startup()
        self.server = server
        # In place of uvicorn's main loop, which looks ten times a second.
        stopping = await serving.on_tick(1)
        while not stopping:
            await asyncio.sleep(TICK_S)
            stopping = await serving.on_tick(1)
        await serving.shutdown()
        self.server = None
        self._end(server.failure)

    def _end(self, reason: str | None) -> None:
        self.lane.kill()
        if reason is not None:
            self.on_end(reason)

    def stop(self) -> None:
        """Stop in order, as at SIGTERM."""
        if self.server is not None and self._uvicorn is not None:
            self._loop.post(self.lane, self.server.begin_stop)
            self._uvicorn.should_exit = True

    def kill(self) -> None:
        """End the process at once."""
        self.lane.kill()
        self.server = None


class WorkerProcess(Process):
    """A worker of the SDK."""

    def __init__(
        self,
        loop: SimulatedLoop,
        name: str,
        make: Callable[[str, of_worker.Environment], Worker],
        pace: Pace,
        chance: random.Random,
    ) -> None:
        super().__init__(loop, name, pace, chance)
        self.running: Running | None = None
        # Exit codes of the lives that ended by themselves.
        self.exits: list[int] = []
        # Time at which each life has ended.
        self.ended: dict[str, float] = {}
        # Signals that were delivered: when, to which life, and which.
        self.signals: list[tuple[float, str, str]] = []
        self._make = make

    @property
    def up(self) -> bool:
        """True if the process runs."""
        return self.running is not None and not self.lane.dead

    async def _run(self) -> None:
        environment = worker_environment(
            self._loop, self.lane, self._chance, self._pace, self.lives
        )
        worker = self._make(self.lane.name, environment)
        self.running = running = await worker.life().start()
        self.exits.append(await running.wait())
        self.ended[self.lane.name] = self._loop.now
        self.running = None
        self.lane.kill()

    def signal(self, name: str) -> None:
        """Deliver SIGTERM, SIGTSTP or SIGCONT."""
        if self.running is not None:
            self.signals.append((self._loop.now, self.lane.name, name))
            self._loop.post(self.lane, self.running.on_signal, signal.Signals[name], False)

    def kill(self) -> None:
        """End the process at once."""
        self.ended.setdefault(self.lane.name, self._loop.now)
        self.lane.kill()
        self.running = None
