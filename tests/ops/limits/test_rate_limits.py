"""Rate limits of keys at the claim: jobs that start, jobs that wait, and reopening."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest

from ojs_server.domain.limits.rate_limit import FAR, Policy, Window
from ojs_server.ops.jobs.settle import Ack, Activate, Cancel, Revive
from ojs_server.ops.limits.reopening import Override, Reopen
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.ops.bench import Bench, HandClock, enqueue
from tests.ops.limits.test_queue_limits import configure
from tests.ops.model import DEAD_LETTERED

ONE: dict[str, Any] = {"rate_limit": {"key": "k", "concurrency": 1}}
SECOND: dict[str, Any] = {"rate_limit": {"key": "k", "rate": 1, "period": "second"}}


def limited(**policy: Any) -> dict[str, Any]:
    """A job's options with this policy for key `k`."""
    return {"rate_limit": {"key": "k", **policy}}


def running(bench: Bench, key: str = "k") -> int:
    """Return the stored number of running jobs of a key."""
    with bench.store.reader() as reader:
        found = reader.limit(key)
    assert found is not None
    return found[0].active


def test_no_more_jobs_run_than_the_concurrency(bench: Bench) -> None:
    jobs = [bench.put(**limited(concurrency=2)) for _ in range(5)]
    assert bench.take_ids(count=5) == jobs[:2]
    assert bench.take_ids(count=5) == []
    bench.ack(jobs[0])
    assert bench.take_ids(count=5) == jobs[2:3]
    assert running(bench) == 2


def test_a_limited_job_is_skipped_and_the_next_that_may_run_is_taken(bench: Bench) -> None:
    first = bench.put(**ONE)
    assert bench.take_ids() == [first]
    blocked = [bench.put(priority=5, **ONE) for _ in range(3)]
    other = bench.put(rate_limit={"key": "other", "concurrency": 1})
    free = bench.put()
    assert bench.take_ids(count=9) == [other, free]
    assert {bench.state(job) for job in blocked} == {"available"}
    assert bench.job(blocked[0]).attempt == 0


def test_a_freed_slot_goes_to_the_first_by_priority_then_age(bench: Bench) -> None:
    held = bench.put(**ONE)
    bench.take()
    low, high, later = (bench.put(priority=p, **ONE) for p in (0, 9, 9))
    order = []
    for _ in range(3):
        bench.ack(held)
        (held,) = bench.take_ids(count=5)
        order.append(held)
    assert order == [high, later, low]


def test_a_newer_job_of_higher_priority_passes_those_before_the_gate(bench: Bench) -> None:
    old = bench.put(**ONE)
    urgent = bench.put(priority=1, **ONE)
    assert bench.take_ids(count=2) == [urgent]
    bench.ack(urgent)
    assert bench.take_ids() == [old]


def test_queues_and_types_share_a_key_and_each_sees_its_next_job(bench: Bench) -> None:
    a = bench.put(type="t.a", **ONE)
    b = bench.put(type="t.b", **ONE)
    c = bench.put(queue="other", **ONE)
    assert bench.take_ids(job_types=("t.b",)) == [b]
    assert bench.take_ids(queues=("q", "other"), count=3) == []
    bench.ack(b)
    assert bench.take_ids(queues=("other",)) == [c]
    assert bench.take_ids(count=3) == []
    bench.ack(c)
    assert bench.take_ids(queues=("other", "q"), count=3) == [a]


LEAVINGS: dict[str, Callable[[Bench, str], object]] = {
    "ack": lambda bench, job: bench.ack(job),
    "fail": lambda bench, job: bench.fail(job, {"message": "x", "retryable": False}),
    "retry": lambda bench, job: bench.fail(job),
    "cancel": lambda bench, job: bench.do(Cancel(job)),
    "snooze": lambda bench, job: bench.fail(
        job, {"message": "x", "details": {"action": "snooze", "retry_after_ms": 3_600_000}}
    ),
}


