"""The simulated event loop: time advances only by timers, and nothing runs outside it."""

import asyncio
import threading

import pytest

from tests.simulation.loop import Stuck, TurnedLoop


def test_alarms_ring_in_their_order_without_a_wait() -> None:
    rung: list[tuple[str, float]] = []

    async def ring() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(86_400, lambda: rung.append(("late", loop.time())))
        loop.call_later(1, lambda: rung.append(("early", loop.time())))
        await asyncio.sleep(2 * 86_400)
        rung.append(("end", loop.time()))

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        runner.run(ring())
    assert [name for name, _ in rung] == ["early", "late", "end"]
    assert [at for _, at in rung] == pytest.approx([1, 86_400, 2 * 86_400])


def test_what_waits_for_ever_is_told() -> None:
    runner = asyncio.Runner(loop_factory=TurnedLoop)
    with pytest.raises(Stuck):
        runner.run(asyncio.Event().wait())
    runner.close()


def test_what_would_have_a_thread_is_done_in_this_one() -> None:
    async def there() -> threading.Thread:
        return await asyncio.to_thread(threading.current_thread)

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        assert runner.run(there()) is threading.current_thread()
