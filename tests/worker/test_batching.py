"""Handlers that do many jobs in one call."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from ojs_server.app import Application, Server
from ojs_worker import Discard, JobHandle, Router, Worker
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK

BOUND_S = 30


@dataclass
class Row:
    number: int


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.fixture
def worker(server: Server) -> Worker:
    return Worker(transport=AsgiTransport(Application(server)), **{**QUICK, "concurrency": 10})


async def test_jobs_are_done_together_and_each_gets_its_own_result(worker: Worker) -> None:
    calls: list[list[int]] = []

    @worker.many("row.insert", size=4, wait="30s", queue="rows")
    async def insert(rows: list[Row]) -> list[str]:
        calls.append([row.number for row in rows])
        return [f"row {row.number}" for row in rows]

    jobs = await worker.client.enqueue_many(insert.request(Row(n)) for n in range(8))
    async with worker:
        found = [await job.result(timeout_s=BOUND_S) for job in jobs]
    assert found == [f"row {n}" for n in range(8)]
    assert [len(call) for call in calls] == [4, 4]


async def test_a_type_checker_knows_argument_and_result(worker: Worker) -> None:
    @worker.many("row.insert")
    async def insert(rows: list[Row]) -> list[str]:
        return [f"row {row.number}" for row in rows]

    async with worker:
        job = await insert.enqueue(Row(1))
        assert_type(job, JobHandle[str])
        assert await job.result(timeout_s=BOUND_S) == "row 1"


async def test_few_jobs_do_not_wait_for_more_than_was_said(worker: Worker) -> None:
    @worker.many("row.count", size=100, wait=0.01)
    async def count(rows: list[int]) -> None:
        assert rows == [7]

    job = await count.enqueue(7)
    assert_type(job, JobHandle[None])
    async with worker:
        assert (await job.wait(timeout_s=BOUND_S)).state == "completed"


async def test_one_of_many_may_fail_by_itself(worker: Worker) -> None:
    router = Router(retry=1)

    @router.many("row.halve", size=3, wait="30s")
    async def halve(rows: list[int]) -> list[Any]:
        return [row // 2 if row % 2 == 0 else Discard(f"{row} is odd") for row in rows]

    worker.include(router)
    jobs = await worker.client.enqueue_many(halve.request(n) for n in (4, 5, 6))
    async with worker:
        ended = [await job.wait(timeout_s=BOUND_S) for job in jobs]
    assert [one.state for one in ended] == ["completed", "discarded", "completed"]
    assert (ended[0].result, ended[1].error["message"], ended[2].result) == (2, "5 is odd", 3)


@pytest.mark.parametrize("wrong", [[1], "ab", KeyError("lost")])
async def test_a_call_that_fails_fails_all_its_jobs(worker: Worker, wrong: Any) -> None:
    @worker.many("row.fail", size=2, wait="30s", retry=1)
    async def fail(rows: list[int]) -> list[int]:
        if isinstance(wrong, Exception):
            raise wrong
        found: list[int] = wrong
        return found

    jobs = await worker.client.enqueue_many(fail.request(n) for n in range(2))
    async with worker:
        ended = [await job.wait(timeout_s=BOUND_S) for job in jobs]
    messages = {one.error["message"] for one in ended}
    assert {one.state for one in ended} == {"discarded"}
    assert len(messages) == 1
    assert "lost" in messages.pop() or not isinstance(wrong, Exception)


async def test_a_cancelled_job_leaves_the_others_and_the_last_one_ends_the_call(
    worker: Worker,
) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @worker.many("row.wait", size=2, wait="30s")
    async def wait(rows: list[int]) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    jobs = await worker.client.enqueue_many(wait.request(n) for n in range(2))
    async with worker, asyncio.timeout(BOUND_S):
        await began.wait()
        await jobs[0].cancel()
        assert not ended.is_set()
        await jobs[1].cancel()
        await ended.wait()


def test_what_cannot_do_many_jobs_is_told_where_it_is_written() -> None:
    worker = Worker()

    def plain(rows: list[int]) -> None: ...

    async def two(rows: list[int], more: int) -> None: ...

    wrong: Any
    for wrong in (plain, two):
        with pytest.raises(TypeError, match="a handler of many jobs"):
            worker.many("a.b")(wrong)