@pytest.mark.parametrize("leave", LEAVINGS.values(), ids=LEAVINGS.keys())
def test_each_way_out_of_active_frees_the_slot(
    bench: Bench, leave: Callable[[Bench, str], object]
) -> None:
    first, second = bench.put(**ONE), bench.put(**ONE)
    assert bench.take_ids() == [first]
    leave(bench, first)
    assert running(bench) == 0
    assert bench.take_ids(count=2) == [second]


def test_a_requeued_job_takes_its_slot_again(bench: Bench) -> None:
    first, second = bench.put(**ONE), bench.put(**ONE)
    bench.take()
    bench.fail(first, requeue=True)
    assert bench.take_ids(count=2) == [first]
    assert running(bench) == 1
    bench.ack(first)
    assert bench.take_ids() == [second]


def test_a_lost_lease_frees_the_slot(bench: Bench) -> None:
    first, second = bench.put(**ONE), bench.put(priority=-1, **ONE)
    bench.take(lease_ms=1000)
    bench.clock.advance(1000)
    bench.sweep()
    assert bench.state(first) == "available"
    assert running(bench) == 0
    assert bench.take_ids(count=2) == [first]
    bench.ack(first)
    assert bench.take_ids() == [second]


def test_a_dead_worker_frees_its_slots(bench: Bench) -> None:
    first, second = bench.put(**limited(concurrency=2)), bench.put(**limited(concurrency=2))
    bench.beat("dead")
    assert bench.take_ids("dead", 2) == [first, second]
    bench.clock.advance(30_001)
    bench.sweep()
    assert running(bench) == 0
    assert bench.take_ids(count=2) == [first, second]


def test_a_run_that_takes_too_long_frees_the_slot(bench: Bench) -> None:
    first, second = bench.put(timeout_ms=500, **ONE), bench.put(**ONE)
    bench.take()
    bench.clock.advance(500)
    bench.sweep()
    assert bench.state(first) == "retryable"
    assert bench.take_ids(count=2) == [second]


def test_a_job_that_leaves_the_line_lets_the_next_come_before_the_gate(bench: Bench) -> None:
    gone, next_one = bench.put(**ONE), bench.put(**ONE)
    bench.do(Cancel(gone))
    assert bench.take_ids() == [next_one]


def test_a_job_that_expires_in_line_lets_the_next_come(bench: Bench) -> None:
    expires = bench.put(expires_at="+PT1S", **ONE)
    stays = bench.put(**ONE)
    bench.clock.advance(1000)
    bench.sweep()
    assert bench.state(expires) == "discarded"
    assert bench.take_ids() == [stays]


def test_scheduled_pending_and_revived_jobs_wait_like_any_other(bench: Bench) -> None:
    first = bench.put(retry={"max_attempts": 1}, **ONE)
    pending, scheduled = bench.put(pending=True, **ONE), bench.put(scheduled_at="+PT1S", **ONE)
    bench.take()
    bench.fail(first)
    assert bench.state(first) == "discarded"
    bench.do(Activate(pending))
    bench.clock.advance(1000)
    bench.sweep()
    bench.do(Revive(first))
    for job in (pending, scheduled, first):
        assert bench.take_ids(count=5) == [job]
        assert bench.take_ids(count=5) == []
        bench.ack(job)


def test_concurrency_of_zero_blocks_until_the_policy_changes(bench: Bench) -> None:
    blocked = bench.put(**limited(concurrency=0))
    assert bench.take() == []
    newer = bench.put(**limited(concurrency=2))
    assert bench.take_ids(count=2) == [blocked, newer]


def test_the_newest_job_s_policy_is_the_key_s(bench: Bench) -> None:
    jobs = [bench.put(**limited(concurrency=3)) for _ in range(3)]
    assert bench.take_ids(count=2) == jobs[:2]
    bench.put(**ONE)
    assert bench.take(count=5) == []
    bench.ack(jobs[0])
    assert bench.take(count=5) == []
    bench.ack(jobs[1])
    assert bench.take_ids(count=5) == [jobs[2]]


