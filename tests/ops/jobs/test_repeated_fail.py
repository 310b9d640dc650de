"""A FAIL that is sent again, since its answer was lost."""

from typing import Any

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.ops.jobs.settle import Fail, Repeated
from tests.ops.bench import Bench

BOOM = parse_fault({"code": "c", "type": "T", "message": "boom"})
OTHER = parse_fault({"code": "c", "type": "T", "message": "another"})
SNOOZE = parse_fault({"details": {"action": "snooze", "retry_after_ms": 60_000}})
KINDS: dict[str, dict[str, Any]] = {
    "failed": {"fault": BOOM},
    "failed otherwise": {"fault": OTHER},
    "requeued": {"fault": BOOM, "requeue": True},
    "snoozed": {"fault": SNOOZE},
}


def failing(job_id: str, kind: str, worker: str | None = "w", attempt: int | None = 1) -> Fail:
    return Fail(job_id, worker_id=worker, attempt=attempt, **KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempts", [1, 5])
def test_the_very_fail_that_ended_a_delivery_is_answered_again(
    bench: Bench, kind: str, attempts: int
) -> None:
    job_id = bench.put(max_attempts=attempts)
    bench.take("w")
    first = bench.do(failing(job_id, kind))
    happened = bench.event_types(job_id)
    assert bench.do(failing(job_id, kind)) == Repeated(first.after)
    assert bench.event_types(job_id) == happened
    for worker, attempt in (("x", 1), ("w", 2), ("w", None), (None, 1), (None, None)):
        with pytest.raises(Conflict):
            bench.do(failing(job_id, kind, worker, attempt))
    for other in KINDS.keys() - {kind}:
        if {kind, other} != {"requeued", "snoozed"}:
            with pytest.raises(Conflict):
                bench.do(failing(job_id, other))


def test_it_is_answered_again_while_another_worker_has_the_job(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 5, "initial_interval": "PT1S"})
    bench.take("w")
    bench.do(failing(job_id, "failed"))
    bench.clock.advance(60_000)
    bench.sweep()
    assert bench.take_ids("x") == [job_id]
    again = bench.do(failing(job_id, "failed"))
    assert isinstance(again, Repeated)
    assert (again.after.state, again.after.attempt) == ("active", 2)
    lease = bench.lease(job_id)
    assert lease is not None
    assert lease.worker_id == "x"
