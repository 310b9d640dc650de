"""Calls at an interval: they are repeated, also while the store is away."""

import asyncio

from ojs_server.domain.errors import Unavailable
from ojs_server.loops.repeat import repeat


async def test_a_call_is_repeated_whatever_comes_of_it() -> None:
    outcomes = iter([True, False, True, True])
    done = asyncio.Event()

    async def call() -> None:
        answers = next(outcomes, None)
        if answers is None:
            done.set()
            await asyncio.Event().wait()
        if not answers:
            raise Unavailable("away")

    repeating = asyncio.create_task(repeat(call, 0))
    await asyncio.wait_for(done.wait(), 30)
    repeating.cancel()