def test_no_more_jobs_start_than_the_rate_allows(bench: Bench) -> None:
    jobs = [bench.put(**limited(rate={"limit": 2, "period": "PT1S"})) for _ in range(5)]
    assert bench.take_ids(count=5) == jobs[:2]
    bench.ack(jobs[0])
    assert bench.take(count=5) == []
    bench.clock.advance(999)
    assert bench.do(Reopen()).limits == 0
    assert bench.take(count=5) == []
    bench.clock.advance(1)
    assert bench.do(Reopen()).limits == 1
    assert bench.take_ids(count=5) == jobs[2:4]


def test_a_rate_opens_at_the_claim_also_when_nobody_has_opened_it_before(bench: Bench) -> None:
    first, second = bench.put(**SECOND), bench.put(**SECOND)
    assert bench.take_ids(count=2) == [first]
    third = bench.put(priority=-1, **SECOND)
    bench.clock.advance(1000)
    bench.do(Reopen())
    assert bench.take_ids(count=2) == [second]
    bench.clock.advance(1000)
    bench.do(Reopen())
    assert bench.take_ids(count=2) == [third]


def test_who_comes_while_time_has_opened_a_key_does_not_pass_those_who_wait(
    bench: Bench,
) -> None:
    first, waiting = bench.put(**SECOND), bench.put(priority=5, **SECOND)
    assert bench.take_ids() == [waiting]
    assert bench.take_ids() == []
    bench.clock.advance(1000)
    # Housekeeping has not opened the gate yet.
    bench.put(priority=-5, **SECOND)
    assert bench.take_ids(count=2) == [first]


def test_throttled_jobs_start_at_even_distances(bench: Bench) -> None:
    jobs = [bench.put(**limited(throttle={"limit": 4, "period": "PT1S"})) for _ in range(3)]
    started = []
    for _ in range(3):
        started += bench.take_ids(count=3)
        bench.clock.advance(250)
        bench.do(Reopen())
    assert started == jobs


def test_a_keyless_limit_counts_for_its_queue(bench: Bench) -> None:
    policy = {"rate_limit": {"max_per_second": 1}}
    first, second = bench.put(**policy), bench.put(**policy)
    elsewhere = bench.put(queue="other", **policy)
    free = bench.put()
    assert bench.take_ids(count=5, queues=("q", "other")) == [first, free, elsewhere]
    bench.clock.advance(1500)
    bench.do(Reopen())
    assert bench.take_ids(count=5) == [second]


@pytest.mark.parametrize(
    ("preference", "first"),
    [("equal", "new"), ("prefer_retry", "retry"), ("prefer_new", "newest")],
)
@pytest.mark.parametrize("by_queue", [False, True], ids=["key", "queue"])
def test_retries_go_before_or_behind_the_others_that_a_limit_holds_back(
    with_rules: Callable[[Rules], Bench], preference: str, first: str, by_queue: bool
) -> None:
    bench = with_rules(Rules(retry_priority=preference))
    limit = {} if by_queue else ONE
    if by_queue:
        bench.do(configure(concurrency=1))
    failed, new = bench.put(**limit), bench.put(**limit)
    assert bench.take_ids() == [failed]
    bench.fail(failed)
    bench.clock.advance(60_000)
    bench.sweep()
    newest, urgent = bench.put(**limit), bench.put(priority=1, **limit)
    order = {
        "new": [urgent, new, failed, newest],
        "retry": [urgent, failed, new, newest],
        "newest": [urgent, new, newest, failed],
    }[first]
    for job_id in order:
        assert bench.take_ids(count=9) == [job_id]
        bench.ack(job_id)


