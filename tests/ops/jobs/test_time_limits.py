"""Time limits of jobs, from the enqueue to the error in their history."""

from typing import Any

import pytest

from ojs_server.ops.jobs.settle import Cancel, Revive
from ojs_wire import codec
from tests.ops.bench import Bench


def types(bench: Bench, job_id: str) -> list[str]:
    """The types of a job's errors, oldest first."""
    return [one["type"] for one in codec.decode(bench.job(job_id).errors or b"[]")]


# The limit of the wait for a start.


@pytest.mark.parametrize("waits", [{}, {"pending": True}, {"scheduled_at": "+PT1H"}])
def test_a_job_that_is_not_started_within_its_ttl_is_discarded(
    bench: Bench, waits: dict[str, Any]
) -> None:
    job_id = bench.put(enqueue_ttl=5, **waits)
    bench.clock.advance(4999)
    assert bench.sweep().matured == 0
    bench.clock.advance(1)
    # Also before the sweep has seen to it.
    assert bench.take() == []
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert types(bench, job_id) == ["enqueue_ttl_expired"]
    kinds = ["job.expired", "job.ttl_expired", "job.discarded", "dead_letter.added"]
    assert bench.event_types(job_id)[-4:] == kinds
    assert bench.counts() == {"discarded": 1}


def test_a_started_job_outlives_its_ttl_and_expires_when_it_waits_again(bench: Bench) -> None:
    job_id = bench.put(enqueue_ttl=5, retry={"initial_interval": "PT10S", "jitter": False})
    bench.take()
    bench.clock.advance(6000)
    bench.sweep()
    assert bench.state(job_id) == "active"
    bench.fail(job_id)
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert types(bench, job_id) == ["handler_error", "enqueue_ttl_expired"]


# The limit of all attempts together.


def test_the_total_time_covers_attempts_and_the_waiting_between_them(bench: Bench) -> None:
    job_id = bench.put(
        total_timeout=10,
        retry={"max_attempts": 9, "initial_interval": "PT4S", "backoff_coefficient": 1.0}
        | {"jitter": False},
    )
    bench.take()
    bench.clock.advance(3000)
    bench.fail(job_id)
    bench.clock.advance(4000)
    bench.sweep()
    assert bench.take_ids() == [job_id]
    bench.clock.advance(2999)
    bench.sweep()
    assert bench.state(job_id) == "active"
    # A BEAT does not help.
    assert bench.beat(ids=[job_id]).extended == (job_id,)
    bench.clock.advance(1)
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert types(bench, job_id) == ["handler_error", "total_timeout"]
    error = bench.error(job_id)
    assert (error["timeout_kind"], error["limit_seconds"], error["elapsed_seconds"]) == (
        "total",
        10.0,
        10.0,
    )
    assert bench.event_types(job_id)[-4:] == [
        "job.total_timeout",
        "job.failed",
        "job.discarded",
        "dead_letter.added",
    ]
    assert bench.beat(ids=[job_id]).lost == (job_id,)


@pytest.mark.parametrize(
    "waits", [{}, {"pending": True}, {"scheduled_at": "+PT1H"}, {"expires_at": "+PT1H"}]
)
def test_the_total_time_ends_a_job_that_waits(bench: Bench, waits: dict[str, Any]) -> None:
    job_id = bench.put(total_timeout=5, **waits)
    bench.clock.advance(5000)
    assert bench.take() == []
    bench.sweep()
    assert types(bench, job_id) == ["total_timeout"]
    assert bench.event_types(job_id)[-3:] == [
        "job.total_timeout",
        "job.discarded",
        "dead_letter.added",
    ]


@pytest.mark.parametrize("back", ["requeue", "snooze", "lost"])
def test_the_total_time_ends_a_job_that_came_back(bench: Bench, back: str) -> None:
    job_id = bench.put(total_timeout=60, visibility_timeout=10)
    bench.take()
    if back == "requeue":
        bench.fail(job_id, requeue=True)
    elif back == "snooze":
        bench.fail(job_id, {"details": {"action": "snooze", "retry_after_ms": 3_600_000}})
    else:
        bench.clock.advance(10_000)
        bench.sweep()
    assert bench.state(job_id) == ("scheduled" if back == "snooze" else "available")
    bench.clock.advance(60_000)
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert types(bench, job_id)[-1] == "total_timeout"


def test_a_retry_that_would_come_too_late_is_not_waited_for(bench: Bench) -> None:
    job_id = bench.put(total_timeout=10, retry={"initial_interval": "PT10S", "jitter": False})
    bench.take()
    bench.clock.advance(1)
    change = bench.fail(job_id)
    assert change.after.state == "discarded"
    assert types(bench, job_id) == ["handler_error", "total_timeout"]


