"""Locks held by another transaction: waits are bounded, and the event loop never waits."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.ops.engine import batch, group_commit
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import Store, StoreBusy
from tests.ops.bench import Bench, HandClock, enqueue, environment, rng
from tests.ops.engine.test_batch import Faulty, names
from tests.store.busy import impatient, locked

BUSY = StoreBusy("held")


@pytest.fixture
def store(store_url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with closing(impatient(store_url, clock, monkeypatch)) as store:
        yield store


def apply(store: Any, *ops: Any) -> batch.Committed:
    return batch.apply(store, Rules(), rng(), ops)


async def test_nobody_waits_for_each_of_many_requests_and_the_loop_for_none(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[bool, bool]] = []
    transaction = type(store).transaction

    def watched(self: Any, preload: Any = None, *, long_wait: bool = True) -> Any:
        begun.append((threading.current_thread() is threading.main_thread(), long_wait))
        return transaction(self, preload, long_wait=long_wait)

    monkeypatch.setattr(type(store), "transaction", watched)
    monkeypatch.setattr(group_commit, "HELD_UP_S", 0.0)
    engine = Engine(store, Rules(), environment(rng()))

    async def many() -> list[str]:
        requests = (engine.run(enqueue()) for _ in range(8))
        return names(await asyncio.gather(*requests, return_exceptions=True))

    with locked(store_url):
        assert await many() == ["Unavailable" if store.embedded else "LocksBusy"] * 8
        # A lock of SQLite covers the whole file; locked rows do not make PostgreSQL unavailable.
        assert bool(engine.availability.reason) == store.embedded
    # On PostgreSQL it could be the fault of one of them; two that waited alone tell that it is not.
    in_loop, in_thread, briefly = (True, False), (False, True), (False, False)
    assert begun == ([in_loop, in_thread] if store.embedded else [briefly] * 3)
    assert await many() == ["Enqueued"] * 8
    assert not engine.availability.reason
    await engine.close()


def test_one_by_one_ends_where_it_is_hopeless(bench: Bench) -> None:
    faulty = Faulty(bench.store, BUSY, None, BUSY, None, BUSY)
    committed = apply(faulty, *(enqueue() for _ in range(7)))
    if bench.store.embedded:
        # A lock of SQLite covers the whole file.
        assert names(committed.outcomes) == ["Unavailable"] * 7
        assert (faulty.tries, committed.refused) == (1, "held")
    else:
        done = ["Enqueued", "Unavailable"]
        assert names(committed.outcomes) == [*done, *done, *["Unavailable"] * 3]
        assert (faulty.tries, committed.refused, committed.wakes) == (5, None, {"q": 2})
        assert bench.counts() == {"available": 2}
    told = {(str(one), one.headers["Retry-After"]) for one in committed.outcomes[4:]}
    assert told == {("the store is busy: another transaction held a lock for too long", "1")}


def test_what_was_committed_before_is_told_as_done(bench: Bench) -> None:
    faulty = Faulty(bench.store, ValueError("poison"), None, BUSY, BUSY)
    outcomes = apply(faulty, *(enqueue() for _ in range(5))).outcomes
    assert names(outcomes) == ["Enqueued", *["Unavailable"] * 4]
    assert faulty.tries == (3 if bench.store.embedded else 4)
    assert bench.counts() == {"available": 1}
    assert bench.exists(outcomes[0].jobs[0].job.id)


def test_the_parts_of_a_call_are_as_hopeless_as_calls(bench: Bench) -> None:
    held = [bench.put() for _ in range(4)]
    bench.take("w", 4)
    call = SettleAndFetch(tuple(Ack(job_id, "w", 1) for job_id in held))
    poison = ValueError("poison")
    faulty = Faulty(bench.store, poison, poison, None, BUSY, BUSY)
    settled, *others = apply(faulty, call, enqueue(), enqueue()).outcomes
    assert names(settled.settled) == ["Change", *["Unavailable"] * 3]
    assert bench.counts()["completed"] == 1
    assert names(others) == ["Unavailable"] * 2
    assert faulty.tries == (4 if bench.store.embedded else 5)


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
def test_who_needs_what_somebody_holds_fails_alone(bench: Bench, store_url: str) -> None:
    first, second = bench.put(), bench.put()
    bench.take("w", 2)
    acks = Ack(first, worker_id="w"), Ack(second, worker_id="w")
    with psycopg.connect(store_url) as other:
        other.execute("SELECT FROM jobs WHERE id = %s FOR UPDATE", (first,))
        committed = bench.commit(*acks, enqueue(), enqueue())
        assert names(committed.outcomes) == ["Unavailable", "Change", "Enqueued", "Enqueued"]
        assert committed.refused is None
    assert bench.state(first) == "active"
    bench.ack(first, "w")
    assert bench.counts() == {"completed": 2, "available": 2}
