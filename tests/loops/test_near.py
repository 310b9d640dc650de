"""Due times are announced to all nodes at once, not found by their next poll."""

import asyncio
from contextlib import closing

import pytest

from ojs_server.environment import machine
from ojs_server.loops import housekeeping
from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.loops.runner import Loops
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import fetch
from ojs_server.store.base import Callbacks
from ojs_server.store.open import open_store
from tests.loops.sleeper import LIMIT_S, sleeping
from tests.ops.bench import enqueue, environment


async def test_another_node_promotes_the_jobs_of_one_that_is_gone(
    postgres_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = sleeping(monkeypatch, housekeeping)
    listens = asyncio.Event()
    loops = Loops()
    with closing(open_store(postgres_store)) as store, closing(open_store(postgres_store)) as other:
        node, gone = Engine(store, Rules(), environment()), Engine(other, Rules(), environment())
        sweeper = Housekeeping(node, machine().monotonic_ms, shared=True)
        node.on_due = sweeper.expect
        listener = store.listener(Callbacks(lambda queues: listens.set(), on_due=sweeper.expect))
        assert listener is not None
        loops.start("housekeeping", sweeper.run)
        loops.start("listener", listener.run)
        try:
            async with asyncio.timeout(LIMIT_S):
                await listens.wait()
                await asleep.wait()
                # Stored by a node without a sweeper of its own, as one that dies right after.
                stored = await gone.run(enqueue(scheduled_at="+PT0.2S"))
                (found,) = await fetch(node, Claim(("q",), 1, "w"), 1000 * LIMIT_S)
                assert found.claimed.job.id == stored.jobs[0].job.id
        finally:
            await loops.stop()
            await node.close()
            await gone.close()
