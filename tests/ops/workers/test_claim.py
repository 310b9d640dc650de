"""FETCH: order of queues, priority, then first in, first out; each job goes to one worker."""

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.domain.profile import SIGN_EVERY_MS
from ojs_server.domain.workers.worker import Directive, WorkerState
from ojs_server.ops.fairness.fair_claim import ServingOrder
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.presence import Deregister, Direct
from tests.ops.bench import Bench


def test_a_claim_makes_the_job_active_and_leases_it(bench: Bench) -> None:
    job_id = bench.put()
    (delivery,) = bench.take("w", lease_ms=7000, fetch_id="f")
    job, lease = bench.found(job_id)
    assert delivery.claimed.job == job
    assert delivery.lease == lease
    assert lease is not None
    assert (job.state, job.attempt, job.started_at, job.due_at) == (
        "active",
        1,
        bench.clock.now,
        None,
    )
    assert (lease.worker_id, lease.attempt, lease.fetch_id) == ("w", 1, "f")
    assert (lease.expires_at, lease.deadline_at) == (bench.clock.now + 7000, None)
    assert bench.event_types(job_id) == ["job.enqueued", "job.started"]
    assert bench.counts() == {"active": 1}


def test_queues_go_in_order_then_priority_then_age(bench: Bench) -> None:
    low = bench.put(priority=-5)
    first = bench.put()
    high = bench.put(priority=9)
    second = bench.put()
    other = bench.put(queue="r", priority=100)
    assert bench.take_ids("w", 10, queues=("q", "r")) == [high, first, second, low, other]


def test_a_claim_of_many_types_keeps_the_order_of_its_queues(bench: Bench) -> None:
    types = tuple(f"t{n}" for n in range(1000))
    late = bench.put(type="t7")
    bench.put(type="other")
    high = bench.put(type="t999", priority=9)
    other = bench.put(queue="r", type="t500", priority=100)
    assert bench.take_ids("w", 10, queues=("q", "r"), job_types=types) == [high, late, other]
    assert bench.take_ids("w", 10, queues=("q", "r"), job_types=types) == []


def test_where_more_types_wait_than_are_read_at_once_the_order_stays(bench: Bench) -> None:
    types = tuple(f"t{n}" for n in range(1000))
    jobs = [bench.put(type=f"t{n}", priority=n % 3) for n in range(150)]
    ordered = [job for rest in (2, 1, 0) for job in jobs[rest::3]]
    taken = bench.take_ids("w", 120, job_types=types)
    assert taken == ordered[:100]
    assert bench.take_ids("w", 120, job_types=types) == ordered[100:]


def test_queues_that_share_by_weight_all_hand_out_of_many_types(bench: Bench) -> None:
    types = tuple(f"t{n}" for n in range(1000))
    for n in range(150):
        bench.put(type=f"t{n}")
    own = bench.put(queue="r", type="t900")
    serving = ServingOrder(None, "weighted", (("q", 1), ("r", 50)))
    taken = bench.take_ids("w", 60, queues=("q", "r"), job_types=types, serving=serving)
    assert own in taken


def test_priority_decides_in_every_queue_that_a_claim_reaches(bench: Bench) -> None:
    first = bench.put()
    bench.put(queue="r")
    high = bench.put(queue="r", priority=1)
    assert bench.take_ids("w", 2, queues=("q", "r")) == [first, high]


def test_a_claim_takes_no_more_than_asked_and_only_the_wanted_types(bench: Bench) -> None:
    wanted = [bench.put(type="a"), bench.put(type="b"), bench.put(type="a")]
    assert bench.take_ids("w", 9, job_types=("b", "c")) == [wanted[1]]
    assert bench.take_ids("w", 1) == [wanted[0]]
    assert bench.take_ids("w", 9, queues=("none",)) == []
    assert bench.take_ids("w", 9) == [wanted[2]]
    assert bench.take_ids("w", 9) == []


def test_claims_of_one_transaction_share_without_overlap(bench: Bench) -> None:
    jobs = [bench.put() for _ in range(5)]
    answers = bench.commit(
        Claim(("q",), 2, "v"), Claim(("q",), 2, "w"), Claim(("q", "r"), 2, "x"), Claim(("q",), 2)
    ).outcomes
    taken = [[one.claimed.job.id for one in answer] for answer in answers]
    assert sorted(job_id for part in taken for job_id in part) == sorted(jobs)
    assert taken[0] == jobs[:2]
    assert bench.counts() == {"active": 5}


