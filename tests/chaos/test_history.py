"""Tests of the counts by which kills are timed and recovery is checked."""

import asyncio

import pytest

from tests.chaos.history import Act, Fate, History


async def test_only_writes_that_were_sent_after_a_kill_tell_that_it_is_over() -> None:
    moments = iter(range(100))
    history = History(lambda: next(moments))
    before = history.begin(Act.ACK, "w", "j")
    history.strike("node", 0)
    after = history.begin(Act.ENQUEUE, "p", "k")
    refused = history.begin(Act.ENQUEUE, "p", "l")
    beat = history.begin(Act.BEAT, "w", "w")
    for exchange, status in ((before, 200), (refused, 409), (beat, 200)):
        history.end(exchange, Fate.ANSWERED, status)
    assert history.writes_accepted == 0
    history.end(after, Fate.ANSWERED, 201)
    assert history.writes_accepted == 1


async def test_a_kill_notes_the_writes_that_have_no_answer() -> None:
    history = History()
    one, _, _ = (history.begin(act, "c", "x") for act in (Act.ENQUEUE, Act.FAIL, Act.FETCH))
    history.strike("node", 2)
    history.end(one, Fate.BROKEN)
    history.strike("backend", 0)
    assert [(strike.writes, strike.commits) for strike in history.strikes] == [(2, 2), (1, 0)]


async def test_who_waits_for_writes_in_flight_is_woken_by_the_last_of_them() -> None:
    history = History()
    waiting = asyncio.create_task(history.reach(lambda: history.writes_in_flight >= 2, 30))
    history.begin(Act.ENQUEUE, "p", "j")
    await asyncio.sleep(0)
    assert not waiting.done()
    history.begin(Act.ENQUEUE, "p", "k")
    await waiting


async def test_who_waits_in_vain_is_told() -> None:
    with pytest.raises(TimeoutError):
        await History().reach(lambda: False, 0.01)
