"""Handlers of the steps of workflows, and of jobs that report their progress."""

import asyncio
from typing import Any

from ojs_worker import Context, Retry, Worker
from tests.simulation.handlers.runs import Runs
from tests.simulation.ledger import Handed, Report


def add(worker: Worker, runs: Runs) -> None:
    """Give a worker the handlers.

    `step` takes a key, seconds, and the number of attempts that fail; its result tells key and
    attempt. `report` takes a key, seconds, and the number of its reports.
    """

    @worker.job("step")
    async def step(ctx: Context, key: str, seconds: float, fails: int) -> dict[str, Any]:
        start = runs.begin(ctx, key)
        runs.ledger.handed.append(Handed(ctx.job.id, ctx.job.attempt, ctx.parent_results))
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            runs.end(start, "stopped")
            raise
        if ctx.job.attempt <= fails:
            runs.end(start, "failed")
            raise Retry(f"attempt {ctx.job.attempt}")
        runs.end(start, "done")
        return {"key": key, "attempt": ctx.job.attempt}

    @worker.job("report")
    async def report(ctx: Context, key: str, seconds: float, reports: int, fails: int) -> str:
        start = runs.begin(ctx, key)
        try:
            for number in range(1, reports + 1):
                await asyncio.sleep(seconds / reports)
                # Some reports go back: the server must not follow them.
                share = round(number / reports if number % 3 else (number - 2) / reports, 3)
                runs.ledger.reports.append(
                    Report(ctx.job.id, ctx.job.attempt, share, number, runs.loop.now)
                )
                ctx.progress(share, f"{number} of {reports}", {"number": number})
        except asyncio.CancelledError:
            runs.end(start, "stopped")
            raise
        if ctx.job.attempt <= fails:
            runs.end(start, "failed")
            raise Retry(f"attempt {ctx.job.attempt}")
        runs.end(start, "done")
        return key
