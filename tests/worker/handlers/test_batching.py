"""Handlers that do many jobs in one call."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from ojs_server.app import Application, Server
from ojs_worker import Context, Discard, JobHandle, Router, Worker, depends
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK

BOUND_S = 30


def session() -> str:
    return "a session"


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


@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_has_its_dependencies_once_and_the_worker_its_own(
    worker: Worker, fails: bool
) -> None:
    seen: list[str] = []

    @worker.lifespan
    async def pool() -> AsyncIterator[str]:
        seen.append("open")
        yield "pool"
        seen.append("close")

    async def session(pool: str = depends(pool, per="worker")) -> AsyncIterator[str]:
        seen.append("begin")
        try:
            yield f"session of {pool}"
        except OSError:
            seen.append("roll back")
            raise
        seen.append("commit")

    @worker.many("row.insert", size=2, wait="30s", retry=1)
    async def insert(rows: list[int], db: str = depends(session)) -> list[str]:
        if fails:
            raise OSError("no disk")
        return [f"{row} in {db}" for row in rows]

    jobs = await worker.client.enqueue_many(insert.request(n) for n in range(4))
    async with worker:
        ended = [await job.wait(timeout_s=BOUND_S) for job in jobs]
    if fails:
        assert {one.error["message"] for one in ended} == {"no disk"}
    else:
        assert [one.result for one in ended] == [f"{n} in session of pool" for n in range(4)]
    last = "roll back" if fails else "commit"
    assert sorted(seen[1:-1]) == sorted(["begin", last] * 2)
    assert (seen[0], seen[-1]) == ("open", "close")


async def test_a_dependency_that_cannot_be_made_fails_all_jobs_of_the_call(worker: Worker) -> None:
    def broken() -> str:
        raise OSError("no database")

    @worker.many("row.insert", size=2, wait="30s", retry=1)
    async def insert(rows: list[int], db: str = depends(broken)) -> list[str]:
        return [db] * len(rows)

    jobs = await worker.client.enqueue_many(insert.request(n) for n in range(2))
    async with worker:
        ended = [await job.wait(timeout_s=BOUND_S) for job in jobs]
        assert {one.error["message"] for one in ended} == {"no database"}
    with worker.override(broken, session):
        jobs = await worker.client.enqueue_many(insert.request(n) for n in range(2))
        async with worker:
            found = [await job.result(timeout_s=BOUND_S) for job in jobs]
    assert found == ["a session", "a session"]


async def test_what_a_call_needs_has_ended_before_what_the_worker_keeps(worker: Worker) -> None:
    began = asyncio.Event()
    seen: list[str] = []

    async def pool() -> AsyncIterator[None]:
        yield
        seen.append("pool")

    async def session(pool: None = depends(pool, per="worker")) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.sleep(0)
            seen.append("session")

    @worker.many("row.wait", size=2, wait="30s")
    async def wait(rows: list[int], db: None = depends(session)) -> None:
        began.set()
        await asyncio.Event().wait()

    jobs = await worker.client.enqueue_many(wait.request(n) for n in range(2))
    async with worker, asyncio.timeout(BOUND_S):
        await began.wait()
        for job in jobs:
            await job.cancel()
    assert seen == ["session", "pool"]


async def test_a_direct_call_does_one_job_and_takes_dependencies_as_arguments() -> None:
    @Worker().many("row.insert")
    async def insert(rows: list[int], db: str = depends(session)) -> list[Any]:
        return [f"{row} in {db}" if row else Discard("no row") for row in rows]

    assert await insert(1, db="a test") == await insert(1, "a test") == "1 in a test"
    with pytest.raises(Discard, match="no row"):
        await insert(0, "a test")
    with pytest.raises(TypeError, match="give `db`"):
        await insert(1)


def test_what_cannot_do_many_jobs_is_told_where_it_is_written() -> None:
    worker = Worker()

    def of_job(ctx: Context) -> str:
        return ctx.job.id

    def plain(rows: list[int]) -> None: ...

    async def none(db: str = depends(session)) -> None: ...

    async def two(rows: list[int], more: int) -> None: ...

    async def of_one(rows: list[int], db: str = depends(of_job)) -> None: ...

    wrong: Any
    for wrong in (plain, none, two, of_one):
        with pytest.raises(TypeError, match="a handler of many jobs"):
            worker.many("a.b")(wrong)
