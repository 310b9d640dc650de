"""Handlers and what a type checker is to know of them: mypy by `make lint`, pyright by
`make test-clients`."""

from dataclasses import dataclass
from typing import Any, assert_type

from ojs_worker import (
    BlockingClient,
    BlockingContext,
    BlockingJobHandle,
    Client,
    Context,
    CronEntry,
    Job,
    JobHandle,
    Progress,
    RateLimit,
    Router,
    Worker,
    Workflow,
    chain,
    depends,
)

worker = Worker()
router = Router(queue="orders")


@dataclass
class Receipt:
    """The result of a payment."""

    total: int


async def charge(order: int) -> Receipt:
    """A step."""
    return Receipt(order)


@worker.job("order.pay", retry=3, no_retry_on=ValueError)
async def pay(ctx: Context, order: int) -> Receipt:
    """A coroutine with a context."""
    assert_type(await ctx.step("charge", charge, order), Receipt)
    assert_type(await ctx.step("count", len, [order]), int)
    assert_type(ctx.resume(Receipt), Receipt | None)
    return Receipt(order)


@router.job("report.make", rate_limit=RateLimit(key="tenant:{tenant}", concurrency=2))
def make(ctx: BlockingContext, pages: int, tenant: str = "acme") -> list[Receipt]:
    """A function with a context."""
    assert_type(ctx.step("count", len, [pages]), int)
    return []


@dataclass
class Resize:
    """A handler class, whose fields are the arguments."""

    width: int

    async def run(self, ctx: Context) -> Receipt:
        """Do the job."""
        return Receipt(self.width)


resize = worker.job("image.resize")(Resize)


@router.cron("@daily", keep_days=30)
@worker.job("rows.prune")
def prune(keep_days: int) -> None:
    """A function without a context."""


def currency() -> str:
    """Make a dependency."""
    return "EUR"


@worker.many("row.insert", size=100)
async def insert(rows: list[Receipt], unit: str = depends(currency)) -> list[str]:
    """One call for many jobs."""
    return [f"{row.total} {unit}" for row in rows]


async def producer(client: Client) -> None:
    """Enqueue, and look at what comes."""
    job = await pay.enqueue(4)
    assert_type(job, JobHandle[Receipt])
    assert_type(await job.result(timeout_s=5), Receipt)
    assert_type(await job.wait(), Job)
    assert_type(await job.status(), str)
    assert_type(await job.progress(), Progress)
    assert_type(await job.cancel(), Job)
    assert_type(make.enqueue_blocking(pages=3), BlockingJobHandle[list[Receipt]])
    assert_type(await (await make.enqueue(3, "other")).result(), list[Receipt])
    assert_type(await prune.enqueue(keep_days=3), JobHandle[None])
    assert_type(await insert.enqueue(Receipt(1)), JobHandle[str])
    assert_type(await insert(Receipt(1), unit="EUR"), str)
    assert_type(await resize.enqueue(width=80), JobHandle[Receipt])
    assert_type(await pay.options(delay="5m", queue="slow").enqueue(4), JobHandle[Receipt])
    assert_type(client.handle("id", type=Receipt), JobHandle[Receipt])
    assert_type(await client.enqueue("a.b", [1], delay="5m"), JobHandle[Any])
    assert_type(await client.start(chain(pay.request(1), prune.request(2))), Workflow)
    assert_type(await client.list_crons(), list[CronEntry])
    async for event in job.events():
        assert_type(event.type, str)
    async for listed in client.jobs.list(state="active"):
        assert_type(listed, Job)
    async for event in client.events(job=job):
        assert_type(event.type, str)
    assert_type(await client.result(job, type=Receipt), Receipt)
    assert_type(await client.get("id"), Job)
    assert_type(await client.within(5).cancel("id"), Job)
    assert_type(await client.enqueue_many([pay.request(4)]), list[JobHandle[Any]])
    assert_type(await client.trigger_cron("nightly"), JobHandle[Any])
    assert_type(await client.put_cron("nightly", "@daily", "a.b", overlap="skip"), CronEntry)


def blocking_producer(client: BlockingClient, job: BlockingJobHandle[Receipt]) -> None:
    """Enqueue without an event loop, and look at what comes."""
    assert_type(job.result(timeout_s=5), Receipt)
    assert_type(job.wait(), Job)
    assert_type(job.status(), str)
    assert_type(job.progress(), Progress)
    assert_type(client.handle("id", type=Receipt), BlockingJobHandle[Receipt])
    assert_type(client.enqueue("a.b", [1], delay="5m"), BlockingJobHandle[Any])
    assert_type(client.result(job, type=Receipt), Receipt)
    assert_type(client.within(5).cancel("id"), Job)
    assert_type(client.start(chain(pay.request(1), prune.request(2))), Workflow)
    assert_type(client.list_crons(), list[CronEntry])
    for event in client.events(job=job):
        assert_type(event.type, str)
    for event in job.events():
        assert_type(event.type, str)
    for listed in client.jobs.list(state="active"):
        assert_type(listed, Job)


def mistakes(client: Client, blocking: BlockingClient) -> None:
    """Arguments that do not fit; a checker that lets one pass says that its comment is unused."""
    client.enqueue("a.b", dela="5m")  # type: ignore[call-arg,unused-coroutine]
    blocking.enqueue("a.b", priority="high")  # type: ignore[arg-type]
    blocking.get(3)  # type: ignore[arg-type]
    pay.request("four")  # type: ignore[arg-type]
    make.request()  # type: ignore[call-arg]
    insert.request([Receipt(1)])  # type: ignore[arg-type]
    resize.request("wide")  # type: ignore[arg-type]
    pay.options(dela="5m")  # type: ignore[call-arg]
    pay.options(priority="high")  # type: ignore[arg-type]
    worker.job("a.b", dela="5m")  # type: ignore[call-arg]
    router.job("a.b", dela="5m")  # type: ignore[call-arg]
    chain(pay.request(1), dela="5m")  # type: ignore[call-arg]
