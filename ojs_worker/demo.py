"""Handlers for demonstrations and conformance suites: `ojs-worker demo`."""

import asyncio
import time
from typing import Any

from ojs_worker.context import BlockingContext, Context
from ojs_worker.faults import Discard
from ojs_worker.worker import Worker

worker = Worker()


@worker.job("test.echo")
async def echo(*args: Any) -> list[Any]:
    """Return the arguments."""
    return list(args)


@worker.job("test.noop")
async def noop(*args: Any) -> None:
    """Do nothing."""


@worker.job("test.fail_once")
async def fail_once(ctx: Context, *args: Any) -> str:
    """Fail the first time."""
    return _fail_until(ctx, 2)


@worker.job("test.fail_twice")
async def fail_twice(ctx: Context, *args: Any) -> str:
    """Fail the first two times."""
    return _fail_until(ctx, 3)


@worker.job("test.fail_always")
async def fail_always(*args: Any) -> None:
    """Fail always."""
    raise RuntimeError("this handler always fails")


@worker.job("test.discard")
async def discard(*args: Any) -> None:
    """Fail without a retry."""
    raise Discard("this handler gives up")


@worker.job("test.slow")
async def slow(ctx: Context, *args: Any) -> float:
    """Take a while: the first argument in milliseconds, or a member of it; half a second else."""
    seconds = _milliseconds(args, 500) / 1000
    started = time.monotonic()
    await asyncio.sleep(seconds)
    return round(time.monotonic() - started, 3)


@worker.job("test.block")
def block(ctx: BlockingContext, *args: Any) -> float:
    """Take a while in a thread, like `test.slow`, and stop early if the job is cancelled."""
    seconds = _milliseconds(args, 500) / 1000
    started = time.monotonic()
    while (left := started + seconds - time.monotonic()) > 0 and not ctx.cancelled:
        time.sleep(min(left, 0.02))
    return round(time.monotonic() - started, 3)


@worker.job("test.timeout")
async def timeout(*args: Any) -> None:
    """Run for longer than any job may."""
    await asyncio.sleep(3600)


@worker.job("test.panic")
async def panic(*args: Any) -> None:
    """Fail as badly as a handler can."""
    raise SystemExit("this handler panics")


@worker.job("test.produce")
async def produce(*args: Any) -> dict[str, Any]:
    """Give an object as result: the first argument if that is one."""
    if args and isinstance(args[0], dict):
        return args[0]
    return {"produced": list(args)}


@worker.job("test.compute", run_in="process")
def compute(limit: int = 20_000) -> int:
    """Count primes, in a process."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


def _fail_until(ctx: Context, attempt: int) -> str:
    if ctx.attempt < attempt:
        raise RuntimeError(f"this handler fails until attempt {attempt}, this is {ctx.attempt}")
    return f"done at attempt {ctx.attempt}"


def _milliseconds(args: tuple[Any, ...], default: float) -> float:
    first = args[0] if args else None
    if isinstance(first, dict):
        names = ("duration_ms", "sleep_ms", "delay_ms", "ms")
        first = next((first[name] for name in names if name in first), None)
    return float(first) if isinstance(first, int | float) else default
