"""Bounded queues: jobs that are admitted, refused, or dropped."""

from typing import Any

import pytest

from ojs_server.domain.errors import OjsError, QueueFull
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.workers.claim import Claim
from tests.ops.bench import Bench, enqueue
from tests.ops.limits.test_queue_limits import configure
from tests.ops.model import DEAD_LETTERED


def bounded(bench: Bench, **backpressure: Any) -> None:
    """Bound queue `q`."""
    bench.do(configure(backpressure=backpressure))


def refusal(bench: Bench, **given: Any) -> QueueFull:
    """The refusal of one more job, which must come."""
    with pytest.raises(QueueFull) as refused:
        bench.put(**given)
    return refused.value


def test_a_full_queue_refuses_and_stores_nothing(bench: Bench) -> None:
    bounded(bench, max_depth=2)
    for _ in range(2):
        bench.put()
    error = refusal(bench)
    assert error.details == {
        "queue": "q",
        "depth": 2,
        "bound": 2,
        "strategy": "reject",
        "requested": 1,
    }
    assert error.headers == {
        "Retry-After": "1",
        "X-OJS-Queue-Depth": "2",
        "X-OJS-Queue-Bound": "2",
    }
    assert bench.counts() == {"available": 2}
    assert not error.blocks


def test_what_waits_counts_and_what_runs_or_is_pending_does_not(bench: Bench) -> None:
    bounded(bench, max_depth=2)
    first = bench.put()
    bench.put(scheduled_at="+PT1H")
    refusal(bench)
    bench.put(pending=True)
    bench.take()
    bench.put()
    refusal(bench)
    # A retry waits, too, and is never refused.
    bench.fail(first)
    assert bench.state(first) == "retryable"
    refusal(bench)
    bench.do(Cancel(first))
    refusal(bench)


def test_a_batch_gets_in_as_a_whole_or_not_at_all(bench: Bench) -> None:
    bounded(bench, max_depth=3)
    bench.put()
    with pytest.raises(QueueFull):
        bench.do(enqueue(jobs=[{}] * 3))
    with pytest.raises(QueueFull):
        bench.do(enqueue(jobs=[{"queue": "free"}, {}, {}, {}]))
    bench.do(enqueue(jobs=[{}] * 2))
    assert bench.counts() == {"available": 3}


def test_requests_of_one_transaction_see_each_other(bench: Bench) -> None:
    bounded(bench, max_depth=3)
    asked = [enqueue(), enqueue(jobs=[{}] * 3), enqueue(), enqueue(), enqueue()]
    outcomes = bench.commit(*asked).outcomes
    refused = [isinstance(one, OjsError) for one in outcomes]
    assert refused == [False, True, False, False, True]
    assert bench.counts() == {"available": 3}


def test_a_refused_request_leaves_its_idempotency_key_free(bench: Bench) -> None:
    bounded(bench, max_depth=1)
    first = bench.put()
    request = enqueue(key="mine")
    with pytest.raises(QueueFull):
        bench.do(request)
    bench.do(Cancel(first))
    assert bench.do(request).created


def test_an_earlier_request_repeated_is_answered_also_when_the_queue_is_full(bench: Bench) -> None:
    bounded(bench, max_depth=1)
    request = enqueue(key="mine")
    stored = bench.do(request).jobs[0].job.id
    again = bench.do(request)
    assert (again.created, again.jobs[0].job.id) == (False, stored)


def test_a_unique_job_that_replaces_another_needs_no_room(bench: Bench) -> None:
    bounded(bench, max_depth=1)
    policy = {"unique": {"on_conflict": "replace"}}
    old = bench.put(**policy)
    new = bench.put(**policy)
    assert [bench.state(job) for job in (old, new)] == ["cancelled", "available"]


