"""Several worker processes under one command, and a real server: no job is lost or run twice."""

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from ojs_worker import Client, Job, JobHandle
from tests.e2e.node import Node, running, until
from tests.worker.process import worker

# A server that notices a dead worker quickly, and on a busy machine perhaps one that lives.
QUICK = ("--heartbeat-interval", "300ms", "--heartbeat-timeout", "1500ms")


@pytest.fixture
async def node(store_url: str) -> AsyncIterator[Node]:
    async with running(store_url) as started:
        yield started


@pytest.fixture
async def client(node: Node) -> AsyncIterator[Client]:
    async with Client(node.url) as made:
        yield made


async def enqueued(client: Client, count: int, milliseconds: int) -> list[JobHandle[Any]]:
    request = client.request
    return await client.enqueue_many(
        request("test.slow", [milliseconds], retry=5) for _ in range(count)
    )


async def ended(client: Client, jobs: Sequence[JobHandle[Any]]) -> list[Job]:
    """Wait for all jobs; each was completed once."""
    for job in jobs:
        await client.result(job, timeout_s=40)
    log = [event.subject async for event in client.event_log.list(types=["job.completed"])]
    assert Counter(log) == {job.id: 1 for job in jobs}
    return [await client.get(job.id) for job in jobs]


async def at_work(client: Client) -> dict[int, dict[str, Any]]:
    """The workers that hold jobs now, by process."""
    return {one["pid"]: one async for one in client.workers.list() if one["active_jobs"]}


async def test_the_jobs_of_a_killed_process_run_in_others(store_url: str) -> None:
    async with (
        running(store_url, *QUICK) as node,
        Client(node.url) as client,
        worker(node.url, "--workers", "2") as process,
    ):
        jobs = await enqueued(client, 60, 100)

        async def both() -> bool:
            return len(await at_work(client)) == 2

        await until(both, 20)
        os.kill(min(await at_work(client)), signal.SIGKILL)
        for job in await ended(client, jobs):
            errors = [error["type"] for error in job.errors or ()]
            assert set(errors) <= {"worker_death"}
            assert job.attempt == 1 + len(errors)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert sum("was killed by signal 9" in line for line in process.output) == 1


async def test_processes_that_are_recycled_lose_no_job(node: Node, client: Client) -> None:
    jobs = await enqueued(client, 40, 10)
    options = ("--workers", "2", "--max-jobs", "10", "--concurrency", "4")
    async with worker(node.url, *options, OJS_GRACE_PERIOD=20) as process:
        found = await ended(client, jobs)
        process.send(signal.SIGTERM)
        assert await process.code() == 0
    assert {(job.attempt, len(job.errors or ())) for job in found} == {(1, 0)}
    # Ten jobs each.
    assert len([one async for one in client.workers.list()]) >= 4
    assert sum("it has begun 10 jobs" in line for line in process.output) >= 3


async def test_what_runs_when_the_command_is_killed_is_finished(node: Node, client: Client) -> None:
    jobs = await enqueued(client, 4, 800)
    async with worker(node.url, "--workers", "2", OJS_GRACE_PERIOD=20) as process:

        async def all_run() -> bool:
            return len([job async for job in client.jobs.list(state="active")]) == len(jobs)

        await until(all_run, 20)
        process.send(signal.SIGKILL)
        found = await ended(client, jobs)

        async def gone() -> bool:
            states = {one["state"] async for one in client.workers.list()}
            return states == {"terminated"}

        await until(gone, 20)
    assert {(job.attempt, len(job.errors or ())) for job in found} == {(1, 0)}
