"""Calls on one job: stored state, counters, events, and refusals."""

from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.ops.jobs.settle import Ack, Activate, Cancel, Fail, Remove, Repeated, Revive
from ojs_server.ops.workers.claim import Claim
from tests.ops.bench import Bench

NOBODY = "0190a0f0-0000-7000-8000-00000000000f"


def taken(bench: Bench, **given: Any) -> str:
    """A job in the hands of `w`."""
    job_id = bench.put(**given)
    assert bench.take_ids("w") == [job_id]
    return job_id


def dead(bench: Bench, **given: Any) -> str:
    """A job among the dead letters."""
    job_id = taken(bench, **given)
    bench.fail(job_id, {"retryable": False})
    return job_id


def test_an_ack_completes_ends_the_lease_and_stores_the_result(bench: Bench) -> None:
    job_id = taken(bench)
    bench.ack(job_id, "w", 1)
    assert bench.found(job_id)[1] is None
    with bench.store.reader() as reader:
        found = reader.job(job_id)
    assert found is not None
    assert found[0].result == b'"done"'
    assert bench.event_types(job_id) == ["job.enqueued", "job.started", "job.completed"]
    assert bench.counts() == {"completed": 1}


def test_a_second_ack_is_a_conflict_and_changes_nothing(bench: Bench) -> None:
    job_id = taken(bench)
    bench.ack(job_id, "w", 1)
    before = bench.found(job_id)
    with pytest.raises(Conflict, match="is completed; this needs active"):
        bench.ack(job_id, "w")
    assert bench.found(job_id) == before
    assert bench.event_types(job_id)[-1] == "job.completed"


def test_the_very_ack_that_completed_a_job_is_answered_again(bench: Bench) -> None:
    job_id = taken(bench)
    first = bench.do(Ack(job_id, "w", 1, b"1"))
    again = bench.do(Ack(job_id, "w", 1, b"2"))
    assert again == Repeated(first.after)
    with bench.store.reader() as reader:
        found = reader.job(job_id)
    assert found is not None
    assert found[0].result == b"1"
    assert bench.event_types(job_id) == ["job.enqueued", "job.started", "job.completed"]


@pytest.mark.parametrize(
    "other",
    [("x", 1), ("w", 2), ("w", None), (None, 1), (None, None)],
    ids=["a stranger", "another delivery", "no delivery", "no worker", "neither"],
)
def test_any_other_ack_of_a_completed_job_is_a_conflict(
    bench: Bench, other: tuple[str | None, int | None]
) -> None:
    job_id = taken(bench)
    bench.do(Ack(job_id, "w", 1))
    with pytest.raises(Conflict):
        bench.do(Ack(job_id, *other))
    bench.put()
    nobody = bench.do(Claim(("q",), 1))[0].claimed.job.id
    bench.do(Ack(nobody, attempt=1))
    with pytest.raises(Conflict):
        bench.do(Ack(nobody, *other))


def test_an_ack_is_no_repetition_once_the_job_ended_otherwise(bench: Bench) -> None:
    job_id = taken(bench)
    bench.do(Cancel(job_id))
    with pytest.raises(Conflict):
        bench.do(Ack(job_id, "w", 1))


def test_only_the_holder_of_the_present_delivery_settles(bench: Bench) -> None:
    job_id = taken(bench)
    for worker, attempt in (("x", 1), ("w", 2), ("w", 0), ("x", None)):
        with pytest.raises(Conflict):
            bench.ack(job_id, worker, attempt)
        with pytest.raises(Conflict):
            bench.fail(job_id, worker_id=worker, attempt=attempt)
    assert bench.state(job_id) == "active"
    bench.ack(job_id, "w", 1)


def test_the_same_worker_cannot_settle_its_earlier_delivery(bench: Bench) -> None:
    job_id = taken(bench)
    bench.fail(job_id, requeue=True, worker_id="w", attempt=1)
    assert bench.take_ids("w") == [job_id]
    with pytest.raises(Conflict, match=r"delivery 1 .* is over"):
        bench.ack(job_id, "w", 1)
    bench.ack(job_id, "w", 2)


