"""ENQUEUE that waits for room: a wake-up that a producer cannot use goes to the next one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ojs_server.domain.errors import OjsError, Unavailable
from ojs_server.domain.queues.config import parse_config
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_server.ops.jobs.enqueue import Enqueue, Enqueued
from ojs_server.ops.queues.control import Configure
from ojs_server.ops.workers.claim import Claim
from tests.ops.bench import enqueue
from tests.ops.waiting_calls import WaitingCalls

LONG_MS = 60_000


class Producers(WaitingCalls[Enqueued]):
    """Waiting producers."""

    async def start(self, op: Enqueue) -> asyncio.Task[Enqueued]:
        """A producer that was refused twice: before it waited, and since."""
        return await self.begin(enqueue_or_wait(self.engine, op, LONG_MS), looks=2)


@pytest.fixture
async def producers(engine: Engine) -> AsyncIterator[Producers]:
    """Before a full queue of two jobs."""
    limits = {"backpressure": {"max_depth": 2, "strategy": "block"}}
    await engine.run(Configure("q", lambda base: parse_config(limits, strict=True, base=base)))
    await engine.run(enqueue(jobs=[{}, {}]))
    producers = Producers(engine)
    yield producers
    await producers.end()


async def stored(task: asyncio.Task[Enqueued]) -> int:
    async with asyncio.timeout(30):
        return len((await task).jobs)


async def test_room_that_is_too_little_for_one_is_offered_to_the_next(
    engine: Engine, producers: Producers
) -> None:
    large = await producers.start(enqueue(jobs=[{}, {}]))
    small = await producers.start(enqueue())
    await engine.run(Claim(("q",)))
    assert await stored(small) == 1
    await engine.run(Claim(("q",), 2))
    assert await stored(large) == 2


async def test_room_that_a_failed_look_did_not_use_is_offered_to_the_next(
    engine: Engine, producers: Producers, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = enqueue(id="01a1fe79-67f2-7880-8456-6b8ed6c87f43")
    first, second = await producers.start(unlucky), await producers.start(enqueue())
    run = engine.run

    async def refuse(operation: Any) -> Any:
        if operation is unlucky:
            raise Unavailable("not now")
        return await run(operation)

    monkeypatch.setattr(engine, "run", refuse)
    await engine.run(Claim(("q",)))
    with pytest.raises(OjsError, match="not now"):
        await first
    assert await stored(second) == 1


async def test_room_that_a_repetition_does_not_need_is_offered_to_the_next(
    engine: Engine, producers: Producers
) -> None:
    same = enqueue(id="01a1fe79-67f2-7880-8456-6b8ed6c87f43")
    first, again = await producers.start(same), await producers.start(same)
    last = await producers.start(enqueue())
    await engine.run(Claim(("q",)))
    assert await stored(first) == 1
    await engine.run(Claim(("q",)))
    assert not (await again).created
    assert await stored(last) == 1
