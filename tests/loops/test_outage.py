"""Writes that fail for half a minute: nobody loses anything who could not be heard."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.environment import machine
from ojs_server.loops import housekeeping
from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.loops.runner import Loops
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.store.open import open_store
from tests.loops.sleeper import Sleeper
from tests.ops.bench import HandClock, enqueue, environment, rng
from tests.ops.refusing import Refusing

LEASE_MS = 5_000
GRACE_MS = 30_000
STEP_MS = 1_000


class Node:
    """A node with its housekeeping, in time that the test turns, and a worker with a job."""

    def __init__(self, store: Any, clock: HandClock, sleeper: Sleeper) -> None:
        self.store = Refusing(store)
        refusing: Any = self.store
        self.engine = Engine(refusing, Rules(), environment(rng()))
        self.clock = clock
        self.sleeper = sleeper
        self.sweeper = Housekeeping(self.engine, machine().monotonic_ms, shared=False)
        self.job = ""

    async def hold(self) -> None:
        """A worker takes a job, and is heard."""
        await self.engine.run(enqueue())
        (delivery,) = await self.engine.run(Claim(("q",), 1, "w", lease_ms=LEASE_MS))
        self.job = delivery.claimed.job.id
        await self.beat()

    async def beat(self) -> None:
        """Be heard."""
        beat = Beat("w", WorkerState.RUNNING, draining=False, active_ids=(self.job,))
        await self.engine.run(beat)

    async def second(self, *, heard: bool | None = None) -> None:
        """A second passes, with a round of housekeeping and perhaps a heartbeat before it."""
        self.clock.advance(STEP_MS)
        if heard is True:
            await self.beat()
        elif heard is False:
            with pytest.raises(Unavailable):
                await self.beat()
        await self.sleeper.next()

    def takes_changes(self) -> bool:
        """Return True while the node believes that it can write."""
        return self.engine.writable

    async def holds(self) -> bool:
        """Return True while the worker holds the job."""
        found = await self.engine.read(lambda reader: reader.job(self.job))
        return found is not None and found[0].job.state == "active" and found[0].job.attempt == 1

    async def lives(self) -> bool:
        """Return True until the worker is declared dead."""
        (load,) = await self.engine.read(lambda reader: reader.workers())
        return load.worker.gone_at is None


@pytest.fixture
async def node(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    sleeper, clock = Sleeper(), HandClock()
    monkeypatch.setattr(housekeeping, "at_most", sleeper.at_most)
    store = open_store(store_url, clock=clock)
    node = Node(store, clock, sleeper)
    loops = Loops()
    loops.start("housekeeping", node.sweeper.run)
    await sleeper.pause()
    # Long after the start.
    for _ in range(40):
        await node.second()
    await node.hold()
    yield node
    await loops.stop()
    await node.engine.close()
    store.close()


async def test_a_lease_is_judged_only_after_its_time_has_passed_since_the_first_write(
    node: Node,
) -> None:
    node.store.refuses = True
    for _ in range(GRACE_MS // STEP_MS):
        await node.second(heard=False)
    node.store.refuses = False
    await node.second()
    for _ in range(LEASE_MS // STEP_MS - 1):
        assert await node.holds()
        await node.second()
    assert await node.holds()
    for _ in range(3):
        await node.second()
    assert not await node.holds()


async def test_no_worker_is_dead_before_it_could_be_heard_again(node: Node) -> None:
    node.store.refuses = True
    for _ in range(2 * GRACE_MS // STEP_MS):
        await node.second(heard=False)
    node.store.refuses = False
    await node.second()
    for _ in range(GRACE_MS // STEP_MS - 1):
        assert await node.lives()
        await node.second()
    assert await node.lives()
    for _ in range(3):
        await node.second()
    assert not await node.lives()


async def test_whoever_is_heard_again_keeps_what_it_has(node: Node) -> None:
    node.store.refuses = True
    for _ in range(GRACE_MS // STEP_MS):
        await node.second(heard=False)
    node.store.refuses = False
    for _ in range(LEASE_MS // STEP_MS - 1):
        await node.second()
    for _ in range(2 * LEASE_MS // STEP_MS):
        await node.second(heard=True)
    assert await node.holds()
    assert await node.lives()


async def test_an_outage_between_two_rounds_counts(node: Node) -> None:
    for _ in range(LEASE_MS // STEP_MS - 1):
        await node.second()
    node.store.refuses = True
    with pytest.raises(Unavailable):
        await node.beat()
    node.store.refuses = False
    for _ in range(LEASE_MS // STEP_MS):
        await node.second()
        assert await node.holds()


async def test_a_store_that_is_lost_is_probed_and_found_again(node: Node) -> None:
    node.store.refuses = True
    with pytest.raises(Unavailable):
        await node.engine.run(enqueue())
    assert not node.takes_changes()
    await node.second()
    assert not node.takes_changes()
    node.store.refuses = False
    await node.second()
    assert node.takes_changes()
    assert not node.engine.availability.lost


async def test_an_idle_node_notices_by_itself(node: Node) -> None:
    """Nobody writes, and nothing falls due."""
    node.store.refuses = True
    for _ in range(housekeeping.PROBE_EVERY_MS // STEP_MS + 1):
        await node.second()
    assert not node.takes_changes()
