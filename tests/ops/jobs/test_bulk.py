"""Bulk calls: one transaction for each step, decided again on locked jobs."""

import asyncio

from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import State
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.bulk import Bulk, BulkOutcome
from ojs_server.ops.jobs.bulk_enqueue import BulkEnqueue, BulkEnqueued, BulkEntry
from ojs_server.ops.jobs.bulk_search import by_filter
from ojs_server.ops.jobs.settle import Cancel
from tests.ops.bench import Bench, enqueue
from tests.ops.flows import Flows, callbacks, chain, group, job

WAITING = JobFilter(states=(State.AVAILABLE, State.SCHEDULED))


def codes(done: BulkOutcome) -> list[str | None]:
    return [item.error.answer_code.name if item.error else None for item in done.items]


def test_a_job_that_has_moved_on_since_it_was_found_is_left_alone(bench: Bench) -> None:
    first, second = bench.put(), bench.put()
    bench.take()
    done = bench.do(Bulk("cancel", (first, second), WAITING))
    assert codes(done) == ["conflict", None]
    assert (bench.state(first), bench.state(second)) == ("active", "cancelled")


def test_the_same_job_may_be_named_twice(bench: Bench) -> None:
    job_id = bench.put()
    done = bench.do(Bulk("cancel", (job_id, job_id)))
    assert codes(done) == [None, None]
    assert bench.event_types(job_id) == ["job.enqueued", "job.cancelled"]
    assert bench.counts() == {"cancelled": 1}


def test_a_step_and_single_calls_share_a_batch(bench: Bench) -> None:
    ids = [bench.put() for _ in range(3)]
    bench.commit(Bulk("cancel", tuple(ids[:2])), Cancel(ids[2]), enqueue())
    assert [bench.state(job_id) for job_id in ids] == ["cancelled"] * 3
    assert bench.counts() == {"cancelled": 3, "available": 1}


def test_retried_jobs_wake_those_who_wait(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    bench.take()
    bench.fail(job_id)
    committed = bench.commit(Bulk("retry", (job_id,)))
    assert committed.wakes == {"q": 1}
    assert bench.take_ids() == [job_id]


def test_a_cancelled_job_is_lost_to_its_worker(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("w")
    bench.do(Bulk("cancel", (job_id,)))
    assert bench.beat("w", [job_id]).cancelled == (job_id,)


def test_deleting_is_counted_and_told(bench: Bench) -> None:
    job_id = bench.put()
    bench.take()
    bench.ack(job_id)
    bench.do(Bulk("delete", (job_id,)))
    assert bench.counts() == {}
    assert bench.event_types(job_id)[-1] == "job.deleted"


def test_what_a_running_workflow_still_hands_on_is_not_deleted(bench: Bench) -> None:
    flows = Flows(bench)
    flow = flows.start(callbacks(job("a"), job("b"), on_complete=job("c")))
    first, second = bench.take_ids(count=2)
    bench.ack(first)
    plain = bench.put()
    bench.do(Cancel(plain))
    done = bench.do(Bulk("delete", (first, second, plain)))
    assert codes(done) == ["conflict", "conflict", None]
    error = done.items[0].error
    assert (error.details["workflow_id"], flow in error.message) == (flow, True)
    assert bench.exists(first)
    assert codes(bench.do(Bulk("delete", (first,), atomic=True))) == ["conflict"]
    bench.ack(second)
    # The step that runs now may still ask for results that were passed by reference.
    assert codes(bench.do(Bulk("delete", (first,)))) == ["conflict"]
    (called,) = bench.take_ids()
    bench.ack(called)
    assert codes(bench.do(Bulk("delete", (first, second, called)))) == [None] * 3


def test_a_refusal_is_answered_again_under_its_key(bench: Bench) -> None:
    Flows(bench).start(chain(job("a"), job("b")))
    (first,) = bench.take_ids()
    bench.ack(first)
    op = Bulk("delete", (first,), receipt=("", "bulk.delete", "k"), body_hash=b"h")
    assert codes(bench.do(op)) == codes(bench.do(op)) == ["conflict"]


def test_jobs_of_a_group_can_be_deleted_while_others_run(bench: Bench) -> None:
    Flows(bench).start(group(job("a"), job("b")))
    first, _ = bench.take_ids(count=2)
    bench.ack(first)
    assert codes(bench.do(Bulk("delete", (first,)))) == [None]


async def test_steps_leave_room_for_other_calls(engine: Engine) -> None:
    drafts = tuple(parse_draft({"type": "t", "args": [], "queue": "q"}) for _ in range(1000))
    await engine.run(BulkEnqueue(drafts))
    call = asyncio.create_task(by_filter(engine, "cancel", WAITING))
    other = await engine.run(enqueue(queue="other"))
    done = await call
    assert (len(done.items), done.failed) in {(1000, 0), (1001, 0)}
    assert len(other.jobs) == 1


async def test_two_calls_at_once_cancel_each_job_once(engine: Engine) -> None:
    drafts = tuple(parse_draft({"type": "t", "args": [], "queue": "q"}) for _ in range(600))
    await engine.run(BulkEnqueue(drafts))
    calls = await asyncio.gather(*(by_filter(engine, "cancel", WAITING) for _ in range(2)))
    assert sum(len(call.items) - call.failed for call in calls) == 600
    (queue,) = await engine.read(lambda reader: reader.queues(["q"]))
    assert (queue.counts["cancelled"], queue.counts["available"]) == (600, 0)


def test_equal_jobs_of_one_call_meet_in_its_order(bench: Bench) -> None:
    unique = {"type": "t", "args": [], "unique": {}}
    replacing = {**unique, "unique": {"on_conflict": "replace"}}
    settled: BulkEnqueued = bench.do(
        BulkEnqueue(tuple(map(parse_draft, (unique, unique, replacing, unique))))
    )
    first, second, third, fourth = settled.items
    assert isinstance(first, BulkEntry)
    assert isinstance(third, BulkEntry)
    assert not isinstance(second, BulkEntry)
    assert not isinstance(fourth, BulkEntry)
    assert bench.state(first.stored.job.id) == "cancelled"
    assert bench.state(third.stored.job.id) == "available"
