"""Clean-up goes on when the one who waits for it is cancelled."""

import asyncio

import pytest

from conformance.ending import to_the_end


async def test_the_outcome_is_handed_on() -> None:
    async def work() -> str:
        return "done"

    assert await to_the_end(work()) == "done"


async def test_an_error_is_handed_on() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise OSError("no such process")

    with pytest.raises(OSError, match="no such process"):
        await to_the_end(work())


async def test_it_ends_before_a_cancellation_does() -> None:
    goes, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await goes.wait()
        ended.set()

    waiting = asyncio.create_task(to_the_end(work()))
    for _ in range(2):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    goes.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
