"""Checks that the store answers."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

from ojs_server.ops.engine.pulse import Pulse


async def test_who_waited_for_a_look_is_told_of_it_although_the_next_one_has_begun() -> None:
    answers = threading.Semaphore(0)

    def ping() -> None:
        assert answers.acquire(timeout=60)

    pulse = Pulse(ping, ThreadPoolExecutor(1))
    first = asyncio.create_task(pulse.beats(60))
    await asyncio.sleep(0)

    # The first one that is answered asks again before the others are answered.
    async def ask_again() -> bool:
        await pulse.beats(60)
        return await pulse.beats(60)

    again = asyncio.create_task(ask_again())
    late = asyncio.create_task(pulse.beats(60))
    await asyncio.sleep(0)
    answers.release()
    assert await first
    assert await late
    answers.release()
    assert await again
    await pulse.close()


async def test_an_error_after_the_last_caller_has_left_is_no_failure() -> None:
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, about: failures.append(about))
    go = threading.Event()

    def ping() -> None:
        assert go.wait(60)
        raise ConnectionError("the store is away")

    pulse = Pulse(ping, ThreadPoolExecutor(1))
    assert not await pulse.beats(0)
    go.set()
    await pulse.close()
    # The thread has told the loop, which delivers it in its next turns.
    for _ in range(3):
        await asyncio.sleep(0)
    del pulse
    gc.collect()
    assert failures == []
