"""The kinds of kills. Each waits for its moment, strikes, and lets the struck one come back."""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from tests.chaos import cluster as databases
from tests.chaos import processes
from tests.chaos.cluster import Backend, Cluster
from tests.chaos.history import History
from tests.chaos.programs import Programs
from tests.e2e.node import Node

WRITES_IN_FLIGHT: Final = 20
LIMIT_S: Final = 120.0
# Most kills come while a node commits, and the others at any moment.
_AIMED: Final = 0.8
_LOOKS: Final = 200
_LONGEST_PAUSE_S: Final = 0.02
# Time for a server to answer, wrongly, what no standby has.
_LONGEST_GRACE_S: Final = 0.5


class Scene(msgspec.Struct):
    """Everything that can be struck, and the history of the clients that notice."""

    cluster: Cluster
    nodes: Sequence[Node]
    programs: Programs
    history: History
    luck: random.Random

    async def moment(self, kind: str) -> list[Backend]:
        """Wait until enough writes are in flight, and mostly for a COMMIT; note the kill."""
        looks = _LOOKS if self.luck.random() < _AIMED else 0
        connection = await asyncio.to_thread(self.cluster.connect)
        try:
            while True:
                await self.writes_in_flight()
                await asyncio.sleep(self.luck.uniform(0, _LONGEST_PAUSE_S))
                found = await asyncio.to_thread(databases.backends_at_commit, connection, looks)
                if self.history.writes_in_flight >= WRITES_IN_FLIGHT:
                    break
        finally:
            connection.close()
        self.history.strike(kind, sum(one.commits for one in found))
        return found

    async def writes_in_flight(self) -> None:
        """Wait until enough writes have no answer yet."""
        await self.history.reach(lambda: self.history.writes_in_flight >= WRITES_IN_FLIGHT, LIMIT_S)

    def aimed(self, found: list[Backend]) -> int:
        """Return the process id of a random backend, of one that commits if there is any."""
        committing = [one for one in found if one.commits]
        return self.luck.choice(committing or found).pid


async def _postmaster(scene: Scene) -> None:
    """SIGKILL of PostgreSQL's first process; the others notice and leave."""
    await scene.moment("postmaster")
    os.kill(processes.postmaster(scene.cluster.primary), signal.SIGKILL)
    await asyncio.to_thread(scene.cluster.restart)


async def _immediate(scene: Scene) -> None:
    """SIGQUIT, which is `pg_ctl stop -m immediate`: nothing is flushed."""
    await scene.moment("immediate")
    os.kill(processes.postmaster(scene.cluster.primary), signal.SIGQUIT)
    await asyncio.to_thread(scene.cluster.restart)


async def _crash(scene: Scene) -> None:
    """SIGKILL of all of PostgreSQL's processes, as if the machine had ended."""
    await _end_primary(scene, "crash")
    await asyncio.to_thread(scene.cluster.restart)


async def _backend(scene: Scene) -> None:
    """SIGKILL of one backend, on which PostgreSQL ends all and recovers."""
    found = await scene.moment("backend")
    processes.signalled([scene.aimed(found)], signal.SIGKILL)


async def _terminate(scene: Scene) -> None:
    """`pg_terminate_backend`, which sends SIGTERM."""
    found = await scene.moment("terminate")
    processes.signalled([scene.aimed(found)], signal.SIGTERM)


async def _cancel(scene: Scene) -> None:
    """`pg_cancel_backend`, which sends SIGINT."""
    found = await scene.moment("cancel")
    processes.signalled([scene.aimed(found)], signal.SIGINT)


async def _node(scene: Scene) -> None:
    """SIGKILL of a node; its backends may still be at work when its clients ask another."""
    await scene.moment("node")
    node = scene.luck.choice(scene.nodes)
    await node.kill()
    await node.start()


async def _program(scene: Scene) -> None:
    """SIGKILL of a program, which mostly is within a transaction."""
    await scene.moment("program")
    await asyncio.sleep(scene.luck.uniform(0, _LONGEST_PAUSE_S))
    scene.programs.kill_one(scene.luck)


