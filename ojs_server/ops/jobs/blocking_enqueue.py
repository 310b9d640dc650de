"""ENQUEUE that waits for room in a bounded queue with the strategy `block`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from ojs_server.domain.errors import QueueFull
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.wakeups import first
from ojs_server.ops.jobs.enqueue import Enqueue, Enqueued

# Default wait of a producer for room in a queue.
BLOCK_MS: Final = 5_000


async def enqueue(
    engine: Engine, op: Enqueue, wait_ms: int, gone: Callable[[], Awaitable[None]] | None = None
) -> Enqueued:
    """Store now, or as soon as there is room within `wait_ms`; raise QueueFull after that.

    The result of `gone` completes when the caller disconnects; then nothing is stored.
    """
    try:
        return await engine.run(op)
    except QueueFull as full:
        if not full.blocks or wait_ms <= 0:
            raise
    deadline = asyncio.get_running_loop().time() + wait_ms / 1000
    waiter = engine.producers.enter(tuple(sorted({draft.queue for draft in op.drafts})))
    left = asyncio.ensure_future(gone()) if gone is not None else None
    try:
        while True:
            # Before the attempt, so that room made during it is noticed.
            waiter.clear()
            try:
                enqueued = await engine.run(op)
                if not enqueued.created:
                    waiter.wake()
                return enqueued
            except QueueFull as still:
                # Room that is too small for this request may be enough for the next one.
                engine.producers.pass_on(waiter)
                remaining = deadline - asyncio.get_running_loop().time()
                if not still.blocks or remaining <= 0 or engine.producers.closed:
                    raise
                await first(waiter.wait(), left, remaining)
                if left is not None and left.done():
                    raise
            except BaseException:
                # The room is still there: `leave` passes the wake-up on.
                waiter.wake()
                raise
    finally:
        engine.producers.leave(waiter)
        if left is not None:
            left.cancel()
