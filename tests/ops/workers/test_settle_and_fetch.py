"""Settling many jobs and fetching the next in one transaction."""

import asyncio
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.job import Change
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail, Repeated
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch, SettledAndFetched
from ojs_server.store.base import OutcomeUnknown, StaleWrite
from tests.ops.bench import Bench, enqueue
from tests.ops.engine.test_batch import Faulty, commit

NOBODY = "0190a0f0-0000-7000-8000-00000000000f"


def ack(job_id: str, attempt: int = 1, worker: str = "w", result: bytes = b"1") -> Ack:
    return Ack(job_id, worker, attempt, result)


def fail(job_id: str, attempt: int = 1, worker: str = "w", **given: Any) -> Fail:
    return Fail(job_id, parse_fault({"message": "boom"}), worker, attempt, **given)


def ids(done: SettledAndFetched) -> list[str]:
    return [one.claimed.job.id for one in done.jobs]


def test_many_are_settled_and_the_next_fetched_in_one_commit(bench: Bench) -> None:
    held = [bench.put() for _ in range(4)]
    bench.take("w", 4)
    waiting = [bench.put() for _ in range(3)]
    parts = (ack(held[0]), fail(held[1]), fail(held[2], requeue=True), ack(held[3]))
    committed = bench.commit(SettleAndFetch(parts, Claim(("q",), 3, "w")))
    (done,) = committed.outcomes
    assert [one.after.state for one in done.settled] == [
        "completed",
        "retryable",
        "available",
        "completed",
    ]
    # A requeued job keeps its place, and may be fetched by the same call.
    assert ids(done) == [held[2], *waiting[:2]]
    assert bench.counts() == {"completed": 2, "retryable": 1, "active": 3, "available": 1}
    assert sorted(committed.ended) == sorted([held[0], held[3]])


def test_a_refusal_stays_with_its_job(bench: Bench) -> None:
    mine, cancelled, other = bench.put(), bench.put(), bench.put()
    bench.take("w", 2)
    bench.take("x")
    bench.do(Cancel(cancelled))
    parts = (ack(cancelled), ack(other), ack(mine, attempt=2), fail(NOBODY), ack(mine))
    done = bench.do(SettleAndFetch(parts))
    assert [type(one) for one in done.settled] == [Conflict, Conflict, Conflict, NotFound, Change]
    assert bench.state(mine) == "completed"
    assert bench.state(other) == "active"


def test_the_same_call_again_gives_the_same_answer(bench: Bench) -> None:
    one, two, three = (bench.put() for _ in range(3))
    bench.take("w", 3)
    waiting = [bench.put() for _ in range(4)]
    parts = (ack(one), fail(two), fail(three, requeue=True))
    call = SettleAndFetch(parts, Claim(("q",), 2, "w", fetch_id="f1"))
    first = bench.do(call)
    assert ids(first) == [three, waiting[0]]
    again = bench.do(call)
    assert ids(again) == ids(first)
    assert [type(one) for one in again.settled[:2]] == [Repeated] * 2
    assert [one.after.state for one in again.settled[:2]] == ["completed", "retryable"]
    # It was handed out again by this very call: the earlier delivery is over.
    assert isinstance(again.settled[2], Conflict)
    assert bench.event_types(one) == ["job.enqueued", "job.started", "job.completed"]
    assert bench.counts() == {"completed": 1, "retryable": 1, "active": 2, "available": 3}


def test_a_job_that_is_named_twice_is_settled_once(bench: Bench) -> None:
    one, two = bench.put(), bench.put()
    bench.take("w", 2)
    parts = (ack(one), ack(one), fail(one), fail(two), ack(two), fail(two))
    kinds = [type(outcome) for outcome in bench.do(SettleAndFetch(parts)).settled]
    assert kinds == [Change, Repeated, Conflict, Change, Conflict, Repeated]
    assert bench.event_types(two)[-2:] == ["job.failed", "job.retrying"]


def test_exchanges_and_other_calls_share_a_transaction(bench: Bench) -> None:
    one, two = bench.put(), bench.put()
    bench.take("w")
    bench.take("x")
    outcomes = bench.commit(
        Claim(("q",), 1, "y"),
        SettleAndFetch((ack(one),), Claim(("q",), 1, "w")),
        enqueue(),
        SettleAndFetch((ack(two, worker="x"),)),
    ).outcomes
    assert [type(outcome).__name__ for outcome in outcomes] == [
        "FetchedJobs",
        "SettledAndFetched",
        "Enqueued",
        "SettledAndFetched",
    ]
    assert len(outcomes[0]) == 1
    assert ids(outcomes[1]) == []
    assert outcomes[3].settled[0].after.state == "completed"


def test_a_poisoned_part_fails_alone(bench: Bench) -> None:
    held = [bench.put() for _ in range(2)]
    bench.take("w", 2)
    poison, third = ValueError("poison"), bench.put()
    # The whole fails, then its second part does.
    faulty = Faulty(bench.store, poison, None, poison)
    call = SettleAndFetch((ack(held[0]), ack(held[1])), Claim(("q",), 1, "w"))
    (done,) = commit(faulty, call)
    assert isinstance(done.settled[0], Change)
    assert done.settled[1] is poison
    assert ids(done) == [third]
    assert bench.state(held[1]) == "active"


@pytest.mark.parametrize("failure", [OutcomeUnknown("gone"), StaleWrite("faster")])
def test_a_failure_of_the_whole_is_one_outcome(bench: Bench, failure: Exception) -> None:
    held = bench.put()
    bench.take("w")
    (done,) = commit(Faulty(bench.store, failure, failure, failure), SettleAndFetch((ack(held),)))
    assert type(done).__name__ == "Unavailable"


def test_a_claim_that_fails_hides_nothing_that_was_settled(bench: Bench) -> None:
    held = bench.put()
    bench.take("w")
    poison = ValueError("poison")
    faulty = Faulty(bench.store, poison, None, poison)
    call = SettleAndFetch((ack(held),), Claim(("q",), 1, "w", fetch_id="f"))
    assert commit(faulty, call) == [poison]
    assert isinstance(bench.do(call).settled[0], Repeated)


async def test_two_calls_about_one_job_take_turns(engine: Engine) -> None:
    job_id = (await engine.run(enqueue())).jobs[0].job.id
    await engine.run(Claim(("q",), 1, "w"))
    calls = [engine.run(SettleAndFetch((ack(job_id),))) for _ in range(5)]
    done = await asyncio.gather(*calls)
    kinds = sorted(type(one.settled[0]).__name__ for one in done)
    assert kinds == ["Change"] + ["Repeated"] * 4
