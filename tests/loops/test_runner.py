"""Loops are kept alive, and end when they are told to."""

import asyncio
import logging

import pytest

from ojs_server.loops import runner
from ojs_server.loops.runner import Loops


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RESTART_S", 0)


async def test_a_loop_that_fails_or_returns_is_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = 0
    alive = asyncio.Event()

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("first")
        if runs == 2:
            return
        alive.set()
        await asyncio.Event().wait()

    loops = Loops()
    with caplog.at_level(logging.ERROR, "ojs.loops"):
        loops.start("probe", loop)
        async with asyncio.timeout(30):
            await alive.wait()
    await loops.stop()
    assert runs == 3
    (record,) = caplog.records
    assert "the loop probe failed" in record.getMessage()
    assert record.exc_info is not None


async def test_stopping_cancels_every_loop_and_waits_for_it() -> None:
    ended: list[str] = []
    entered = [asyncio.Event(), asyncio.Event()]

    async def loop(name: str, begun: asyncio.Event) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    loops = Loops()
    loops.start("a", lambda: loop("a", entered[0]))
    loops.start("b", lambda: loop("b", entered[1]))
    async with asyncio.timeout(30):
        for begun in entered:
            await begun.wait()
        await loops.stop()
        await loops.stop()
    assert sorted(ended) == ["a", "b"]
