"""A world: the nodes, workers, clients, network and disk of one scenario."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ojs_server.domain.profile import OJS
from ojs_server.environment import Environment
from ojs_server.loops.opening import opens
from ojs_server.settings import Settings
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_worker import Worker
from ojs_worker.environment import Environment as WorkerEnvironment
from ojs_worker.transport.direct import transport_to
from tests.simulation.clients import ClientProcess
from tests.simulation.handlers.worker import make_worker
from tests.simulation.hook import Hook
from tests.simulation.ledger import Ledger
from tests.simulation.machine.disk import Disk
from tests.simulation.machine.loop import Lane, SimulatedLoop
from tests.simulation.machine.network import Network
from tests.simulation.machine.threads import SimulatedExecutor
from tests.simulation.observed import Observed
from tests.simulation.processes import (
    PORT,
    Node,
    WorkerProcess,
    server_environment,
    worker_environment,
)
from tests.simulation.scenario import Scenario, stream
from tests.simulation.shared_store import NodeStore, SharedDatabase


class Notices(msgspec.Struct):
    """The shares of notices that get lost, are late, or come twice."""

    lost: float = 0.0
    late: float = 0.0
    doubled: float = 0.0

    def delays(self, chance: random.Random, fired: Counter[str]) -> list[float]:
        """Return the delay of each delivery of a notice."""
        if self.lost and chance.random() < self.lost:
            fired["notice lost"] += 1
            return []
        delays = [0.0005 + 0.005 * chance.random()]
        if self.late and chance.random() < self.late:
            fired["notice late"] += 1
            delays[0] += 20 * chance.random() ** 2
        if self.doubled and chance.random() < self.doubled:
            fired["notice doubled"] += 1
            delays.append(delays[0] + chance.random())
        return delays


class World:
    """Everything that a scenario needs."""

    def __init__(
        self, scenario: Scenario, folder: Path, trace: Callable[[str], None] | None
    ) -> None:
        options = scenario.options
        self.scenario = scenario
        self.folder = folder
        self.ledger = Ledger()
        self.loop = SimulatedLoop(self.chance("schedule"), trace)  # type: ignore[abstract]
        self.network = Network(self.loop, self.chance("network"))
        self.loop.network = self.network
        self.loop.hidden = str(folder)
        self.loop.work = SimulatedExecutor(100, self.chance("threads"), options.pace.read_s)
        self.fired: Counter[str] = self.network.fired
        self.file = self.folder / "ojs.db"
        # Nodes that share a database do not notice its disk.
        self.disk = None if options.shared else Disk(self.chance("disk"))
        self.notices = Notices()
        self._notice_chance = self.chance("notices")
        # The present store of each node.
        self.stores: dict[str, NodeStore] = {}
        self.database = self._shared_database() if options.shared else None
        self.nodes = [self._node(f"node{number}") for number in range(1, options.nodes + 1)]
        self.workers = [
            WorkerProcess(
                self.loop,
                name := f"worker{number}",
                self._make_worker,
                options.pace,
                self.chance(name),
            )
            for number in range(1, options.workers + 1)
        ]
        self.clients = [self.client(f"client{number}") for number in range(options.clients)]
        self.hook = Hook(self.loop, self.chance("hook"), self.ledger)
        # Takes back after the storm what clients have done to queues and limits.
        self.operator = self.client("operator")

    def chance(self, name: str) -> Any:
        """Return the stream of chance of one component."""
        return stream(self.scenario.seed, name)

    def urls(self, name: str) -> str:
        """Return the addresses of all nodes, in an order of the process that is to call them: it
        stays with the first one until that fails."""
        urls = [f"http://{node.name}:{PORT}" for node in self.nodes]
        self.chance(f"addresses of {name}").shuffle(urls)
        return ",".join(urls)

    def _node(self, name: str) -> Node:
        grace_ms = round(1000 * self.scenario.options.session_grace_s) or None
        settings = Settings(
            host=name,
            port=PORT,
            database=str(self.file),
            insecure=True,
            webhook_private=True,
            webhook_plain=True,
            stream_buffer=self.scenario.options.stream_buffer,
            profile=msgspec.structs.replace(OJS, session_grace_ms=grace_ms),
        )
        return Node(
            self.loop,
            name,
            settings,
            self.scenario.options.pace,
            self.chance(name),
            self._open_store,
        )

    def crashed(self, node: Node, *, power: bool) -> None:
        """Leave of the store of a node what a dead process does."""
        if self.database is not None:
            self.database.disconnect(node.lane.name)
        elif self.disk is not None:
            self.disk.crash(str(self.file), power=power)

    def _open_store(self, lane: Lane, environment: Environment) -> Store:
        if self.database is None:
            return open_store(str(self.file), environment=environment)
        self.stores[lane.host] = store = NodeStore(
            self.database, lane.name, environment.monotonic, at_once=False
        )
        opens(store)
        return store

    def _shared_database(self) -> SharedDatabase:
        """Make the database, on a host of its own."""
        lane = self.loop.lane("database", "database")
        chance = self.chance("database")
        environment = server_environment(self.loop, lane, chance, self.scenario.options.pace, 1)
        return SharedDatabase(self.file, environment, chance, self._send_notice)

    def _send_notice(self, sender: str, receiver: str, deliver: Callable[[], None]) -> None:
        """Deliver a notice to a node, unless it gets lost; late or twice, perhaps."""
        lane = next((node.lane for node in self.nodes if node.lane.name == receiver), None)
        if lane is None:
            return
        for delay in self.notices.delays(self._notice_chance, self.fired):
            self.loop.post_in(delay, lane, deliver)

    def _make_worker(self, name: str, environment: WorkerEnvironment) -> Worker:
        options = self.scenario.options
        transport = Observed(transport_to(self.urls(name), None), self.loop, self.ledger, name)
        return make_worker(
            name,
            environment,
            transport,
            self.loop,
            self.ledger,
            {
                "concurrency": options.concurrency,
                "wake": options.wake,
                "heartbeat_interval": options.heartbeat_s,
                "visibility_timeout": options.lease_s,
                "queues": ["default", "other"],
            },
        )

    def client(self, name: str) -> ClientProcess:
        """Start a program with a client."""
        lane = self.loop.lane(name, name)
        environment = worker_environment(
            self.loop, lane, self.chance(name), self.scenario.options.pace, 1
        )
        transport = Observed(transport_to(self.urls(name), None), self.loop, self.ledger, name)
        stage = None if self.database is None else self.database.stage
        hosts = [(node.name, PORT) for node in self.nodes]
        return ClientProcess(self.loop, lane, self.ledger, environment, transport, stage, hosts)
