"""Clean-up goes on when the one who waits for it is cancelled."""

import asyncio

import pytest

from conformance.tasks import side_by_side, to_the_end


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


async def test_no_more_than_so_many_work_at_once() -> None:
    working, most = 0, 0

    async def work() -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(0)
        working -= 1

    await side_by_side([work] * 5, 2)
    assert (working, most) == (0, 2)


async def test_an_error_of_one_is_raised_when_the_others_have_ended() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise OSError("no such process")

    with pytest.raises(OSError, match="no such process"):
        await side_by_side([waits, fails], 2)
    assert ended == ["waits"]


async def test_broken_off_it_waits_for_the_clean_up_of_each() -> None:
    cleaned: list[int] = []

    async def work(turns: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(turns):
                await asyncio.sleep(0)
            cleaned.append(turns)

    running = asyncio.create_task(side_by_side([lambda: work(1), lambda: work(9)], 2))
    for _ in range(3):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == [1, 9]
