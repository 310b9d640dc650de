"""Calls that threads would carry out: each is one step, at a moment by chance."""

import asyncio
import random
from collections.abc import Callable

import pytest

from ojs_server.environment import Inbox
from tests.simulation.machine.loop import SimulatedLoop
from tests.simulation.machine.threads import Pace, SimulatedExecutor, SimulatedThreads, drawn

SPAN = (0.001, 0.1)


def new_loop(seed: int = 1) -> SimulatedLoop:
    return SimulatedLoop(random.Random(seed))  # type: ignore[abstract]


def noting(loop: SimulatedLoop, noted: list[tuple[str, float]], name: str) -> Callable[[], str]:
    def call() -> str:
        noted.append((name, loop.now))
        return name

    return call


def test_times_lie_in_their_span_and_short_ones_are_likelier() -> None:
    chance = random.Random(1)
    times = [drawn(chance, SPAN) for _ in range(1000)]
    assert SPAN[0] <= min(times)
    assert max(times) <= SPAN[1]
    assert sorted(times)[500] < sum(SPAN) / 2 / 2


def test_as_many_calls_run_at_once_as_there_are_threads() -> None:
    loop = new_loop()
    executor = SimulatedExecutor(2, random.Random(1), (1.0, 1.0))
    noted: list[tuple[str, float]] = []

    async def main() -> None:
        calls = [executor.run(loop, noting(loop, noted, str(number))) for number in range(5)]
        assert await asyncio.gather(*calls) == ["0", "1", "2", "3", "4"]

    loop.run_until_complete(main())
    # A call takes a second, and a quarter of one until its thread is free.
    assert [round(at, 2) for _, at in noted] == [1.0, 1.0, 2.25, 2.25, 3.5]


def test_an_error_reaches_the_caller_and_frees_the_thread() -> None:
    loop = new_loop()
    executor = SimulatedExecutor(1, random.Random(1), SPAN)

    def fails() -> None:
        raise ValueError("no")

    async def main() -> None:
        with pytest.raises(ValueError, match="no"):
            await executor.run(loop, fails)
        assert await executor.run(loop, lambda: 7) == 7

    loop.run_until_complete(main())


def test_a_call_is_carried_out_although_its_caller_is_gone() -> None:
    loop = new_loop()
    noted: list[tuple[str, float]] = []

    async def main() -> None:
        future = loop.run_in_executor(
            SimulatedExecutor(1, random.Random(1), SPAN), noting(loop, noted, "call")
        )
        future.cancel()
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert [name for name, _ in noted] == ["call"]


def test_a_thread_ends_with_its_process() -> None:
    loop = new_loop()
    executor = SimulatedExecutor(1, random.Random(1), (1.0, 1.0))
    noted: list[tuple[str, float]] = []

    async def call() -> None:
        await executor.run(loop, noting(loop, noted, "call"))

    async def main() -> None:
        lane = loop.lane("one", "one")
        loop.start(lane, call(), "call")
        await asyncio.sleep(0.5)
        lane.kill()
        await asyncio.sleep(5)

    loop.run_until_complete(main())
    assert noted == []


def test_an_inbox_does_one_thing_after_the_other() -> None:
    loop = new_loop()
    done: list[tuple[str, float]] = []
    threads = SimulatedThreads(loop, random.Random(1), Pace(commit_s=(1.0, 1.0)))

    async def main() -> None:
        def do(item: str) -> None:
            done.append((item, round(loop.now, 2)))

        inbox: Inbox[str] = threads.inbox("writer", do)
        for item in "abc":
            inbox.put(item)
        assert done == []
        await asyncio.sleep(2.5)
        assert done == [("a", 1.0), ("b", 2.0)]
        inbox.close()

    loop.run_until_complete(main())
    assert [item for item, _ in done] == ["a", "b", "c"]


def test_what_is_put_while_something_is_done_waits_for_its_end() -> None:
    loop = new_loop()
    done: list[str] = []
    threads = SimulatedThreads(loop, random.Random(1), Pace())

    async def main() -> None:
        def do(item: str) -> None:
            if item == "first":
                inbox.put("second")
            done.append(item)

        inbox: Inbox[str] = threads.inbox("writer", do)
        inbox.put("first")
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert done == ["first", "second"]
