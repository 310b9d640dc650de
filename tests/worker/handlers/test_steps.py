"""Durable steps: run once for a job, whatever becomes of its deliveries."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from ojs_server.app import Application, Server
from ojs_worker import BlockingContext, Context, RetryPolicy, Worker
from ojs_worker.testing import AsgiTransport
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK

BOUND_S = 30
AGAIN = RetryPolicy(max_attempts=5, initial_interval=0.01, jitter=False)


@dataclass
class Receipt:
    total: int


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


@pytest.fixture
def worker(server: Server) -> Worker:
    return Worker(transport=AsgiTransport(Application(server)), **QUICK)


async def test_a_step_that_has_ended_is_not_run_again(worker: Worker) -> None:
    ran: list[str] = []

    async def charge(order: int) -> Receipt:
        ran.append("charge")
        return Receipt(order * 2)

    def ship() -> tuple[int, ...]:
        ran.append("ship")
        if ran.count("ship") < 3:
            raise ConnectionError("away")
        return (1, 2)

    @worker.job("order.pay", retry=AGAIN)
    async def pay(ctx: Context, order: int) -> list[Any]:
        receipt = await ctx.step("charge", charge, order)
        assert_type(receipt, Receipt)
        assert receipt == Receipt(8)
        # Without an annotation a result is as JSON has it, even when the step has just run.
        plain: Any = await ctx.step("plain", lambda: (1, 2))
        assert plain == [1, 2]
        shipped = await ctx.step("ship", ship)
        assert shipped == (1, 2)
        return [receipt.total, ctx.last_checkpoint]

    async with worker:
        assert await (await pay.enqueue(4)).result(timeout_s=BOUND_S) == [8, None]
    assert ran == ["charge", "ship", "ship", "ship"]


async def test_steps_and_the_checkpoint_of_the_handler_go_together(worker: Worker) -> None:
    seen: list[Any] = []

    @worker.job("a.b", retry=AGAIN)
    def handler(ctx: BlockingContext) -> int:
        seen.append((ctx.last_checkpoint, ctx.resume(Receipt)))
        first = ctx.step("first", lambda: len(seen))
        ctx.checkpoint(Receipt(len(seen)))
        ctx.step("second", lambda: None)
        if len(seen) < 3:
            raise ConnectionError("away")
        return first

    async with worker:
        assert await (await handler.enqueue()).result(timeout_s=BOUND_S) == 1
    assert seen == [(None, None), ({"total": 1}, Receipt(1)), ({"total": 2}, Receipt(2))]


async def test_steps_may_run_side_by_side(worker: Worker) -> None:
    ran: list[int] = []

    @worker.job("a.b", retry=AGAIN)
    async def handler(ctx: Context) -> list[int]:
        async def one(number: int) -> int:
            ran.append(number)
            await asyncio.sleep(0)
            return number

        found = await asyncio.gather(*(ctx.step(f"n{n}", one, n) for n in range(9)))
        if ctx.attempt == 1:
            raise ConnectionError("away")
        return list(found)

    async with worker:
        assert await (await handler.enqueue()).result(timeout_s=BOUND_S) == list(range(9))
    assert sorted(ran) == list(range(9))


async def test_two_steps_of_one_name_are_a_mistake_that_is_told(worker: Worker) -> None:
    @worker.job("a.b", retry=1)
    async def handler(ctx: Context) -> None:
        for _ in range(2):
            await ctx.step("same", lambda: 1)

    async with worker:
        ended = await (await handler.enqueue()).wait(timeout_s=BOUND_S)
    assert ended.error["message"] == (
        "this job has a step 'same' already; in a loop, add a number to it"
    )
