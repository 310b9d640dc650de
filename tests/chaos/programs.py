"""Programs whose rows are in the nodes' database, and whose jobs are to come and go with them."""

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from ojs_worker import outbox
from tests.chaos.accounting import Row
from tests.chaos.cluster import DATABASE, Cluster
from tests.chaos.load import LIMIT_S, Load
from tests.chaos.processes import wait_until
from tests.chaos.program import End, Way
from tests.e2e.node import Node

TABLE: Final = "CREATE TABLE IF NOT EXISTS orders (name text PRIMARY KEY, queue text, job uuid)"
_STAGED: Final = (
    "SELECT EXISTS (SELECT FROM orders, enqueued(job) WHERE queue = %s AND state = 'staged')"
)
_UNSENT: Final = "SELECT EXISTS (SELECT FROM ojs_outbox WHERE status = 'pending')"
_HAS_OUTBOX: Final = "SELECT to_regclass('ojs_outbox') IS NOT NULL"
# Ends of transactions; one that stands here more often is chosen more often.
_ENDS: Final = (End.COMMIT, End.COMMIT, End.COMMIT, End.PARTLY, End.ROLLBACK)


class Program:
    """One process, which is started again when it was killed."""

    def __init__(self, url: str, load: Load, name: str, way: Way) -> None:
        self._url = url
        self._load = load
        self._way = way
        self._name = name
        self._luck = load.random()
        self._process: asyncio.subprocess.Process | None = None
        # True while it has been told a transaction, and has not ended it.
        self.is_busy = False

    async def run(self) -> None:
        """Let it store rows until it is enough."""
        load, number = self._load, 0
        try:
            while not load.enough.is_set():
                await load.history.reach(load.may_enqueue, LIMIT_S)
                number += 1
                await self._order(f"{self._name}-{number}", self._luck.choice(_ENDS))
        finally:
            await self._end()

    def kill(self) -> None:
        """End it wherever it is."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _order(self, name: str, end: End) -> None:
        process = self._process = self._process or await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        self.is_busy = True
        with suppress(ConnectionError):
            process.stdin.write(f"{name} {end}\n".encode())
            await process.stdin.drain()
        answer = await process.stdout.readline()
        self.is_busy = False
        if answer:
            self._load.backlog += end is not End.ROLLBACK
        else:
            await process.wait()
            self._process = None

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.chaos.program", self._url, self._load.queue, self._way),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )

    async def _end(self) -> None:
        if self._process is not None:
            self.kill()
            await self._process.wait()


class Relay:
    """One process that sends what is in the outbox, and is started again when it was killed."""

    def __init__(self, url: str, node: Node) -> None:
        self._url = url
        self._node = node
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    async def run(self) -> None:
        """Let it send until it is stopped."""
        while not self._stopping:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ojs_cli", "outbox", "run", "--poll", "50ms"),
                *("--database", self._url, "--url", self._node.url),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await self._process.wait()

    def send(self, sig: signal.Signals) -> None:
        """Send it a signal wherever it is."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(sig)

    def stop(self) -> None:
        """Let it end."""
        self._stopping = True
        self.send(signal.SIGTERM)


class Programs:
    """The programs of a round, and the relays of those that have an outbox.

    SQLAlchemy's URLs name one server, so there is no outbox where a standby takes over.
    """

    def __init__(self, cluster: Cluster, nodes: Sequence[Node], load: Load, count: int) -> None:
        self._cluster = cluster
        self._queue = load.queue
        self._has_outbox = cluster.standby is None
        ways = [Way.FUNCTION, Way.OUTBOX if self._has_outbox else Way.FUNCTION]
        self._all = [
            Program(cluster.url, load, f"{load.queue}-t{number}", ways[number % 2])
            for number in range(count)
        ]
        self._relays = [Relay(cluster.url, node) for node in nodes] if self._has_outbox else []
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Programs"]:
        """Let them store rows within the block."""
        await asyncio.to_thread(self._create)
        async with asyncio.TaskGroup() as group:
            relays = [group.create_task(relay.run()) for relay in self._relays]
            self._tasks = [group.create_task(one.run()) for one in self._all]
            try:
                yield self
            finally:
                for relay in self._relays:
                    relay.stop()
            await asyncio.gather(*relays)

    def _create(self) -> None:
        self._ask(TABLE)
        if self._has_outbox and not self._ask(_HAS_OUTBOX)[0][0]:
            for statement in outbox.statements("postgresql"):
                self._ask(statement)

    def kill_one(self, luck: random.Random) -> None:
        """End one of them wherever it is, within a transaction if one is there."""
        luck.choice([one for one in self._all if one.is_busy] or self._all).kill()

    def kill_relay(self, luck: random.Random) -> None:
        """End one of the relays wherever it is."""
        luck.choice(self._relays).send(signal.SIGKILL)

    async def rows(self, within_s: float) -> list[Row]:
        """Wait until all have stopped and their jobs are stored; return the rows."""
        async with asyncio.timeout(within_s):
            await asyncio.gather(*self._tasks)
        await asyncio.to_thread(wait_until, lambda: not self._ask(_STAGED, self._queue)[0][0])
        if self._has_outbox:
            await asyncio.to_thread(wait_until, lambda: not self._ask(_UNSENT)[0][0])
        found = await asyncio.to_thread(
            self._ask, "SELECT name, job::text FROM orders WHERE queue = %s", self._queue
        )
        return [Row(*row) for row in found]

    def _ask(self, statement: str, *values: str) -> Sequence[Any]:
        with self._cluster.connect(DATABASE) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else ()