def test_without_a_limit_retries_have_the_places_of_others(
    with_rules: Callable[[Rules], Bench],
) -> None:
    bench = with_rules(Rules(retry_priority="prefer_retry"))
    failed, new = bench.put(), bench.put()
    bench.take()
    bench.fail(failed)
    bench.clock.advance(60_000)
    bench.sweep()
    assert bench.take_ids(count=9) == [new, failed]


@pytest.mark.parametrize("preference", ["prefer_retry", "prefer_new"])
def test_places_rise_on_after_a_restart_beside_retries(
    store_url: str, clock: HandClock, preference: str
) -> None:
    jobs: list[str] = []
    for _ in range(2):
        with closing(open_store(store_url, clock=clock, node="a")) as store:
            bench = Bench(store, clock, Rules(retry_priority=preference))
            if not jobs:
                failed = bench.put(**ONE)
                bench.take()
                bench.fail(failed)
                clock.advance(60_000)
                bench.sweep()
            jobs.append(bench.put())
            seqs = [bench.job(job_id).seq for job_id in jobs]
            assert seqs == sorted(seqs)
            assert all(0 < seq < FAR for seq in seqs)


def test_a_job_with_drop_is_discarded_when_a_fetch_meets_its_closed_key(bench: Bench) -> None:
    policy = limited(concurrency=1, on_limit="drop")
    first, second = bench.put(**policy), bench.put(**policy)
    free = bench.put(priority=-1)
    assert bench.state(second) == "available"
    assert bench.take_ids(count=2) == [first, free]
    assert bench.state(second) == "discarded"
    assert bench.error(second)["type"] == "rate_limited"
    assert bench.job(second).attempt == 0
    assert bench.event_types(second) == ["job.enqueued", "rate_limit.dropped", *DEAD_LETTERED]


def test_a_job_with_reschedule_comes_back_when_its_key_may_be_open(bench: Bench) -> None:
    policy = limited(rate={"limit": 1, "period": "PT1M"}, on_limit="reschedule")
    first, second = bench.put(**policy), bench.put(**policy)
    assert bench.take_ids(count=2) == [first]
    job = bench.job(second)
    assert (job.state, job.attempt) == ("scheduled", 0)
    assert job.scheduled_at == bench.clock.now + 60_000
    bench.clock.advance(60_000)
    bench.sweep()
    assert bench.take_ids(count=2) == [second]


def test_a_job_sent_back_is_as_it_was(bench: Bench) -> None:
    first, second = (bench.put(expires_at="+PT1H", **ONE) for _ in range(2))
    bench.take()
    bench.fail(first)
    bench.clock.advance(3_000)
    bench.sweep()
    assert bench.take_ids(count=1) == [second]
    before = bench.job(first)
    assert bench.take() == []
    assert bench.job(first) == before
    assert bench.counts() == {"available": 1, "active": 1}


def test_a_worker_can_close_a_key_until_a_moment(bench: Bench) -> None:
    first, second = (bench.put(**limited(rate=10)) for _ in range(2))
    bench.take()
    bench.fail(first, {"message": "429", "rate_limit_until": "2023-11-14T22:13:50Z"})
    assert bench.take() == []
    bench.clock.advance(29_999)
    bench.do(Reopen())
    bench.sweep()
    assert bench.take() == []
    bench.clock.advance(1)
    bench.do(Reopen())
    assert set(bench.take_ids(count=2)) == {first, second}
    assert ("rate_limit.dynamic_adjusted", "worker") in [
        (kind, data.get("reason")) for kind, data in bench.events_of("k")
    ]


def test_a_worker_cannot_close_a_key_for_years(bench: Bench) -> None:
    first, second = (bench.put(**limited(rate=10)) for _ in range(2))
    bench.take()
    bench.fail(first, {"message": "429", "rate_limit_until": "2099-01-01T00:00:00Z"})
    bench.clock.advance(86_400_000)
    bench.do(Reopen())
    assert bench.take_ids() == [second]