def test_bytes_are_bounded_by_the_size_of_what_waits(bench: Bench) -> None:
    bounded(bench, max_size_bytes=1000)
    small = bench.put(args=["x" * 400])
    bench.put(args=["x" * 400])
    error = refusal(bench, args=["x" * 400])
    assert error.details is not None
    assert error.details["bound"] == 1000
    assert 800 < error.details["depth"] < 1000
    bench.put(args=[])
    bench.take()
    assert bench.state(small) == "active"
    bench.put(args=["x" * 400])
    with pytest.raises(QueueFull):
        bench.put(args=["x" * 2000])


def test_the_oldest_available_jobs_make_room(bench: Bench) -> None:
    bounded(bench, max_depth=3, strategy="drop_oldest")
    urgent, middle, low = bench.put(priority=9), bench.put(), bench.put(priority=-9)
    newest = bench.do(enqueue(jobs=[{}, {}])).jobs
    assert [bench.state(job) for job in (urgent, middle, low)] == [
        "discarded",
        "discarded",
        "available",
    ]
    assert bench.error(urgent)["type"] == "queue_full"
    assert bench.event_types(urgent) == ["job.enqueued", "backpressure.dropped", *DEAD_LETTERED]
    assert bench.counts() == {"available": 3, "discarded": 2}
    with pytest.raises(QueueFull):
        bench.do(enqueue(jobs=[{}] * 4))
    assert bench.state(newest[0].job.id) == "available"


def test_only_available_jobs_are_dropped(bench: Bench) -> None:
    bounded(bench, max_depth=2, strategy="drop_oldest")
    later = bench.put(scheduled_at="+PT1H")
    gated = bench.put(rate_limit={"key": "k", "concurrency": 0})
    fresh = bench.put()
    assert [bench.state(job) for job in (later, gated, fresh)] == [
        "scheduled",
        "discarded",
        "available",
    ]
    bench.take()
    bench.put(scheduled_at="+PT1H")
    refusal(bench)


def test_enough_is_dropped_for_a_large_job(bench: Bench) -> None:
    bounded(bench, max_size_bytes=2000, strategy="drop_oldest")
    jobs = [bench.put(args=["x" * 80]) for _ in range(20)]
    big = bench.put(args=["x" * 1500])
    states = [bench.state(job) for job in jobs]
    assert states == sorted(states, key=lambda state: state != "discarded")
    assert bench.state(big) == "available"
    with bench.store.reader() as reader:
        (queue,) = reader.queues(["q"])
    assert 1500 < queue.bytes <= 2000


def test_who_may_wait_for_room_is_told_so(bench: Bench) -> None:
    bounded(bench, max_depth=1, strategy="block")
    bench.put()
    assert refusal(bench).blocks
    with pytest.raises(QueueFull) as too_large:
        bench.do(enqueue(jobs=[{}, {}]))
    assert not too_large.value.blocks
    assert bench.commit(Claim(("q",))).freed == {"q": 1}


def test_high_pressure_is_answered_and_told_once_until_it_falls(bench: Bench) -> None:
    bounded(bench, max_depth=4, warning_threshold=0.75)
    pressures = [bench.do(enqueue()).pressure for _ in range(4)]
    assert pressures[:2] == [None, None]
    assert [(one.depth, one.bound, one.ratio) for one in pressures[2:] if one] == [
        (3, 4, 0.75),
        (4, 4, 1.0),
    ]
    refusal(bench)
    bench.take()
    bench.take()
    bench.put()
    kinds = [kind for kind, _ in bench.events_of("q") if kind.startswith("backpressure")]
    assert kinds == [
        "backpressure.warning",
        "backpressure.rejected",
        "backpressure.cleared",
        "backpressure.warning",
    ]


def test_without_bounds_nothing_is_refused(bench: Bench) -> None:
    bounded(bench, max_depth=0, max_size_bytes=0)
    for _ in range(3):
        bench.put()
    bounded(bench, max_depth=1)
    refusal(bench)
    bounded(bench, max_depth=0)
    bench.put()
