"""A worker with handlers of every kind, and a sandbox for it."""

from collections.abc import Iterator

import pytest

from ojs_worker import BlockingContext, Context, Discard, RetryPolicy, Snooze, Worker
from ojs_worker.testing import Sandbox

START = "2030-01-31T09:00:00Z"


@pytest.fixture
def worker() -> Worker:
    """A worker whose configured server does not exist."""
    worker = Worker("http://127.0.0.1:9", queues=["default", "mail"])

    @worker.job("email.send", queue="mail")
    async def send(ctx: Context, to: str, subject: str = "Hello") -> dict[str, str]:
        ctx.progress(0.5, "half")
        return {"to": to, "subject": subject}

    @worker.job("sum.up")
    def sum_up(*numbers: int) -> int:
        return sum(numbers)

    @worker.job("fail.twice", retry=RetryPolicy(max_attempts=3, initial_interval=60, jitter=False))
    async def fail_twice(ctx: Context) -> int:
        saved = ctx.last_checkpoint or {"tries": 0}
        await ctx.checkpoint({"tries": saved["tries"] + 1})
        if ctx.attempt < 3:
            raise ValueError(f"attempt {ctx.attempt}")
        return int(saved["tries"])

    @worker.job("give.up")
    def give_up() -> None:
        raise Discard("never", type="never.again")

    @worker.job("sleep.on")
    def sleep_on(ctx: BlockingContext) -> str:
        if not ctx.metadata.get("awake"):
            raise Snooze("1h")
        return "awake"

    @worker.job("signup")
    async def signup(to: str) -> None:
        await send.enqueue(to=to)

    return worker


@pytest.fixture
def ojs(worker: Worker) -> Iterator[Sandbox]:
    """A sandbox of that worker, at a moment that is always the same."""
    with Sandbox(worker, at=START) as sandbox:
        yield sandbox
