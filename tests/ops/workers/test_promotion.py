"""FETCH hands out due jobs of its queues, whether the sweep has run or not."""

from ojs_server.domain.admin.maintenance import MaintenanceOrder
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.admin.maintenance import Maintain
from ojs_server.ops.jobs.settle import Fail
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.presence import Register
from ojs_server.ops.workers.promotion import MOST
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.systems.jobmanager.claim import OldestTask
from tests.ops.bench import Bench, enqueue

ONE_SECOND = {"initial_interval": "PT1S", "jitter": False}


def test_a_scheduled_job_is_handed_out_as_soon_as_it_is_due(bench: Bench) -> None:
    job_id = bench.put(scheduled_at="+PT1S")
    bench.clock.advance(999)
    assert bench.take_ids() == []
    assert bench.state(job_id) == "scheduled"
    bench.clock.advance(1)
    assert bench.take_ids() == [job_id]
    assert bench.event_types(job_id) == ["job.scheduled", "job.enqueued", "job.started"]
    assert bench.counts() == {"active": 1}
    assert bench.job(job_id).enqueued_at == bench.clock.now


def test_a_retry_is_handed_out_as_soon_as_it_is_due(bench: Bench) -> None:
    job_id = bench.put(retry=ONE_SECOND)
    bench.take()
    bench.fail(job_id)
    bench.clock.advance(1000)
    assert bench.take_ids() == [job_id]
    assert bench.job(job_id).attempt == 2
    assert bench.counts() == {"active": 1}
    assert bench.event_types(job_id)[-2:] == ["job.retrying", "job.started"]


def test_a_retry_without_delay_is_there_for_the_fetch_behind_its_fail(bench: Bench) -> None:
    job_id = bench.put()
    bench.take()
    at_once = parse_fault({"message": "x", "details": {"action": "retry", "retry_after_ms": 0}})
    failed = Fail(job_id, at_once, "w", 1)
    (outcome,) = bench.commit(SettleAndFetch((failed,), Claim(("q",), 1, "w"))).outcomes
    assert [one.claimed.job.id for one in outcome.jobs] == [job_id]


def test_priority_decides_between_what_is_promoted_and_what_lies_there(bench: Bench) -> None:
    low, same = bench.put(priority=-1), bench.put()
    due = bench.put(scheduled_at="+PT1S")
    urgent = bench.put(scheduled_at="+PT1S", priority=5)
    bench.clock.advance(1000)
    assert bench.take_ids(count=9) == [urgent, same, due, low]


def test_those_that_are_due_first_stand_first(bench: Bench) -> None:
    made = [bench.put(scheduled_at=f"+PT{3 - n}S") for n in range(3)]
    bench.clock.advance(3000)
    assert bench.take_ids(count=9) == made[::-1]


def test_only_the_queues_of_the_fetch_are_looked_into(bench: Bench) -> None:
    other, mine = bench.put(scheduled_at="+PT1S", queue="r"), bench.put(scheduled_at="+PT1S")
    bench.clock.advance(1000)
    assert bench.take_ids(count=9) == [mine]
    assert bench.state(other) == "scheduled"
    assert bench.take_ids(count=9, queues=(), job_types=("t",)) == [other]


def test_a_fetch_promotes_a_bounded_number_and_the_next_goes_on(bench: Bench) -> None:
    many = [{"scheduled_at": "+PT1S"}] * (MOST + 5)
    bench.do(enqueue(jobs=many))
    bench.do(enqueue(jobs=[{**one, "queue": "r"} for one in many]))
    bench.clock.advance(1000)
    assert len(bench.take_ids(queues=("q", "r"))) == 1
    assert bench.counts()["scheduled"] == bench.counts("r")["scheduled"] == 5 + MOST // 2
    assert len(bench.take_ids(count=999)) == MOST // 2 - 1 + 5 + MOST // 2
    assert bench.sweep().matured == 5 + MOST // 2


def test_what_is_promoted_and_not_taken_wakes_others(bench: Bench) -> None:
    bench.do(enqueue(jobs=[{"scheduled_at": "+PT1S"}] * 3))
    bench.clock.advance(1000)
    committed = bench.commit(Claim(("q",), 1, "w"))
    assert len(committed.outcomes[0]) == 1
    assert committed.wakes["q"] >= 2
    assert bench.counts() == {"active": 1, "available": 2}


def test_a_job_that_has_expired_is_left_to_the_sweep(bench: Bench) -> None:
    job_id = bench.put(scheduled_at="+PT1S", expires_at="+PT2S")
    bench.clock.advance(2000)
    assert bench.take_ids() == []
    assert bench.state(job_id) == "scheduled"
    bench.sweep()
    assert bench.state(job_id) == "discarded"


def test_a_lease_that_ran_out_is_left_to_the_sweep(bench: Bench) -> None:
    job_id = bench.put(visibility_timeout=5)
    bench.take("w")
    bench.clock.advance(5000)
    assert bench.take_ids("x") == []
    assert bench.state(job_id) == "active"
    bench.ack(job_id, "w")


def test_nothing_is_promoted_in_maintenance_and_all_of_it_after(bench: Bench) -> None:
    job_id = bench.put(scheduled_at="+PT1S")
    bench.do(Maintain(MaintenanceOrder(True)))
    bench.clock.advance(1000)
    assert bench.take_ids() == []
    assert bench.state(job_id) == "scheduled"
    bench.do(Maintain(MaintenanceOrder(False)))
    assert bench.take_ids() == [job_id]


def test_a_paused_queue_hands_out_nothing_that_is_promoted(bench: Bench) -> None:
    job_id = bench.put(scheduled_at="+PT1S")
    bench.do(SetPaused("q", True))
    bench.clock.advance(1000)
    assert bench.take_ids() == []
    bench.do(SetPaused("q", False))
    assert bench.take_ids() == [job_id]


def test_who_is_handed_nothing_promotes_nothing(bench: Bench) -> None:
    job_id = bench.put(scheduled_at="+PT1S")
    bench.beat("w", reported=WorkerState.QUIET)
    bench.clock.advance(1000)
    assert bench.take_ids("w") == []
    assert bench.state(job_id) == "scheduled"


def test_a_retry_waits_for_its_rate_limit_like_any_other_job(bench: Bench) -> None:
    limit = {"key": "k", "concurrency": 1}
    first = bench.put(rate_limit=limit, scheduled_at="+PT1S")
    second = bench.put(rate_limit=limit, scheduled_at="+PT1S")
    bench.clock.advance(1000)
    assert bench.take_ids(count=9) == [first]
    assert bench.take_ids(count=9) == []
    bench.ack(first)
    assert bench.take_ids(count=9) == [second]


def test_tenants_share_what_is_promoted(bench: Bench) -> None:
    for tenant in "aab":
        bench.put(scheduled_at="+PT1S", meta={"tenant_id": tenant})
    bench.clock.advance(1000)
    assert {one.claimed.job.tenant for one in bench.take(count=2)} == {"a", "b"}
    assert bench.counts("a/") == {"available": 1, "active": 1}


def test_a_claim_for_linked_jobs_looks_into_the_queues_of_its_rooms(bench: Bench) -> None:
    bench.do(Register("w", {}, kinds=(Kind("q", "t", "t", queue="q"),)))
    job_id = bench.put(scheduled_at="+PT1S")
    bench.clock.advance(1000)
    (delivery,) = bench.do(Claim((), 1, "w", policy=OldestTask()))
    assert delivery.claimed.job.id == job_id
