"""The events of one job are told in the order in which they happened, whichever node wrote them.

A position is the number of a transaction, which it gets when it begins. One that began earlier may
find what one that began later has committed meanwhile.
"""

import pytest

from ojs_server.ops.jobs.settle import Cancel
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.base import Overtaken, Store
from tests.ops.bench import Bench, HandClock, enqueue
from tests.store.conftest import OpenNode
from tests.store.postgres.conftest import InThread
from tests.store.postgres.server import blocked, wait_until
from tests.store.records import EVERYTHING, a_job, an_event


def log_of(store: Store) -> list[str]:
    with store.reader() as reader:
        return [placed.event.type for placed in reader.events(0, EVERYTHING, 100).events]


def test_an_event_of_a_job_is_not_told_before_an_earlier_one(node: OpenNode) -> None:
    first, second = node("a"), node("b")

    def overtaken() -> None:
        with first.transaction() as tx:
            with second.transaction() as other:
                other.insert_events([an_event("job.enqueued")])
            tx.insert_events([an_event("job.started")])

    with pytest.raises(Overtaken, match="later"):
        overtaken()
    assert log_of(first) == ["job.enqueued"]
    with first.transaction() as tx:
        tx.insert_events([an_event("job.started")])
    assert log_of(second) == ["job.enqueued", "job.started"]


def test_events_of_other_subjects_may_be_told_later(node: OpenNode) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        with second.transaction() as other:
            other.insert_events([an_event("workflow.advanced", subject="w1", job_type=None)])
            other.insert_events([an_event("job.enqueued", subject="j2")])
        tx.insert_events([an_event("workflow.started", subject="w1", job_type=None)])
        tx.insert_events([an_event("job.enqueued", subject="j1")])
    assert len(log_of(first)) == 4


@pytest.mark.parametrize("types", [None, ["mail.send"]], ids=["any type", "named types"])
def test_a_claim_leaves_what_a_later_transaction_made_available(
    node: OpenNode, types: list[str] | None
) -> None:
    first, second = node("a"), node("b")
    with first.transaction() as tx:
        with second.transaction() as other:
            other.insert_jobs([a_job("j1", queue="q", seq=other.position())])
        assert tx.claim(["q"], types, 9) == []
    with first.transaction() as tx:
        tx.insert_jobs([a_job("j2", queue="q", seq=tx.position())])
        assert [one.job.id for one in tx.claim(["q"], types, 9)] == ["j1", "j2"]


def test_a_call_that_waited_for_a_job_is_decided_anew(
    node: OpenNode, threaded: InThread, postgres_store: str, clock: HandClock
) -> None:
    """It began before the claim that it waited for."""
    bench, second = Bench(node("a"), clock), node("b")
    job = bench.put()
    with second.transaction() as holding:
        holding.load_jobs([job])
        cancelling = threaded(bench.do, Cancel(job))
        wait_until(lambda: blocked(postgres_store) == 1)
        with node("c").transaction() as later:
            events = [an_event("job.retried", subject=job)]
            later.insert_events(events)
    cancelling.result()
    assert bench.event_types(job) == ["job.enqueued", "job.retried", "job.cancelled"]


def test_a_batch_with_one_such_call_is_carried_out(
    node: OpenNode, threaded: InThread, postgres_store: str, clock: HandClock
) -> None:
    bench, second = Bench(node("a"), clock), node("b")
    jobs = [bench.put() for _ in range(2)]
    with second.transaction() as holding:
        holding.load_jobs(jobs[1:])
        batch = threaded(
            bench.commit, Cancel(jobs[0]), Cancel(jobs[1]), Claim(("q",), 9), enqueue()
        )
        wait_until(lambda: blocked(postgres_store) == 1)
        with node("c").transaction() as later:
            later.insert_events([an_event("job.retried", subject=jobs[1])])
    *cancelled, claimed, enqueued = batch.result().outcomes
    assert [one.after.state for one in cancelled] == ["cancelled"] * 2
    # Together: it takes what it has stored itself.
    assert [one.claimed.job.id for one in claimed] == [enqueued.jobs[0].job.id]
    assert bench.event_types(jobs[1]) == ["job.enqueued", "job.retried", "job.cancelled"]
