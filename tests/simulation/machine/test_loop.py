"""The simulated event loop: time advances by timers alone, and each process has a lane."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.simulation.machine.loop import Lane, SimulatedLoop, Stuck


def new_loop(seed: int = 1) -> SimulatedLoop:
    return SimulatedLoop(random.Random(seed))  # type: ignore[abstract]


def run(loop: SimulatedLoop, coroutine: Coroutine[Any, Any, None]) -> None:
    loop.run_until_complete(coroutine)


class Noted:
    """Notes of lanes, with the time of the world and the lane's clock."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.lines: list[tuple[str, float, float]] = []

    def __call__(self, what: str) -> None:
        self.lines.append((what, round(self.loop.now, 3), round(self.loop.time(), 3)))

    @property
    def order(self) -> list[str]:
        return [what for what, _, _ in self.lines]


async def ticking(noted: Noted, name: str, times: int) -> None:
    """Note each second, and the end."""
    try:
        for number in range(times):
            await asyncio.sleep(1)
            noted(f"{name} {number}")
    finally:
        noted(f"end of {name}")


def test_timers_are_run_in_their_order_without_a_wait() -> None:
    loop = new_loop()
    noted = Noted(loop)

    async def main() -> None:
        loop.call_later(86_400, noted, "late")
        loop.call_later(1, noted, "early")
        loop.call_later(2, noted, "cancelled").cancel()
        await asyncio.sleep(2 * 86_400)
        noted("end")

    run(loop, main())
    assert noted.lines == [
        ("early", 1, 1),
        ("late", 86_400, 86_400),
        ("end", 2 * 86_400, 2 * 86_400),
    ]


def test_equal_timers_are_run_in_the_order_in_which_they_were_set() -> None:
    loop = new_loop()
    noted = Noted(loop)

    async def main() -> None:
        for number in range(20):
            loop.call_at(5.0, noted, str(number))
        await asyncio.sleep(6)

    run(loop, main())
    assert noted.order == [str(number) for number in range(20)]


def test_what_waits_for_ever_is_told() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        run(new_loop(), main())


def played_by_three_lanes(seed: int) -> list[str]:
    loop = new_loop(seed)
    noted = Noted(loop)

    async def steps(name: str) -> None:
        for number in range(5):
            noted(f"{name}{number}")
            await asyncio.sleep(0)

    async def main() -> None:
        for name in "abc":
            loop.start(loop.lane(name, name), steps(name), name)
        await asyncio.sleep(1)

    run(loop, main())
    return noted.order


def test_lanes_take_turns_by_chance_and_each_keeps_its_order() -> None:
    plays = [played_by_three_lanes(seed) for seed in range(5)]
    assert played_by_three_lanes(0) == plays[0]
    assert len({tuple(play) for play in plays}) > 1
    for play in plays:
        for name in "abc":
            assert [step for step in play if step[0] == name] == [f"{name}{n}" for n in range(5)]


def test_nothing_of_a_killed_lane_runs_not_even_its_finally() -> None:
    loop = new_loop()
    noted = Noted(loop)
    told: list[str] = []

    async def main() -> None:
        lane = loop.lane("victim", "victim")
        lane.on_kill.append(lambda: told.append("killed"))
        loop.start(lane, ticking(noted, "victim", 10), "victim")
        loop.start(loop.lane("other", "other"), ticking(noted, "other", 4), "other")
        await asyncio.sleep(2.5)
        lane.kill()
        lane.kill()
        loop.post(lane, noted, "posted to the dead")
        await asyncio.sleep(20)

    run(loop, main())
    assert [line for line in noted.order if "victim" in line] == ["victim 0", "victim 1"]
    assert noted.order[-1] == "end of other"
    assert "posted to the dead" not in noted.order
    assert told == ["killed"]


def test_all_of_a_frozen_lane_waits_and_is_late() -> None:
    loop = new_loop()
    noted = Noted(loop)

    async def main() -> None:
        lane = loop.lane("frozen", "frozen")
        loop.start(lane, ticking(noted, "frozen", 3), "frozen")
        await asyncio.sleep(1.5)
        loop.freeze(lane)
        loop.post(lane, noted, "posted")
        await asyncio.sleep(10)
        assert noted.order == ["frozen 0"]
        loop.thaw(lane)
        await asyncio.sleep(5)

    run(loop, main())
    assert {what: now for what, now, _ in noted.lines} == {
        "frozen 0": 1.0,
        "posted": 11.5,
        "frozen 1": 11.5,
        "frozen 2": 12.5,
        "end of frozen": 12.5,
    }


def test_the_clock_of_a_suspended_lane_stands_still() -> None:
    loop = new_loop()
    noted = Noted(loop)

    async def main() -> None:
        lane = loop.lane("suspended", "suspended")
        loop.start(lane, ticking(noted, "suspended", 3), "suspended")
        await asyncio.sleep(1.5)
        loop.freeze(lane)
        await asyncio.sleep(10)
        loop.thaw(lane, suspended_s=10)
        await asyncio.sleep(5)

    run(loop, main())
    # Time, and the lane's clock: the second that had begun goes on where it was.
    assert noted.lines[:3] == [
        ("suspended 0", 1, 1),
        ("suspended 1", 12, 2),
        ("suspended 2", 13, 3),
    ]


def test_errors_that_nobody_handles_are_kept() -> None:
    loop = new_loop()

    async def fails() -> None:
        raise ValueError("nobody sees this")

    async def main() -> None:
        loop.start(loop.lane("one", "one"), fails(), "failing")
        await asyncio.sleep(1)

    run(loop, main())
    assert loop.errors == ["failing: ValueError('nobody sees this')"]


def test_tasks_and_timers_belong_to_the_lane_that_makes_them() -> None:
    loop = new_loop()
    noted = Noted(loop)

    async def parent() -> None:
        asyncio.get_running_loop().call_later(5, noted, "timer of the child")
        task = asyncio.create_task(ticking(noted, "child", 10))
        await task

    async def main() -> None:
        lane: Lane = loop.lane("one", "one")
        loop.start(lane, parent(), "parent")
        await asyncio.sleep(1.5)
        lane.kill()
        await asyncio.sleep(20)

    run(loop, main())
    assert noted.order == ["child 0"]
