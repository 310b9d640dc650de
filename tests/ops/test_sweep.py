"""The sweep: promotion, expiry, timeouts, protection after a stall, removal."""

import pytest

from ojs_server.domain.retention import DAY
from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.ledger import NEAR_MS
from ojs_server.ops.sweep import BEHIND_MS, BEHIND_STEP, MATURE_STEP, Swept
from tests.ops.bench import Bench, enqueue
from tests.ops.model import DEAD_LETTERED


def test_nobody_is_judged_where_a_worker_has_called_in_vain_since(bench: Bench) -> None:
    """Changes that depend on time alone are made."""
    bench.put(visibility_timeout=5)
    bench.take("w")
    bench.beat("w", None)
    bench.put(scheduled_at="+PT1S")
    bench.clock.advance(90_000)
    swept = bench.sweep(missed=lambda: True, check=True)
    assert swept == Swept(bench.clock.now, matured=1)
    swept = bench.sweep(check=True)
    assert (swept.lapsed, swept.dead) == (1, 1)


def test_nothing_to_do(bench: Bench) -> None:
    swept = bench.sweep()
    assert swept == Swept(bench.clock.now)


def test_jobs_are_promoted_in_the_order_of_their_times(bench: Bench) -> None:
    third = bench.put(scheduled_at="+PT3S")
    first = bench.put(scheduled_at="+PT1S")
    second = bench.put(scheduled_at="+PT2S")
    bench.clock.advance(999)
    assert bench.sweep().matured == 0
    bench.clock.advance(2001)
    assert bench.sweep().matured == 3
    assert bench.take_ids("w", 5) == [first, second, third]
    assert bench.event_types(first)[:2] == ["job.scheduled", "job.enqueued"]
    assert bench.job(first).enqueued_at == bench.clock.now


def test_a_promoted_job_stands_behind_those_that_waited(bench: Bench) -> None:
    promoted = bench.put(scheduled_at="+PT1S")
    before = bench.put()
    bench.clock.advance(1000)
    bench.sweep()
    after = bench.put()
    assert bench.take_ids("w", 5) == [before, promoted, after]


def test_what_was_not_started_in_time_is_discarded(bench: Bench) -> None:
    waiting = bench.put(expires_at="+PT5S")
    pending = bench.put(pending=True, expires_at="+PT5S")
    scheduled = bench.put(scheduled_at="+PT9S", expires_at="+PT5S")
    started = bench.put(queue="r", expires_at="+PT5S")
    bench.take("w", queues=("r",))
    bench.clock.advance(4999)
    assert bench.sweep().matured == 0
    bench.clock.advance(1)
    assert bench.sweep().matured == 3
    for job_id in (waiting, pending, scheduled):
        assert bench.state(job_id) == "discarded"
        assert bench.event_types(job_id)[-3:] == ["job.expired", *DEAD_LETTERED]
    assert bench.state(started) == "active"
    assert bench.counts() == {"discarded": 3}


def test_a_lease_that_ran_out_returns_the_job_to_its_place(bench: Bench) -> None:
    first, second = bench.put(visibility_timeout=5), bench.put()
    bench.take("w")
    bench.clock.advance(4999)
    assert bench.sweep().lapsed == 0
    bench.clock.advance(1)
    assert bench.sweep().lapsed == 1
    assert bench.error(first)["type"] == "visibility_timeout"
    assert bench.job(first).started_at is None
    assert bench.take_ids("x", 5) == [first, second]
    assert bench.job(first).attempt == 2


def test_the_last_lease_that_runs_out_discards(bench: Bench) -> None:
    job_id = bench.put(visibility_timeout=5, retry={"max_attempts": 2})
    for attempt in (1, 2):
        assert bench.take_ids() == [job_id]
        assert bench.job(job_id).attempt == attempt
        bench.clock.advance(5000)
        bench.sweep()
    assert bench.state(job_id) == "discarded"
    assert bench.event_types(job_id)[-3:] == ["job.failed", *DEAD_LETTERED]


def test_a_job_that_runs_too_long_fails_and_backs_off(bench: Bench) -> None:
    job_id = bench.put(timeout=2, retry={"jitter": False, "initial_interval": "PT3S"})
    bench.take("w")
    bench.clock.advance(1000)
    bench.beat(ids=[job_id])
    bench.clock.advance(1500)
    assert bench.sweep().lapsed == 1
    job = bench.job(job_id)
    assert (job.state, job.due_at) == ("retryable", bench.clock.now + 3000)
    error = bench.error(job_id)
    assert (error["type"], error["timeout_kind"]) == ("timeout", "execution")
    assert (error["limit_seconds"], error["elapsed_seconds"]) == (2.0, 2.5)
    assert bench.lease(job_id) is None


def test_after_a_stall_leases_are_judged_only_when_their_holders_could_be_heard(
    bench: Bench,
) -> None:
    short, long = bench.put(visibility_timeout=5), bench.put(visibility_timeout=600)
    bench.take("w", 2)
    bench.clock.advance(3_600_000)
    back = bench.clock.now
    assert bench.sweep(reachable_since=back).lapsed == 0
    bench.clock.advance(4999)
    assert bench.sweep(reachable_since=back).lapsed == 0
    bench.clock.advance(1)
    assert bench.sweep(reachable_since=back).lapsed == 1
    assert (bench.state(short), bench.state(long)) == ("available", "active")
    bench.clock.advance(24_999)
    assert bench.sweep(reachable_since=back).lapsed == 0
    bench.clock.advance(1)
    assert bench.sweep(reachable_since=back).lapsed == 1
    assert bench.state(long) == "available"