def test_a_finished_job_is_past_its_total_time(bench: Bench) -> None:
    done, called_off = bench.put(total_timeout=5), bench.put(total_timeout=5)
    bench.take()
    bench.ack(done)
    bench.do(Cancel(called_off))
    bench.clock.advance(5000)
    bench.sweep()
    assert (bench.state(done), bench.state(called_off)) == ("completed", "cancelled")


def test_a_dead_letter_retry_has_all_its_time_again(bench: Bench) -> None:
    job_id = bench.put(total_timeout=5)
    bench.clock.advance(5000)
    bench.sweep()
    bench.clock.advance(60_000)
    bench.do(Revive(job_id))
    bench.clock.advance(4000)
    bench.sweep()
    assert bench.take_ids() == [job_id]
    lease = bench.lease(job_id)
    assert lease is not None
    assert lease.deadline_at == bench.clock.now + 1000
    bench.clock.advance(1000)
    bench.sweep()
    assert types(bench, job_id) == ["total_timeout", "total_timeout"]
    assert bench.error(job_id)["elapsed_seconds"] == 5.0


# The limit of a holder's silence.


def test_a_holder_that_sends_no_beat_for_the_job_loses_it(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=10, retry={"jitter": False})
    bench.take(lease_ms=1_800_000)
    bench.clock.advance(9000)
    # A sign of life that does not name the job is none for it.
    bench.beat(ids=[])
    bench.sweep()
    assert bench.state(job_id) == "active"
    bench.clock.advance(1000)
    bench.sweep()
    assert bench.state(job_id) == "retryable"
    error = bench.error(job_id)
    assert (error["type"], error["timeout_kind"]) == ("stalled", "stalled")
    assert (error["limit_seconds"], error["elapsed_seconds"]) == (10.0, 10.0)
    assert bench.event_types(job_id)[-3:] == ["job.stalled", "job.failed", "job.retrying"]
    assert bench.beat(ids=[job_id]).lost == (job_id,)


@pytest.mark.parametrize("asked_ms", [None, 1_800_000])
def test_a_beat_for_the_job_gives_no_more_than_its_own_limit(
    bench: Bench, asked_ms: int | None
) -> None:
    job_id = bench.put(heartbeat_timeout=10)
    bench.take()
    for _ in range(3):
        bench.clock.advance(9000)
        assert bench.beat(ids=[job_id], lease_ms=asked_ms).extended == (job_id,)
        bench.sweep()
    lease = bench.lease(job_id)
    assert lease is not None
    assert lease.expires_at == bench.clock.now + 10_000
    bench.clock.advance(10_000)
    bench.sweep()
    assert bench.error(job_id)["type"] == "stalled"


def test_a_beat_may_ask_for_less(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=60)
    bench.take()
    bench.beat(ids=[job_id], lease_ms=2000)
    bench.clock.advance(2000)
    bench.sweep()
    assert bench.state(job_id) != "active"


def test_a_shorter_visibility_timeout_comes_first(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=60, visibility_timeout=5)
    bench.take()
    bench.clock.advance(5000)
    bench.sweep()
    assert bench.state(job_id) == "available"
    assert bench.error(job_id)["type"] == "visibility_timeout"


def test_silence_costs_the_last_attempt(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=5, retry={"max_attempts": 1})
    bench.take()
    bench.clock.advance(5000)
    bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert bench.event_types(job_id)[-4:] == [
        "job.stalled",
        "job.failed",
        "job.discarded",
        "dead_letter.added",
    ]


def test_silence_that_the_policy_does_not_forgive_ends_the_job(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=5, retry={"non_retryable_errors": ["stalled"]})
    bench.take()
    bench.clock.advance(5000)
    bench.sweep()
    assert bench.state(job_id) == "discarded"


@pytest.mark.parametrize(
    ("limits", "heard_for"),
    [
        ({"heartbeat_timeout": 10}, 10_000),
        ({"heartbeat_timeout": 60}, 30_000),
        ({"total_timeout": 60}, 30_000),
    ],
)
def test_silence_is_judged_only_while_the_server_could_hear(
    bench: Bench, limits: dict[str, Any], heard_for: int
) -> None:
    job_id = bench.put(**limits)
    bench.take()
    bench.clock.advance(120_000)
    # The server was away, and is back since now.
    bench.reachable_since = bench.clock.now
    bench.sweep()
    assert bench.state(job_id) == "active"
    bench.clock.advance(heard_for - 1)
    bench.sweep()
    assert bench.state(job_id) == "active"
    bench.clock.advance(1)
    bench.sweep()
    assert bench.state(job_id) != "active"