@pytest.mark.parametrize(
    ("fetch", "job", "milliseconds"),
    [(7000, 60, 7000), (None, 60, 60_000), (None, None, 1_800_000)],
)
def test_the_lease_is_the_fetchs_then_the_jobs_then_the_servers(
    bench: Bench, fetch: int | None, job: int | None, milliseconds: int
) -> None:
    bench.put(visibility_timeout=job)
    (delivery,) = bench.take(lease_ms=fetch)
    assert delivery.lease.duration_ms == milliseconds
    assert delivery.lease.expires_at == bench.clock.now + milliseconds


def test_a_job_with_a_timeout_gets_a_deadline(bench: Bench) -> None:
    bench.put(timeout=5, grace_period=2)
    (delivery,) = bench.take()
    assert delivery.lease.deadline_at == bench.clock.now + 7000


def test_an_expired_or_paused_job_is_not_handed_out(bench: Bench) -> None:
    late = bench.put(expires_at="+PT5S")
    bench.clock.advance(5000)
    assert bench.take_ids() == []
    assert bench.state(late) == "available"
    kept = bench.put()
    bench.do(SetPaused("q", True))
    assert bench.take_ids() == []
    bench.do(SetPaused("q", False))
    assert bench.take_ids() == [kept]


def test_a_repeated_fetch_answers_what_its_worker_still_holds(bench: Bench) -> None:
    low, high, third = bench.put(), bench.put(priority=5), bench.put()
    assert bench.take_ids("w", 2, fetch_id="f") == [high, low]
    assert bench.take_ids("w", 2, fetch_id="f") == [high, low]
    assert bench.job(high).attempt == 1
    bench.ack(high, "w", 1)
    assert bench.take_ids("w", 2, fetch_id="f") == [low]
    bench.ack(low, "w", 1)
    assert bench.take_ids("w", 2, fetch_id="f") == [third]


def test_another_worker_does_not_get_the_jobs_of_a_fetch(bench: Bench) -> None:
    mine, yours = bench.put(), bench.put()
    assert bench.take_ids("w", fetch_id="f") == [mine]
    assert bench.take_ids("x", fetch_id="f") == [yours]
    assert bench.take_ids(None, fetch_id="f") == []
    assert bench.take_ids("w", fetch_id="f") == [mine]


def test_a_repeated_fetch_names_other_queues_and_still_gets_its_jobs(bench: Bench) -> None:
    mine = bench.put()
    assert bench.take_ids("w", fetch_id="f") == [mine]
    assert bench.take_ids("w", fetch_id="f", queues=("r",)) == [mine]


def test_only_a_running_worker_is_handed_jobs(bench: Bench) -> None:
    job_id = bench.put()
    bench.beat("quiet", reported=WorkerState.QUIET)
    bench.beat("told")
    bench.do(Direct(Directive.QUIET, "told"))
    bench.beat("gone")
    bench.do(Deregister("gone"))
    for worker in ("quiet", "told"):
        assert bench.take_ids(worker) == []
    with pytest.raises(Conflict):
        bench.take("gone")
    # The others of the same transaction are not held up.
    barred, served = bench.commit(Claim(("q",), 1, "quiet"), Claim(("q",), 1, "w")).outcomes
    assert barred == ()
    assert served[0].claimed.job.id == job_id


def test_a_quiet_worker_still_hears_of_what_it_holds(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("w", fetch_id="f")
    bench.beat("w", [job_id], WorkerState.QUIET)
    assert bench.take_ids("w", fetch_id="f") == [job_id]


def test_a_fetching_worker_is_noted_and_never_counts_as_beating(bench: Bench) -> None:
    bench.take("w")
    noted = bench.worker()
    assert (noted.seen_at, noted.created_at, noted.alive_at) == (bench.clock.now,) * 2 + (None,)
    bench.clock.advance(SIGN_EVERY_MS - 1)
    bench.take("w")
    assert bench.worker().seen_at == noted.seen_at
    bench.clock.advance(1)
    bench.take("w")
    assert bench.worker().seen_at == bench.clock.now
