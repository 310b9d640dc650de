"""Handles of enqueued jobs: results of the annotated type, states, progress and events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from typing import Any, assert_type

import pytest

from ojs_server.app import Application, Server
from ojs_worker import (
    BlockingClient,
    BlockingContext,
    Context,
    Discard,
    JobFailed,
    Progress,
    WaitTimeout,
    Worker,
)
from ojs_worker.errors import NotFound, UnexpectedAnswer
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.http.conftest import Serve
from tests.http.listening import on_a_socket

BOUND_S = 30


@dataclass
class Receipt:
    """A result."""

    total: int
    day: date


@dataclass
class Pages:
    """Data of a progress report."""

    pages: int


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.fixture
def worker(server: Server) -> Worker:
    return Worker(transport=AsgiTransport(Application(server)))


async def test_a_result_has_the_type_of_the_annotation(worker: Worker) -> None:
    @worker.job("order.pay")
    async def pay(ctx: Context, order: int) -> Receipt:
        return Receipt(order * 2, date(2030, 1, 31))

    @worker.job("sum.up")
    def sum_up(ctx: BlockingContext, numbers: list[int]) -> int:
        return sum(numbers)

    class MakeReport:
        pages: int

        async def run(self) -> list[Receipt]:
            return [Receipt(page, date(2030, 1, 1)) for page in range(self.pages)]

    # Checkers differ about decorators of classes.
    make: Any = worker.job("report.make")(MakeReport)

    @worker.job("any.thing")
    async def anything():  # type: ignore[no-untyped-def]
        return {"a": 1}

    async with worker:
        receipt = await (await pay.enqueue(4)).result(timeout_s=BOUND_S)
        assert_type(receipt, Receipt)
        assert receipt == Receipt(8, date(2030, 1, 31))
        total = await (await sum_up.enqueue([1, 2])).result(timeout_s=BOUND_S)
        assert_type(total, int)
        assert total == 3
        receipts = await (await make.enqueue(pages=2)).result(timeout_s=BOUND_S)
        assert [one.total for one in receipts] == [0, 1]
        assert await (await anything.enqueue()).result(timeout_s=BOUND_S) == {"a": 1}
        first, second = await worker.client.enqueue_many([pay.request(1), pay.request(2)])
        assert (await first.result(timeout_s=BOUND_S)).total == 2
        known = worker.client.handle(second.id, type=Receipt)
        assert (await known.result(timeout_s=BOUND_S)).total == 4


async def test_a_result_of_another_type_is_an_error_that_names_it(worker: Worker) -> None:
    @worker.job("a.b")
    async def lies() -> int:
        made: Any = "text"
        return made  # type: ignore[no-any-return]

    async with worker:
        job = await lies.enqueue()
        with pytest.raises(UnexpectedAnswer, match="the result is no int"):
            await job.result(timeout_s=BOUND_S)
        assert await worker.client.result(job) == "text"


async def test_a_handle_knows_state_progress_and_end(worker: Worker) -> None:
    goes_on = asyncio.Event()

    @worker.job("a.b")
    async def handler(ctx: Context) -> None:
        ctx.progress(0.5, "half", Pages(3))
        await goes_on.wait()
        raise Discard("no")

    job = await handler.enqueue()
    assert repr(job) == f"<JobHandle a.b {job.id}: available>"
    assert repr(job.job) == f"<Job a.b {job.id}: available, attempt 0, in default>"
    assert await job.progress() == Progress()
    assert Progress().data_as(Pages) is None
    with pytest.raises(WaitTimeout):
        await job.wait(timeout_s=0)
    async with worker, asyncio.timeout(BOUND_S):
        async for event in job.events(after="0"):
            if event.type == "job.progress":
                break
        found = await job.progress()
        assert (found.progress, found.message, found.data) == (0.5, "half", {"pages": 3})
        assert found.data_as(Pages) == Pages(3)
        assert await job.status() == "active"
        goes_on.set()
        assert (await job.wait()).error["message"] == "no"
        assert job.job.state == "discarded"
        with pytest.raises(JobFailed):
            await job.result()
    other = await handler.enqueue()
    assert (await other.cancel()).state == "cancelled"
    assert other != job
    assert worker.client.handle(other.id) == other


async def test_a_blocking_handle_does_the_same(server: Server) -> None:
    async with on_a_socket(server) as url:
        worker = Worker(url)

        @worker.job("a.b")
        async def handler(ctx: Context, number: int) -> Receipt:
            ctx.progress(1)
            return Receipt(number, date(2030, 1, 1))

        def work() -> None:
            job = handler.enqueue_blocking(3)
            seen = [event.type for event in job.events(after="0")]
            assert seen[-1] == "job.completed"
            receipt = job.result(timeout_s=BOUND_S)
            assert_type(receipt, Receipt)
            assert receipt.total == 3
            assert job.wait().state == job.status() == "completed"
            assert job.progress().progress == 1
            with BlockingClient(url) as client:
                (many,) = client.enqueue_many([client.request("c.d")])
                assert many.cancel().state == "cancelled"
                assert client.handle(job.id, type=Receipt).result() == receipt
                with pytest.raises(NotFound):
                    list(client.events(job="nobody"))
            worker.blocking_client.close()

        async with worker:
            await asyncio.to_thread(work)


async def test_the_events_of_a_handle_end_with_its_job(server: Server) -> None:
    async with on_a_socket(server) as url:
        worker = Worker(url)

        @worker.job("a.b")
        async def handler() -> None: ...

        async with worker, asyncio.timeout(BOUND_S):
            job = await handler.enqueue()
            assert [event.type async for event in job.events(after="0")][-1] == "job.completed"


def test_a_transport_without_streams_has_no_events() -> None:
    class Told:
        def send(self, request: Request) -> Reply:
            return Reply(500)

        def close(self) -> None: ...

    with BlockingClient(transport=Told()) as client, pytest.raises(NotFound, match="no streams"):
        next(client.events())


async def test_a_handler_and_its_client_say_what_they_are(worker: Worker) -> None:
    @worker.job("a.b")
    async def handler() -> None: ...

    assert repr(handler).startswith("<Handler of a.b: ")
