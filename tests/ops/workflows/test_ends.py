"""Every way in which a job of a workflow ends, and cancelling the whole."""

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.ops.jobs.settle import Ack, Cancel, Remove, Revive
from ojs_server.ops.workflows.operations import CancelWorkflow
from ojs_wire import codec
from tests.ops.flows import Flows, callbacks, chain, group, job

ID = "0190a0f0-0000-7000-8000-00000000000a"


def test_a_cancelled_job_is_a_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    (member,) = flows.view(flow).members
    flows.bench.do(Cancel(member.job_id))
    assert flows.state(flow) == "failed"
    (member,) = flows.view(flow).members
    assert member.error is not None
    assert b'"code":"cancelled"' in member.error


def test_a_job_cancelled_between_attempts_was_cancelled(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), on_failure=job("b")))
    assert flows.take() == ["a"]
    (job_id,) = flows.job_ids()
    flows.bench.fail(job_id)
    flows.bench.do(Cancel(job_id))
    assert flows.take() == ["b"]
    assert b'"code":"cancelled"' in (flows.parents()[0] or b"")
    assert flows.state(flow) == "running"


def test_large_errors_are_handed_on_by_reference(flows: Flows) -> None:
    count = 30
    flows.start(callbacks(*[job("a")] * count, on_complete=job("b")))
    for _ in range(count):
        flows.failed("a", {"code": "x", "message": "m" * 10_000, "retryable": False})
    assert flows.take() == ["b"]
    (parents,) = map(codec.decode, filter(None, flows.parents()))
    assert len(parents) == count
    assert all("error" in one for one in parents)
    # The nearest ones are whole.
    assert parents[-1]["error"]["code"] == "x"
    assert parents[0]["error"]["$ref"].startswith("/ojs/v1/jobs/")


def test_an_expired_job_is_a_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a", expires_at="+PT1S"), job("b")))
    flows.bench.clock.advance(1001)
    flows.bench.sweep()
    assert flows.state(flow) == "failed"


def test_the_expiry_of_a_later_step_counts_from_its_turn(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b", expires_at="+PT5S")))
    flows.bench.clock.advance(60_000)
    flows.done("a")
    flows.done("b")
    assert flows.state(flow) == "completed"


def test_a_timeout_is_a_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a", timeout=1, retry={"max_attempts": 1}), job("b")))
    assert flows.take() == ["a"]
    flows.bench.clock.advance(1001)
    flows.bench.sweep()
    assert flows.state(flow) == "failed"


def test_a_lost_lease_without_attempts_left_is_a_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a", visibility_timeout=1, retry={"max_attempts": 1}), job("b")))
    assert flows.take() == ["a"]
    flows.bench.clock.advance(1001)
    flows.bench.sweep()
    assert flows.state(flow) == "failed"


def test_a_dead_worker_without_attempts_left_is_a_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a", retry={"max_attempts": 1}), job("b")))
    flows.bench.beat("w")
    assert flows.take() == ["a"]
    flows.bench.clock.advance(30_001)
    assert flows.bench.sweep().dead == 1
    assert flows.state(flow) == "failed"


def test_a_replaced_job_is_a_failure(flows: Flows) -> None:
    unique = {"unique": {"on_conflict": "replace"}}
    flow = flows.start(chain(job("a", **unique), job("b")))
    flows.bench.put(type="a", **unique)
    assert flows.state(flow) == "failed"


def test_a_revived_member_of_a_finished_workflow_runs_for_itself(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    flows.failed("a")
    flows.bench.do(Revive(flows.job_ids()[0]))
    flows.done("a")
    assert flows.take() == []
    assert flows.states(flow) == {"": "failed", "0": "failed", "1": "cancelled"}


def test_a_revived_member_of_a_running_workflow_does_not_count_twice(flows: Flows) -> None:
    flow = flows.start(group(job("a"), job("b")))
    flows.failed("a")
    flows.bench.do(Revive(flows.job_ids()[0]))
    flows.done("b")
    assert flows.state(flow) == "failed"
    flows.done("a")
    assert flows.state(flow) == "failed"


def test_a_dead_letter_may_be_removed(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), job("b"), on_failure=job("c")))
    flows.failed("a")
    flows.bench.do(Remove(flows.job_ids()[0]))
    flows.done("b")
    assert flows.take() == ["c"]
    assert flows.parents()[0] is not None
    assert b'"code":"broken"' in (flows.parents()[0] or b"")
    assert flows.state(flow) == "running"


def test_a_cancel_stops_what_no_worker_is_at(flows: Flows) -> None:
    flow = flows.start(
        callbacks(job("a"), job("b"), chain(job("c"), job("d")), on_complete=job("e"))
    )
    assert flows.take(2) == ["a", "b"]
    a, b = flows.job_ids()
    flows.bench.ack(a)
    cancelled = flows.cancel(flow)
    assert (cancelled.cancelled, cancelled.completed) == (3, 1)
    assert flows.take(9) == []
    assert flows.state(flow) == "cancelled"
    flows.bench.ack(b)
    assert flows.take(9) == []
    assert flows.states(flow) == {
        "": "cancelled",
        "0": "completed",
        "1": "completed",
        "2": "cancelled",
        "2.0": "cancelled",
        "2.1": "cancelled",
        "on_complete": "cancelled",
    }
    assert flows.bench.counts() == {"completed": 2, "cancelled": 1}


@pytest.mark.parametrize("given", [{"scheduled_at": "+PT1H"}, {"pending": True}])
def test_a_cancel_stops_jobs_that_wait_elsewhere(flows: Flows, given: dict[str, object]) -> None:
    flow = flows.start(group(job("a", **given)))
    flows.cancel(flow)
    (member,) = flows.view(flow).members
    assert member.state == "cancelled"


def test_a_cancel_stops_a_retry(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    assert flows.take() == ["a"]
    flows.bench.fail(flows.job_ids()[0])
    flows.cancel(flow)
    assert flows.bench.state(flows.job_ids()[0]) == "cancelled"


def test_an_end_and_a_cancel_in_one_transaction_both_count(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b"), job("c")))
    assert flows.take() == ["a"]
    outcomes = flows.bench.commit(CancelWorkflow(flow), Ack(flows.job_ids()[0])).outcomes
    assert not any(isinstance(one, Exception) for one in outcomes)
    assert flows.take() == []
    assert flows.states(flow) == {
        "": "cancelled",
        "0": "completed",
        "1": "cancelled",
        "2": "cancelled",
    }


def test_what_has_ended_cannot_be_cancelled(flows: Flows) -> None:
    flow = flows.start(chain(job("a")))
    flows.cancel(flow)
    with pytest.raises(Conflict, match="cancelled; this needs running"):
        flows.cancel(flow)
    with pytest.raises(NotFound):
        flows.cancel(ID)
