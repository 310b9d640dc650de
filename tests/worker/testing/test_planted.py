"""Failures that a test plants."""

from typing import Any

import pytest

from ojs_worker import Job, Retry
from ojs_worker.testing.planted import Plants


async def called() -> str:
    return "called"


async def deliver(plants: Plants, type: str = "a.b") -> Any:
    return await plants.layer(Job(id="1", type=type), None, called)


async def test_the_next_deliveries_of_a_type_fail_and_no_other() -> None:
    plants = Plants()
    plants.next("a.b", OSError("down"), 2)
    for _ in range(2):
        assert await deliver(plants, "c.d") == "called"
        with pytest.raises(OSError, match="down"):
            await deliver(plants)
    assert await deliver(plants) == "called"


async def test_all_deliveries_fail_after_those_that_were_planted_one_by_one() -> None:
    plants = Plants()
    plants.all("a.b", Retry)
    plants.next("a.b", "first", 1)
    with pytest.raises(RuntimeError, match="first"):
        await deliver(plants)
    for _ in range(3):
        with pytest.raises(Retry):
            await deliver(plants)
    plants.clear()
    assert await deliver(plants) == "called"


async def test_each_failure_is_an_object_of_its_own() -> None:
    plants, given = Plants(), ValueError("again")
    plants.next("a.b", given, 2)
    raised = []
    for _ in range(2):
        with pytest.raises(ValueError, match="again") as caught:
            await deliver(plants)
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert given.__traceback__ is None


def test_a_failure_happens_once_at_least() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Plants().next("a.b", "x", 0)