async def _relay(scene: Scene) -> None:
    """SIGKILL of a relay, which may be between a call and the mark of its rows."""
    await scene.moment("relay")
    scene.programs.kill_relay(scene.luck)


async def _start_in_recovery(scene: Scene) -> None:
    """SIGKILL of PostgreSQL and of a node, which starts while PostgreSQL recovers."""
    await _end_primary(scene, "start-in-recovery")
    node = scene.luck.choice(scene.nodes)
    await node.kill()
    await asyncio.gather(node.start(), asyncio.to_thread(scene.cluster.restart))


async def _promote(scene: Scene) -> None:
    """The primary's machine ends, and the standby is promoted."""
    await _end_primary(scene, "promote")
    await _fail_over(scene)


async def _promote_cancelled(scene: Scene) -> None:
    """As the standby hears nothing any more, COMMITs that wait for it are cancelled: PostgreSQL
    answers them. Then the primary ends, and the standby knows nothing of them."""
    waiting = await _cut_off(scene)
    processes.signalled([one.pid for one in waiting], signal.SIGINT)
    await asyncio.sleep(scene.luck.uniform(0, _LONGEST_GRACE_S))
    await _end_primary(scene, "promote-cancelled")
    await _fail_over(scene)


async def _promote_restarted(scene: Scene) -> None:
    """As the standby hears nothing any more, the primary crashes and comes back without it: it
    finds COMMITs in its log that the standby does not have. Then it ends for good."""
    await _cut_off(scene)
    standby = scene.cluster.standby
    assert standby is not None
    frozen = processes.of(standby)
    processes.signalled(frozen, signal.SIGSTOP)
    try:
        await asyncio.to_thread(processes.kill, scene.cluster.primary)
        await asyncio.to_thread(scene.cluster.restart)
        await asyncio.sleep(scene.luck.uniform(0, _LONGEST_GRACE_S))
        await _end_primary(scene, "promote-restarted")
    finally:
        processes.signalled(frozen, signal.SIGCONT)
    await _fail_over(scene)


async def _end_primary(scene: Scene, kind: str) -> None:
    """SIGKILL of all processes of the primary, found before, at the moment."""
    primary = scene.cluster.primary
    known = await asyncio.to_thread(processes.of, primary)
    await scene.moment(kind)
    await asyncio.to_thread(processes.kill, primary, known)


async def _cut_off(scene: Scene) -> list[Backend]:
    """Stop the log's way to the standby; returns the backends whose COMMIT waits for it."""
    await scene.writes_in_flight()
    os.kill(await asyncio.to_thread(scene.cluster.sender), signal.SIGSTOP)

    def waiting() -> list[Backend]:
        found: list[Backend] = []

        def some_wait() -> bool:
            with scene.cluster.connect() as connection:
                found[:] = [one for one in databases.backends(connection) if one.waits_for_standby]
            return bool(found)

        processes.wait_until(some_wait)
        return found

    return await asyncio.to_thread(waiting)


async def _fail_over(scene: Scene) -> None:
    await asyncio.to_thread(scene.cluster.fail_over)
    await asyncio.to_thread(scene.cluster.rejoin, rewind=scene.luck.random() < 0.5)


KILLS: Final[dict[str, Callable[[Scene], Awaitable[None]]]] = {
    "postmaster": _postmaster,
    "immediate": _immediate,
    "crash": _crash,
    "backend": _backend,
    "terminate": _terminate,
    "cancel": _cancel,
    "node": _node,
    "program": _program,
    "relay": _relay,
    "start-in-recovery": _start_in_recovery,
}
FAILOVERS: Final[dict[str, Callable[[Scene], Awaitable[None]]]] = {
    "promote": _promote,
    "promote-cancelled": _promote_cancelled,
    "promote-restarted": _promote_restarted,
}


def planned(kinds: Sequence[str], count: int, begun: int, luck: random.Random) -> list[str]:
    """Plan a number of kills, each kind as often as another; `begun` of them were made before."""
    plan = [kinds[(begun + number) % len(kinds)] for number in range(count)]
    luck.shuffle(plan)
    return plan
