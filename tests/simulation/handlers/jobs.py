"""Handlers of plain jobs."""

import asyncio
from typing import Any, NoReturn

from ojs_worker import Context, Discard, Retry, Snooze, Worker
from tests.simulation.handlers.runs import Runs

Manner = dict[str, Any]


def add(worker: Worker, runs: Runs) -> None:
    """Give a worker the handlers.

    Their arguments are a key, seconds, the number of deliveries that end badly before one is well,
    and how: the `end` of the bad ones, `checkpoints` to save, and for how many seconds the handler
    is `stubborn`: it does not stop when it is cancelled. `block` is in a thread, where no time
    passes.
    """

    @worker.job("work")
    async def work(
        ctx: Context, key: str, seconds: float, fails: int, manner: Manner | None = None
    ) -> str:
        manner = manner or {}
        start = runs.begin(ctx, key)
        try:
            checkpoints = manner.get("checkpoints", 0)
            for number in range(checkpoints):
                await asyncio.sleep(seconds / (checkpoints + 1))
                await ctx.checkpoint({"number": number, "attempt": ctx.job.attempt})
            await asyncio.sleep(seconds / (checkpoints + 1))
        except asyncio.CancelledError:
            try:
                await asyncio.sleep(manner.get("stubborn_s", 0))
            finally:
                runs.end(start, "stopped")
            raise
        if ctx.job.attempt <= fails:
            runs.end(start, manner.get("end", "failed"))
            _end(ctx.job.attempt, manner)
        runs.end(start, "done")
        return key

    @worker.job("block")
    def block(ctx: Any, key: str, seconds: float, fails: int, manner: Manner | None = None) -> str:
        manner = manner or {}
        start = runs.begin(ctx, key)
        if ctx.job.attempt <= fails:
            runs.end(start, manner.get("end", "failed"))
            _end(ctx.job.attempt, manner)
        runs.end(start, "done")
        return key


def _end(attempt: int, manner: Manner) -> NoReturn:
    why = f"attempt {attempt}"
    match manner.get("end"):
        case "error":
            raise ValueError(why)
        case "discard":
            raise Discard(why)
        case "dead letter":
            raise Discard(why, dead_letter=True)
        case "snooze":
            raise Snooze(manner["snooze_s"], why)
        case _:
            raise Retry(why)
