"""A store that is lost and comes back: errors for callers, metrics and log lines."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.availability import refusal
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.group_commit import MAX_BATCH
from ojs_server.ops.engine.probe import Probe
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import OutcomeUnknown, StaleWrite, Store, StoreBusy, StoreUnavailable
from tests.ops.bench import Bench, enqueue, environment, rng
from tests.ops.engine.test_batch import Faulty
from tests.ops.refusing import INNER, Refusing

BEAT = Beat("w", WorkerState.RUNNING, draining=False, active_ids=())
NOBODY_WAITS = Claim(("none",), 1)


@pytest.fixture
def refusing(store: Store) -> Refusing:
    return Refusing(store)


@pytest.fixture
async def engine(refusing: Any) -> AsyncIterator[Engine]:
    engine = Engine(refusing, Rules(), environment(rng()))
    yield engine
    refusing.flows.set()
    refusing.tells.set()
    await engine.close()


async def refused(engine: Engine, operation: Any) -> str:
    with pytest.raises(Unavailable) as error:
        await engine.run(operation)
    assert error.value.headers["Retry-After"] == "1"
    return error.value.message


def takes_changes(engine: Engine) -> bool:
    return engine.writable


async def test_a_change_that_is_refused_loses_the_store_until_one_is_written(
    engine: Engine, refusing: Refusing
) -> None:
    assert takes_changes(engine)
    refusing.refuses = True
    await refused(engine, enqueue())
    assert not takes_changes(engine)
    refusing.refuses = False
    # It writes nothing, and so it says nothing.
    await engine.run(NOBODY_WAITS)
    assert not takes_changes(engine)
    await engine.run(enqueue())
    assert takes_changes(engine)
    lost = [engine.availability.lost]
    engine.availability.probed((await engine.run(Probe())).where)
    lost.append(engine.availability.lost)
    assert lost == [True, False]


async def test_a_probe_says_who_takes_changes(engine: Engine, store: Store) -> None:
    where = (await engine.run(Probe())).where
    if store.embedded:
        assert where == store.location
    else:
        assert "127.0.0.1" in where


async def test_a_probe_has_to_reach_the_disk(engine: Engine, bench: Bench) -> None:
    """It changes nothing that anybody could see."""
    with bench.store.reader() as reader:
        before = reader.log_span()
    await engine.run(Probe())
    with bench.store.reader() as reader:
        assert reader.log_span() == before


async def test_the_log_says_once_that_the_store_is_lost_and_once_that_it_is_back(
    engine: Engine, refusing: Refusing, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        refusing.refuses = True
        for _ in range(20):
            await refused(engine, enqueue())
            await refused(engine, Probe())
        refusing.refuses = False
        for _ in range(2):
            engine.availability.probed((await engine.run(Probe())).where)
    lost, back = [record.getMessage() for record in caplog.records]
    assert lost == f"the store is lost: {INNER}"
    assert "the store is back after" in back


async def test_nobody_outside_hears_what_is_behind_the_server(
    engine: Engine, refusing: Refusing
) -> None:
    def read(reader: object) -> None:
        raise StoreUnavailable(INNER)

    refusing.refuses = True
    said = [await refused(engine, enqueue())]
    with pytest.raises(Unavailable) as error:
        await engine.read(read)
    said += [error.value.message]
    said += [refusal(kind(INNER)).message for kind in (OutcomeUnknown, StoreBusy, StaleWrite)]
    assert len(set(said)) == 4
    assert [message for message in said if "10.1.2.3" in message] == []


@pytest.mark.parametrize(
    ("ops", "refused_signs"),
    [
        ([BEAT], True),
        ([enqueue(), BEAT], True),
        ([SettleAndFetch((Ack("j"),))], True),
        ([Ack("j")], True),
        ([Probe()], True),
        ([enqueue(), enqueue()], False),
        ([SetPaused("q", paused=True)], False),
    ],
)
def test_calls_by_which_workers_are_heard_are_missed(
    bench: Bench, ops: list[Any], refused_signs: bool
) -> None:
    faulty: Any = Faulty(bench.store, *[StoreUnavailable("full")] * 9)
    assert batch.apply(faulty, Rules(), rng(), ops).refused_signs is refused_signs


def test_a_sweep_is_not_carried_out_behind_a_worker_that_called_in_vain(bench: Bench) -> None:
    full = StoreUnavailable("full")
    faulty: Any = Faulty(bench.store, full, None, full)
    sweep = Sweep(reachable_since=0, requested_at=bench.clock.now)
    committed = batch.apply(faulty, Rules(), rng(), [enqueue(), BEAT, sweep, enqueue()])
    done = ["Enqueued", "Unavailable", "Unavailable", "Enqueued"]
    assert [type(outcome).__name__ for outcome in committed.outcomes] == done
    assert committed.refused_signs


async def test_an_outcome_that_nobody_knows_is_counted(engine: Engine, refusing: Refusing) -> None:
    refusing.forgets = True
    refusing.tells.set()
    assert "did not confirm" in await refused(engine, enqueue())
    assert engine.availability.unknown == 1
    assert not takes_changes(engine)


@pytest.mark.parametrize("carried_out", [True, False])
async def test_while_the_store_is_asked_for_an_outcome_nobody_counts_as_silent(
    engine: Engine, refusing: Refusing, carried_out: bool
) -> None:
    refusing.forgets, refusing.carried_out = True, carried_out
    availability = engine.availability
    beating = asyncio.create_task(engine.run(BEAT))
    async with asyncio.timeout(30):
        while takes_changes(engine):  # noqa: ASYNC110
            await asyncio.sleep(0)
    before = availability.refused_signs
    missed = [availability.signs_refused_since(before)]
    refusing.tells.set()
    await asyncio.wait({beating})
    assert (beating.exception() is None) is carried_out
    assert availability.unknown == 0
    # Requests that waited for the answer could not be heard meanwhile.
    missed += [
        availability.signs_refused_since(before),
        availability.signs_refused_since(before + 1),
    ]
    assert missed == [True, True, False]


async def test_whoever_waits_for_a_store_that_is_away_is_refused_with_the_others(
    bench: Bench,
) -> None:
    """Each batch would wait for itself, one after the other."""
    away: Any = Faulty(bench.store, *[StoreUnavailable("away")] * 99, answers=False)
    engine = Engine(away, Rules(), environment(rng()))
    many = [engine.run(enqueue()) for _ in range(3 * MAX_BATCH)]
    outcomes = await asyncio.gather(*many, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    assert away.tries <= 2
    assert engine.depth == 0
    await engine.close()


async def test_a_store_that_hangs_is_found_out_without_it(
    engine: Engine, refusing: Refusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_server.ops.engine.engine.STALLED_S", 1e-9)
    refusing.flows.clear()
    waiting = asyncio.create_task(engine.run(enqueue()))
    async with asyncio.timeout(30):
        while takes_changes(engine):  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert not await engine.pulse.beats(0.01)
    refusing.flows.set()
    await waiting
    async with asyncio.timeout(30):
        assert await engine.pulse.beats(30)
    assert engine.writable


async def test_a_read_that_finds_no_thread_is_refused_in_time(
    engine: Engine, refusing: Refusing
) -> None:
    engine.read_s = 0.05
    refusing.flows.clear()
    reads = [engine.read(lambda reader: reader.now()) for _ in range(20)]
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*reads, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    refusing.flows.set()
    engine.read_s = 30
    assert await engine.read(lambda reader: reader.now())