def test_after_a_stall_no_worker_is_dead_before_it_could_be_heard(bench: Bench) -> None:
    bench.beat()
    bench.clock.advance(3_600_000)
    back = bench.clock.now
    for waited in (0, 15_000, 14_999):
        bench.clock.advance(waited)
        assert bench.sweep(reachable_since=back).dead == 0
    bench.clock.advance(1)
    assert bench.sweep(reachable_since=back).dead == 1


def test_what_is_handed_out_after_a_start_is_judged_at_once(bench: Bench) -> None:
    """A timeout much shorter than the lease is due within seconds of the server's start."""
    back = bench.clock.now
    bench.clock.advance(500)
    slow = bench.put(timeout=2)
    quick = bench.put(visibility_timeout=1)
    bench.take("w", 2)
    bench.clock.advance(2000)
    assert bench.sweep(reachable_since=back).lapsed == 2
    assert (bench.state(slow), bench.state(quick)) == ("retryable", "available")


@pytest.mark.parametrize("waits", [False, True])
def test_leases_are_judged_by_when_the_sweep_was_asked_for(bench: Bench, waits: bool) -> None:
    """A heartbeat may be in the socket of a server that was suspended, or wait behind the sweep."""
    over = bench.put(visibility_timeout=5)
    bench.take()
    held = bench.put(visibility_timeout=6)
    bench.take()
    bench.clock.advance(5_500)
    asked = bench.clock.now
    bench.clock.advance(3_600_000)
    late = {"behind_ms": lambda: 3_600_000} if waits else {"requested_at": asked}
    assert bench.sweep(**late).lapsed == 1
    assert (bench.state(over), bench.state(held)) == ("available", "active")


@pytest.mark.parametrize("waits", [False, True])
def test_workers_are_judged_by_when_the_sweep_was_asked_for(bench: Bench, waits: bool) -> None:
    bench.beat("silent")
    bench.clock.advance(20_000)
    bench.beat("alive")
    bench.clock.advance(10_000)
    asked = bench.clock.now
    bench.clock.advance(3_600_000)
    late = {"behind_ms": lambda: 3_600_000} if waits else {"requested_at": asked}
    assert bench.sweep(**late, check=True).dead == 1
    with bench.store.reader() as reader:
        silent, alive = (reader.workers([name])[0].worker for name in ("silent", "alive"))
    assert silent.gone_at is not None
    assert (alive.gone_at, alive.deleted_at) == (None, None)


def test_what_is_due_is_promoted_however_long_the_sweep_has_waited(bench: Bench) -> None:
    jobs = [{"scheduled_at": "+PT1S"}] * (BEHIND_STEP + 1)
    for start in range(0, len(jobs), 1000):
        bench.do(enqueue(jobs=jobs[start : start + 1000]))
    asked = bench.clock.now
    bench.clock.advance(BEHIND_MS + 1)
    first = bench.sweep(requested_at=asked)
    assert (first.matured, first.more) == (BEHIND_STEP, True)
    assert bench.sweep(requested_at=bench.clock.now - BEHIND_MS).matured == 1


def test_a_full_step_says_that_there_is_more(bench: Bench) -> None:
    bench.do(enqueue(jobs=[{"scheduled_at": "+PT1S"}] * (MATURE_STEP + 1)))
    bench.clock.advance(1000)
    first = bench.sweep()
    assert (first.matured, first.more) == (MATURE_STEP, True)
    second = bench.sweep()
    assert (second.matured, second.more) == (1, False)
    assert bench.counts() == {"available": MATURE_STEP + 1}


@pytest.mark.parametrize(
    ("end", "days"),
    [("completed", 7), ("cancelled", 7), ("discarded", 30), ("dead_letter", 180)],
)
def test_finished_jobs_are_removed_when_their_retention_ends(
    bench: Bench, end: str, days: int
) -> None:
    job_id = bench.put(
        retry={"on_exhaustion": "dead_letter" if end == "dead_letter" else "discard"}
    )
    bench.take("w")
    if end == "completed":
        bench.ack(job_id)
    elif end == "cancelled":
        bench.do(Cancel(job_id))
    else:
        bench.fail(job_id, {"retryable": False})
    bench.clock.advance(days * DAY - 1)
    assert bench.sweep().removed == 0
    bench.clock.advance(1)
    assert bench.sweep().removed == 1
    assert not bench.exists(job_id)
    assert bench.counts() == {}


def test_events_keys_and_gone_workers_are_pruned(bench: Bench) -> None:
    job_id = bench.do(enqueue(key="k")).jobs[0].job.id
    bench.beat()
    bench.clock.advance(30_000)
    bench.sweep()
    bench.clock.advance(DAY)
    assert bench.sweep().removed == 0
    assert bench.sweep(prune=True).removed > 0
    assert bench.do(enqueue(key="k")).created
    with bench.store.reader() as reader:
        assert reader.workers(["w"]) == []
    assert bench.event_types(job_id) == ["job.enqueued"]
    bench.clock.advance(6 * DAY)
    bench.sweep(prune=True)
    assert bench.event_types(job_id) == []
    assert bench.exists(job_id)


@pytest.mark.parametrize(
    ("in_ms", "told"), [(1, True), (NEAR_MS, True), (NEAR_MS + 1, False), (60_000, False)]
)
def test_other_nodes_are_told_only_of_what_they_would_miss(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, in_ms: int, told: bool
) -> None:
    heard: list[int] = []
    with bench.store.transaction() as tx:
        monkeypatch.setattr(type(tx), "announce_due", lambda tx, moment: heard.append(moment))
    bench.put(scheduled_at=f"+PT{in_ms / 1000:.3f}S")
    assert heard == [bench.clock.now + in_ms] * told