def test_a_requeued_job_keeps_its_place(bench: Bench) -> None:
    first = taken(bench)
    second = bench.put()
    bench.fail(first, requeue=True)
    assert bench.take_ids("x", 2) == [first, second]
    assert bench.event_types(first)[-2:] == ["job.released", "job.started"]


def test_a_failed_job_waits_and_then_stands_at_the_end(bench: Bench) -> None:
    job_id = taken(bench, retry={"initial_interval": "PT2S", "jitter": False})
    committed = bench.commit(Fail(job_id, parse_fault("boom"), worker_id="w", attempt=1))
    assert committed.due_at == bench.clock.now + 2000
    later = bench.put()
    bench.clock.advance(1999)
    bench.sweep()
    assert bench.state(job_id) == "retryable"
    bench.clock.advance(1)
    bench.sweep()
    assert bench.take_ids("w", 2) == [later, job_id]
    assert bench.job(job_id).attempt == 2
    assert bench.event_types(job_id) == [
        "job.enqueued",
        "job.started",
        "job.failed",
        "job.retrying",
        "job.started",
    ]


def test_a_held_job_may_be_cancelled_and_is_not_to_be_settled_any_more(bench: Bench) -> None:
    job_id = taken(bench)
    bench.do(Cancel(job_id))
    assert bench.lease(job_id) is None
    assert bench.counts() == {"cancelled": 1}
    for call in (Ack(job_id, worker_id="w", attempt=1), Cancel(job_id)):
        with pytest.raises(Conflict, match="is cancelled"):
            bench.do(call)


def test_a_pending_job_is_activated_once(bench: Bench) -> None:
    job_id = bench.put(pending=True)
    assert bench.take_ids() == []
    assert bench.commit(Activate(job_id)).wakes == {"q": 1}
    assert bench.take_ids() == [job_id]
    with pytest.raises(Conflict, match="this needs pending"):
        bench.do(Activate(job_id))


def test_a_dead_letter_starts_over(bench: Bench) -> None:
    job_id = dead(bench)
    assert bench.counts() == {"discarded": 1}
    bench.do(Revive(job_id))
    job = bench.job(job_id)
    assert (job.attempt, job.error) == (0, None)
    assert job.errors is not None
    assert bench.take_ids() == [job_id]
    assert bench.counts() == {"active": 1}


def test_a_dead_letter_can_be_removed(bench: Bench) -> None:
    job_id = dead(bench)
    bench.do(Remove(job_id))
    assert not bench.exists(job_id)
    assert bench.counts() == {}
    assert bench.event_types(job_id)[-1] == "dead_letter.deleted"


@pytest.mark.parametrize("call", [Ack(NOBODY), Cancel(NOBODY), Activate(NOBODY), Revive(NOBODY)])
def test_an_unknown_job_is_not_found(bench: Bench, call: Any) -> None:
    with pytest.raises(NotFound) as refused:
        bench.do(call)
    kind = "dead_letter_job" if isinstance(call, Revive) else "job"
    assert refused.value.details == {"resource_type": kind, "resource_id": NOBODY}
    assert refused.value.hint


@pytest.mark.parametrize("kind", [Revive, Remove])
def test_a_job_that_is_not_dead_is_no_dead_letter(bench: Bench, kind: Any) -> None:
    job_id = taken(bench)
    with pytest.raises(NotFound, match="among the dead letters"):
        bench.do(kind(job_id))
    assert bench.state(job_id) == "active"


def test_many_jobs_are_settled_together_and_refusals_stay_their_own(bench: Bench) -> None:
    jobs = [bench.put() for _ in range(4)]
    bench.take("w", 4)
    committed = bench.commit(
        Ack(jobs[0], worker_id="w"),
        Ack(jobs[1], worker_id="x"),
        Cancel(jobs[2]),
        Fail(jobs[3], parse_fault({"retryable": False})),
        Ack(NOBODY),
    )
    kinds = [type(outcome).__name__ for outcome in committed.outcomes]
    assert kinds == ["Change", "Conflict", "Change", "Change", "NotFound"]
    assert sorted(committed.ended) == sorted([jobs[0], jobs[2], jobs[3]])
    assert bench.counts() == {"completed": 1, "active": 1, "cancelled": 1, "discarded": 1}
