"""A bounded wait ends with its awaitable, with time, or with a cancellation; none is lost."""

import asyncio

import pytest

from ojs_server.ops.time_limit import at_most


async def test_it_ends_with_what_was_waited_for() -> None:
    wake = asyncio.Event()
    waiting = asyncio.create_task(at_most(wake.wait(), 60))
    await asyncio.sleep(0)
    wake.set()
    await waiting


async def test_it_ends_with_time() -> None:
    wake = asyncio.Event()
    await at_most(wake.wait(), 0)
    assert not wake.is_set()


async def test_a_cancellation_that_meets_a_wake_up_is_not_lost() -> None:
    wake = asyncio.Event()
    waiting = asyncio.create_task(at_most(wake.wait(), 60))
    await asyncio.sleep(0)
    wake.set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