def test_an_operator_s_word_outranks_the_policy_until_it_ends(bench: Bench) -> None:
    jobs = [bench.put(**limited(concurrency=5)) for _ in range(3)]
    bench.do(Override("k", Policy(0), bench.clock.now + 1000))
    assert bench.take() == []
    bench.clock.advance(1000)
    bench.do(Reopen())
    assert bench.take_ids() == jobs[:1]
    bench.do(Override("k", Policy(1)))
    assert bench.take() == []
    bench.do(Override("k", Policy()))
    assert bench.take_ids(count=5) == jobs[1:]


def test_an_override_may_come_before_the_first_job(bench: Bench) -> None:
    bench.do(Override("k", Policy(rate=Window(1, 1000))))
    jobs = [bench.put(rate_limit={"key": "k"}) for _ in range(2)]
    assert bench.take_ids(count=2) == jobs[:1]


def test_waiting_and_going_on_are_told_once(bench: Bench) -> None:
    first, second = bench.put(**ONE), bench.put(**ONE)
    bench.put(**ONE)
    bench.take()
    assert bench.take() == []
    bench.ack(first)
    told = bench.events_of("k")
    assert [kind for kind, _ in told] == ["rate_limit.exceeded", "rate_limit.released"]
    assert told[0][1] == {
        "key": "k",
        "strategy": "wait",
        "limited_by": "concurrency",
        "limit": 1,
        "current": 1,
    }
    assert told[1][1]["job_id"] == second


def test_a_slot_freed_and_taken_in_one_batch(bench: Bench) -> None:
    first, second = bench.put(**ONE), bench.put(**ONE)
    bench.take()
    _, claimed = bench.commit(Ack(first), Claim(("q",))).outcomes
    assert [one.claimed.job.id for one in claimed] == [second]


def test_a_paused_queue_keeps_nobody_else_from_its_keys(bench: Bench) -> None:
    bench.put(**ONE)
    other = bench.put(queue="other", **ONE)
    bench.do(SetPaused("q", True))
    assert bench.take_ids(queues=("q", "other")) == [other]


def test_a_batch_of_more_jobs_than_stand_before_a_gate(bench: Bench) -> None:
    jobs = bench.do(enqueue(jobs=[{"rate_limit": {"key": "k"}}] * 450)).jobs
    assert len(bench.take(count=1000)) == len(jobs)


def test_a_limited_job_is_handed_out_with_all_it_has(bench: Bench) -> None:
    first = bench.put(**ONE)
    with bench.store.transaction() as tx:
        stored = tx.load_whole([first])[first]
        job = msgspec.structs.replace(stored.job, id="given", priority=5)
        tx.insert_jobs([msgspec.structs.replace(stored, job=job, parent_results=b"[1]")])
        tx.release_gated({"k": 1})
    (taken,) = bench.take(count=2)
    assert (taken.claimed.job.id, taken.claimed.parent_results) == ("given", b"[1]")
    assert taken.claimed.job.started_at == bench.clock.now


def test_limits_survive_a_restart(store_url: str) -> None:
    clock = HandClock()
    store = open_store(store_url, clock=clock)
    bench = Bench(store, clock)
    first, second = bench.put(**ONE), bench.put(**ONE)
    bench.take()
    store.close()
    again: Store = open_store(store_url, clock=clock)
    bench = Bench(again, clock)
    assert bench.take() == []
    bench.ack(first)
    assert bench.take_ids() == [second]
    again.close()


def test_a_key_that_no_job_names_is_forgotten_after_a_day(
    with_rules: Callable[[Rules], Bench],
) -> None:
    bench = with_rules(Rules())
    job = bench.put(**ONE)
    bench.take()
    bench.ack(job)
    bench.clock.advance(2 * 86_400_000)
    bench.sweep(prune=True)
    assert running(bench) == 0
    bench.clock.advance(7 * 86_400_000)
    bench.sweep(prune=True)
    bench.sweep(prune=True)
    with bench.store.reader() as reader:
        assert reader.limit("k") is None
