"""Changes of a job's attempts, content and lease, on both stores."""

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.ops.jobs.amend import Amend
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail, Revive
from ojs_server.systems.zeebe.variables import merging, variables_of
from tests.ops.bench import Bench

MINUTE = 60_000


def variables(bench: Bench, job_id: str) -> dict[str, object]:
    with bench.store.reader() as reader:
        found = reader.job(job_id)
    assert found is not None
    return variables_of(found[0].args)


def test_the_deliveries_that_are_left_are_counted_from_now(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 3, "initial_interval_ms": 1})
    assert bench.do(Amend(job_id, retries=5)).max_attempts == 5
    bench.take()
    # The delivery that is under way is one of them.
    assert bench.do(Amend(job_id, retries=2)).max_attempts == 2
    bench.fail(job_id)
    assert bench.do(Amend(job_id, retries=2)).max_attempts == 3


def test_a_dead_letter_begins_anew_with_what_it_is_left(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    bench.take()
    bench.fail(job_id)
    bench.do(Amend(job_id, retries=2, change=merging({"a": 1})))
    bench.do(Revive(job_id))
    job = bench.job(job_id)
    assert (job.state, job.attempt, job.max_attempts) == ("available", 0, 2)
    assert variables(bench, job_id) == {"a": 1}


def test_variables_are_merged(bench: Bench) -> None:
    job_id = bench.put(args=[{"a": 1, "b": 1}])
    bench.do(Amend(job_id, change=merging({"b": 2})))
    assert variables(bench, job_id) == {"a": 1, "b": 2}


@pytest.mark.parametrize("lease_ms", [MINUTE // 2, 10 * MINUTE])
def test_a_lease_ends_so_long_from_now(bench: Bench, lease_ms: int) -> None:
    job_id = bench.put()
    bench.take(lease_ms=MINUTE)
    bench.clock.advance(10_000)
    bench.do(Amend(job_id, lease_ms=lease_ms))
    lease = bench.lease(job_id)
    assert lease is not None
    assert lease.expires_at == bench.clock.now + lease_ms


def test_a_job_that_nobody_has_has_no_lease(bench: Bench) -> None:
    job_id = bench.put()
    with pytest.raises(Conflict):
        bench.do(Amend(job_id, lease_ms=MINUTE))


def test_what_has_ended_is_not_amended(bench: Bench) -> None:
    done, cancelled = bench.put(), bench.put()
    bench.take()
    bench.ack(done)
    bench.do(Cancel(cancelled))
    for job_id in (done, cancelled, "0190a0f0-0000-7000-8000-000000000001"):
        with pytest.raises(NotFound):
            bench.do(Amend(job_id, retries=1))


def test_a_failure_leaves_variables(bench: Bench) -> None:
    job_id = bench.put(args=[{"a": 1}])
    bench.take()
    details = {"action": "retry", "retries": 7, "retry_after_ms": 0}
    fault = Fault("failed", "failed", "no", details=details)
    bench.do(Fail(job_id, fault, amend=merging({"b": 2})))
    assert bench.job(job_id).max_attempts == 8
    assert variables(bench, job_id) == {"a": 1, "b": 2}
    bench.sweep()
    bench.take()
    bench.do(Fail(job_id, Fault("x", "x", "x", retryable=False), amend=merging({"c": 3})))
    assert variables(bench, job_id) == {"a": 1, "b": 2, "c": 3}


def test_anybody_may_complete_what_was_lost(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("w", lease_ms=MINUTE, late_ack="accept_unfinished")
    bench.clock.advance(MINUTE)
    assert bench.sweep().lapsed == 1
    with pytest.raises(Conflict):
        bench.do(Ack(job_id))
    bench.do(Ack(job_id, any_holder=True, result=b"{}"))
    assert bench.state(job_id) == "completed"
    with pytest.raises(Conflict):
        bench.do(Ack(job_id, any_holder=True))
