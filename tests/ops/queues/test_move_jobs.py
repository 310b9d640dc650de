"""Jobs moved to another queue keep their position, holder, rate limit and history."""

import pytest

from ojs_server.domain.errors import Duplicate
from ojs_server.ops.jobs.settle import Cancel, Revive
from ojs_server.ops.limits.reopening import Reopen
from ojs_server.ops.queues.move_jobs import Move
from tests.ops.bench import Bench
from tests.ops.flows import Flows, chain, job
from tests.ops.limits.test_queue_limits import configure


def move(bench: Bench, *job_ids: str) -> int:
    count: int = bench.do(Move(job_ids, "q", "to")).count
    return count


def test_jobs_of_every_state_move_and_are_counted_where_they_are(bench: Bench) -> None:
    held, done, dead, called_off = (bench.put(retry={"max_attempts": 1}) for _ in range(4))
    bench.take(count=3)
    bench.ack(done)
    bench.fail(dead)
    bench.do(Cancel(called_off))
    late = bench.put(scheduled_at="+PT1H")
    put_by = bench.put(pending=True)
    ids = [held, done, dead, called_off, late, put_by]
    before = bench.counts()
    elsewhere = bench.put(queue="other")
    assert move(bench, *ids, elsewhere, "none") == 6
    assert bench.counts() == {}
    assert bench.counts("to") == before
    assert [bench.job(job_id).queue for job_id in (*ids, elsewhere)] == ["to"] * 6 + ["other"]
    ((kind, data),) = bench.events_of("q")
    assert (kind, data) == ("queue.moved", {"queue": "q", "target_queue": "to", "count": 6})
    assert move(bench, *ids) == 0
    bench.do(Revive(dead))
    assert bench.take_ids(queues=("to",)) == [dead]
    bench.clock.advance(3_600_000)
    bench.sweep()
    assert bench.state(late) == "available"


def test_whoever_holds_a_job_goes_on_with_it(bench: Bench) -> None:
    bench.do(configure("to", concurrency=1))
    bench.put(queue="to")
    held = bench.put()
    bench.take("w")
    move(bench, held)
    lease = bench.lease(held)
    assert lease is not None
    assert (lease.worker_id, lease.queue) == ("w", "to")
    assert bench.beat("w", [held]).extended == (held,)
    # It counts towards the limit of the queue that it is in now.
    assert bench.take_ids(queues=("to",)) == []
    bench.ack(held, "w")
    assert len(bench.take(queues=("to",))) == 1


def test_moved_jobs_stand_between_the_others_by_their_age(bench: Bench) -> None:
    order = [bench.put(queue=queue) for queue in ("to", "q", "to", "q")]
    assert move(bench, *order) == 2
    assert bench.take_ids(queues=("to",), count=9) == order


def test_moving_wakes_those_who_wait_there(bench: Bench) -> None:
    ids = tuple(bench.put() for _ in range(2))
    (committed,) = [bench.commit(Move(ids, "q", "to"))]
    assert committed.wakes == {"to": 2}


def test_moved_jobs_keep_their_rate_key(bench: Bench) -> None:
    limit = {"rate_limit": {"key": "k", "concurrency": 1}}
    held, waits = bench.put(**limit), bench.put(**limit)
    bench.take()
    move(bench, held, waits)
    assert bench.take_ids(queues=("to",)) == []
    bench.ack(held)
    bench.do(Reopen())
    assert bench.take_ids(queues=("to",)) == [waits]


def test_a_unique_policy_that_compares_queues_finds_a_moved_job(bench: Bench) -> None:
    policy = {"unique": {"keys": ["type", "queue"]}}
    moved = bench.put(**policy)
    move(bench, moved)
    with pytest.raises(Duplicate) as refusal:
        bench.put(queue="to", **policy)
    assert (refusal.value.details or {})["existing_job_id"] == moved
    assert bench.state(bench.put(**policy)) == "available"


def test_a_workflow_goes_on_with_a_step_that_was_moved(bench: Bench) -> None:
    flows = Flows(bench)
    flow = flows.start(chain(job("a"), job("b")))
    (first,) = bench.take_ids()
    move(bench, first)
    bench.ack(first)
    assert flows.states(flow)["1"] == "pending"


def test_bounds_and_types_of_the_target_are_for_enqueues(bench: Bench) -> None:
    bench.do(configure("to", backpressure={"max_depth": 1}, allowed_job_types=["mail.*"]))
    ids = [bench.put() for _ in range(3)]
    assert move(bench, *ids) == 3
    assert bench.counts("to") == {"available": 3}
