"""Waiting until a job has ended."""

import asyncio

import pytest

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs import wait_for_end as ending
from ojs_server.ops.jobs.settle import Ack, Cancel
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.workers.claim import Claim
from tests.ops.bench import enqueue


@pytest.fixture(autouse=True)
def _no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sure that waiters are woken by events, not by the slow poll."""
    monkeypatch.setattr(ending, "SLOW_POLL_S", 60.0)


@pytest.fixture
async def stored(engine: Engine) -> StoredJob:
    """A job that waits for a worker."""
    return (await engine.run(enqueue())).jobs[0]


async def waiting(engine: Engine, stored: StoredJob) -> asyncio.Task[StoredJob]:
    """A wait that has entered: that is the first thing it does."""
    task = asyncio.create_task(wait_for_end(engine, stored, 60))
    await asyncio.sleep(0)
    assert stored.job.id in engine.endings.queues()
    return task


async def test_the_end_wakes_everybody_who_waits_for_it(engine: Engine, stored: StoredJob) -> None:
    tasks = [await waiting(engine, stored) for _ in range(3)]
    await engine.run(Claim(("q",)))
    await engine.run(Ack(stored.job.id, result=b"5"))
    async with asyncio.timeout(30):
        for task in tasks:
            ended = await task
            assert (ended.job.state, ended.result) == ("completed", b"5")
    assert engine.endings.queues() == []


async def test_a_cancellation_is_an_end_and_other_jobs_are_not(
    engine: Engine, stored: StoredJob
) -> None:
    other = (await engine.run(enqueue())).jobs[0]
    task, still = await waiting(engine, stored), await waiting(engine, other)
    await engine.run(Cancel(stored.job.id))
    async with asyncio.timeout(30):
        assert (await task).job.state == "cancelled"
    assert not still.done()
    engine.endings.close()
    async with asyncio.timeout(30):
        assert (await still).job.state == "available"


async def test_an_ended_job_is_answered_at_once(engine: Engine, stored: StoredJob) -> None:
    await engine.run(Cancel(stored.job.id))
    async with asyncio.timeout(30):
        assert (await wait_for_end(engine, stored, 60)).job.state == "cancelled"


async def test_the_wait_ends_with_the_job_as_it_is(engine: Engine, stored: StoredJob) -> None:
    assert (await wait_for_end(engine, stored, 0)).job.state == "available"
    await engine.run(Claim(("q",)))
    assert (await wait_for_end(engine, stored, 0.01)).job.state == "active"


async def test_a_slow_look_finds_an_end_that_another_node_made(
    engine: Engine, stored: StoredJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "SLOW_POLL_S", 0.01)
    monkeypatch.setattr(engine.endings, "wake_all", lambda names=None: None)
    task = await waiting(engine, stored)
    await engine.run(Cancel(stored.job.id))
    async with asyncio.timeout(30):
        assert (await task).job.state == "cancelled"
