"""Wake-ups of waiting fetches: one for each job, first come, first served, none lost."""

import asyncio
from collections.abc import Iterable

from ojs_server.ops.engine.wakeups import Waiter, Wakeups


def waiters_for(wakeups: Wakeups, *queues: tuple[str, ...]) -> list[Waiter]:
    return [wakeups.enter(names) for names in queues]


def woken(waiters: Iterable[Waiter]) -> list[bool]:
    return [waiter.woken for waiter in waiters]


def test_one_waiter_is_woken_for_each_job_in_the_order_of_coming() -> None:
    wakeups = Wakeups()
    waiters = waiters_for(wakeups, ("a",), ("a",), ("a",))
    wakeups.wake({"a": 1})
    assert woken(waiters) == [True, False, False]
    wakeups.wake({"a": 1})
    assert woken(waiters) == [True, True, False]
    wakeups.wake({"a": 5})
    assert woken(waiters) == [True, True, True]


def test_a_wake_reaches_only_those_who_wait_for_the_queue() -> None:
    wakeups = Wakeups()
    waiters = waiters_for(wakeups, ("a",), ("b",), ("c", "b"))
    wakeups.wake({"b": 2, "none": 1})
    assert woken(waiters) == [False, True, True]
    wakeups.wake({"a": 0})
    assert woken(waiters) == [False, True, True]


def test_a_picky_waiter_never_uses_up_a_wake() -> None:
    wakeups = Wakeups()
    first = wakeups.enter(("a",), picky=True)
    second = wakeups.enter(("a",), picky=True)
    plain = waiters_for(wakeups, ("a",), ("a",))
    wakeups.wake({"a": 1})
    assert woken([first, second, *plain]) == [True, True, True, False]


def test_an_unused_wake_is_handed_on() -> None:
    wakeups = Wakeups()
    first, second, third = waiters_for(wakeups, ("a", "b"), ("b",), ("a",))
    wakeups.wake({"a": 1})
    wakeups.leave(first)
    assert woken([second, third]) == [True, True]


def test_a_used_wake_is_not_handed_on() -> None:
    wakeups = Wakeups()
    first, second = waiters_for(wakeups, ("a",), ("a",))
    wakeups.wake({"a": 1})
    first.clear()
    wakeups.leave(first)
    assert not second.woken


def test_who_left_is_not_woken_and_leaves_no_trace() -> None:
    wakeups = Wakeups()
    first, second = waiters_for(wakeups, ("a", "b", "a"), ("b",))
    assert len(wakeups) == 2
    wakeups.leave(first)
    wakeups.leave(first)
    assert wakeups.queues() == ["b"]
    assert len(wakeups) == 1
    wakeups.wake({"a": 1, "b": 1})
    assert woken([first, second]) == [False, True]
    wakeups.leave(second)
    assert wakeups.queues() == []


def test_everybody_can_be_woken() -> None:
    wakeups = Wakeups()
    waiters = waiters_for(wakeups, ("a",), ("b",), ("c",))
    wakeups.wake_all(["a", "nowhere"])
    assert woken(waiters) == [True, False, False]
    wakeups.wake_all()
    assert woken(waiters) == [True, True, True]


def test_the_first_who_waits_is_noticed() -> None:
    wakeups = Wakeups()
    noticed: list[int] = []
    wakeups.on_first = lambda: noticed.append(1)
    first, second = waiters_for(wakeups, ("a",), ("b",))
    assert len(noticed) == 1
    wakeups.leave(first)
    wakeups.leave(second)
    wakeups.enter(("a",))
    assert len(noticed) == 2


async def test_waiting_ends_with_the_wake() -> None:
    wakeups = Wakeups()
    (waiter,) = waiters_for(wakeups, ("a",))
    waiting = asyncio.create_task(waiter.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    wakeups.wake({"a": 1})
    async with asyncio.timeout(30):
        await waiting


def test_closing_wakes_everybody_now_and_later() -> None:
    wakeups = Wakeups()
    waiters = waiters_for(wakeups, ("a",), ("b",))
    wakeups.close()
    assert woken([*waiters, wakeups.enter(("c",))]) == [True, True, True]
    assert wakeups.closed


def test_who_names_no_queue_is_woken_by_every_queue_and_uses_up_no_wake() -> None:
    wakeups = Wakeups()
    everywhere, plain = waiters_for(wakeups, (), ("a",))
    assert len(wakeups) == 2
    assert (wakeups.everywhere, wakeups.queues()) == (True, ["a"])
    wakeups.wake({"a": 0})
    assert woken([everywhere, plain]) == [False, False]
    wakeups.wake({"a": 1})
    assert woken([everywhere, plain]) == [True, True]
    everywhere.clear()
    wakeups.wake({"b": 1})
    assert woken([everywhere]) == [True]
    everywhere.clear()
    wakeups.wake_all()
    assert woken([everywhere]) == [True]
    wakeups.leave(everywhere)
    assert (wakeups.everywhere, len(wakeups)) == (False, 1)
    assert wakeups.queues() == ["a"]


def test_the_first_who_waits_everywhere_is_noticed() -> None:
    wakeups = Wakeups()
    seen: list[str] = []
    wakeups.on_first = lambda: seen.append("first")
    waiters = waiters_for(wakeups, (), (), ("a",))
    assert seen == ["first"]
    for waiter in waiters:
        wakeups.leave(waiter)
    assert len(wakeups) == 0
    waiters_for(wakeups, ())
    assert seen == ["first", "first"]


def test_what_was_not_enough_for_one_is_passed_on_to_the_next_that_came_later() -> None:
    wakeups = Wakeups()
    waiters = waiters_for(wakeups, ("a",), ("a", "b"), ("b",), ("a",))
    wakeups.pass_on(waiters[1])
    assert woken(waiters) == [False, False, True, True]
    wakeups.pass_on(waiters[0])
    assert woken(waiters) == [False, True, True, True]
    wakeups.pass_on(waiters[3])
    assert woken(waiters) == [False, True, True, True]
