"""The operator of a deployment: starts workers that have ended, and tidies up after the storm."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from ojs_worker.errors import NotFound, OjsError
from tests.simulation.acts import by_hand
from tests.simulation.ledger import Calm, Ledger
from tests.simulation.oracles import rows
from tests.simulation.world import World

PATHS = ("/ojs/v1/admin/stats", "/ojs/v1/admin/nodes", "/ojs/v1/admin/queues?limit=100")
# Time in which cron entries are watched firing in the calm.
CALM_S = 20.0
# Requests that were held up in the storm, or sent again by a proxy, may still come.
AGAIN_S = 25.0
# Time until a worker that has ended is started again.
RESTART_S = 3.0


class Operating:
    """Work of an operator, so that everything that was accepted can end."""

    def __init__(self, world: World) -> None:
        self.caller = world.operator.caller
        self._lane = world.operator.lane
        # True once everything can end.
        self.done = False
        self.stopped = False
        self._world = world
        self._kinds = {act.kind.partition(" ")[0]: None for act in world.scenario.acts}
        self._exits = {worker.name: 0 for worker in world.workers}

    def start(self, task: Coroutine[Any, Any, None]) -> None:
        """Start a task in the process of the operator."""
        self._world.loop.start(self._lane, task, "operator")

    async def supervise(self) -> None:
        """Start workers anew that ended by themselves, until the end of the simulation."""
        loop = self._world.loop
        while not self.stopped:
            await asyncio.sleep(1.0)
            for worker in self._world.workers:
                if len(worker.exits) > self._exits[worker.name]:
                    self._exits[worker.name] = len(worker.exits)
                    loop.call_later(RESTART_S, self._start, worker)

    def _start(self, worker: Any) -> None:
        if not self.stopped:
            worker.start()

    async def tidy(self) -> None:
        """Watch the calm for a while, and then take away whatever keeps jobs from ending."""
        for worker in self._world.workers:
            worker.signal("SIGCONT")
        self.caller.ledger.tidied = self.caller.ledger.head()
        await self._unless_lost(self._let_work)
        if "cron" in self._kinds:
            await asyncio.sleep(5.0)
            await self._unless_lost(self._watch_cron)
        while not self.stopped:
            await self._unless_lost(self._let_work)
            await self._unless_lost(self._end_cron)
            self.done = True
            await asyncio.sleep(AGAIN_S)

    async def _watch_cron(self) -> None:
        ledger = self.caller.ledger
        entries = [
            {"name": entry.name, "expression": entry.expression, "enabled": entry.enabled}
            for entry in await self.caller.client.list_crons()
        ]
        calls = _changes(ledger)
        first = ledger.head()
        await asyncio.sleep(CALM_S)
        if _changes(ledger) == calls and not any(client.open for client in self._world.clients):
            ledger.calm = Calm(first, ledger.head(), CALM_S, entries)

    async def ask(self) -> None:
        """Ask for what is compared with the database at the end."""
        for path in PATHS:
            await self._unless_lost(partial(self._ask, path))

    async def _ask(self, path: str) -> None:
        self.caller.ledger.answers[path] = await by_hand.send(self.caller, "GET", path)

    async def _let_work(self) -> None:
        client = self.caller.client
        if "worker" in self._kinds:
            await client.workers.direct_all("resume")
        if "tenant" in self._kinds:
            async for tenant in client.tenants.list():
                with suppress(NotFound):
                    await client.tenants.delete(tenant["id"])

        await self._take_back()

    async def _take_back(self) -> None:
        """Take back what clients have done to queues and limits."""
        world, client = self._world, self.caller.client
        calls: list[Callable[[], Awaitable[Any]]] = []
        for row in rows.of(world, "SELECT name, paused, config FROM queues ORDER BY name"):
            if row["paused"]:
                calls.append(partial(client.queues.resume, row["name"]))
            if row["config"] not in (None, "{}"):
                calls.append(partial(client.queues.set_config, row["name"]))
        for row in rows.of(world, "SELECT name FROM limits WHERE override IS NOT NULL ORDER BY 1"):
            calls.append(partial(client.rate_limits.restore, row["name"]))
        if rows.of(world, "SELECT 1 FROM maintenance"):
            calls.append(partial(client.admin.set_maintenance, False))
        for call in calls:
            with suppress(NotFound):
                await call()

    async def _end_cron(self) -> None:
        if "cron" in self._kinds:
            for entry in await self.caller.client.list_crons():
                with suppress(NotFound):
                    await self.caller.client.delete_cron(entry.name)

    async def _unless_lost(self, do: Callable[[], Awaitable[None]]) -> None:
        for _ in range(10):
            try:
                await do()
                return
            except OjsError:
                await asyncio.sleep(2.0)
        self.caller.ledger.wrong("calm", f"{do!r} had no answer in the calm")


def _changes(ledger: Ledger) -> int:
    """Count the changes of cron entries that were sent."""
    return sum(
        one.path.startswith("/ojs/v1/cron") and one.method != "GET" for one in ledger.exchanges
    )
