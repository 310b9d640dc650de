"""A failed workflow goes on where it failed."""

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.ops.jobs.settle import Ack, Cancel, Remove, Revive
from ojs_server.ops.workflows.operations import Retry
from ojs_server.store.records import EventFilter
from tests.ops.flows import Flows, callbacks, chain, group, job

UNKNOWN = "0190a0f0-0000-7000-8000-00000000000a"


def test_a_chain_goes_on_with_what_was_found_out(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b"), job("c")))
    flows.done("a", b'"found"')
    flows.failed("b")
    assert flows.state(flow) == "failed"
    assert flows.retry(flow) == 1
    assert flows.state(flow) == "running"
    assert flows.view(flow).workflow.finished_at is None
    flows.done("b", b'"mended"')
    assert flows.take() == ["c"]
    assert flows.parents() == [b'["found","mended"]']
    flows.bench.do(Ack(flows.job_ids()[0]))
    assert flows.state(flow) == "completed"
    assert [member.error for member in flows.view(flow).members] == [None] * 3


def test_the_retry_is_told(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    flows.failed("a")
    flows.retry(flow)
    with flows.bench.store.reader() as reader:
        told = reader.events(0, EventFilter(types=("workflow.*",)), 100).events
    assert [one.event.type for one in told][-2:] == ["workflow.failed", "workflow.retried"]


def test_what_ended_after_the_failure_is_handed_on_too(flows: Flows) -> None:
    both = {"a": job("a", id="a"), "b": job("b", id="b")}
    last = job("c", id="c", depends_on=["a", "b"])
    flow = flows.start({"steps": [*both.values(), last]})
    assert flows.take(2) == ["a", "b"]
    first, second = flows.job_ids()
    flows.bench.fail(first, {"code": "x", "message": "no", "retryable": False})
    flows.bench.do(Ack(second, result=b'"late"'))
    assert flows.state(flow) == "failed"
    flows.retry(flow)
    flows.done("a", b'"again"')
    assert flows.take() == ["c"]
    assert flows.parents() == [b'["again","late"]']


def test_a_workflow_is_kept_from_its_last_end_on(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    flows.failed("a")
    kept = flows.view(flow).workflow.due_at
    flows.retry(flow)
    assert flows.view(flow).workflow.due_at is None
    flows.bench.clock.advance(60_000)
    flows.failed("a")
    assert flows.view(flow).workflow.due_at == (kept or 0) + 60_000


def test_a_step_that_could_not_be_enqueued_is_enqueued_again(flows: Flows) -> None:
    unique = {"keys": ["type"], "on_conflict": "reject"}
    flows.start(group(job("b", unique=unique)))
    flow = flows.start(chain(job("a", priority=5), job("b", unique=unique, priority=5)))
    flows.done("a")
    assert flows.state(flow) == "failed"
    assert flows.take() == ["b"]
    flows.bench.do(Ack(flows.job_ids()[0]))
    assert flows.retry(flow) == 1
    flows.done("b")
    assert flows.state(flow) == "completed"


def test_a_callback_that_failed_runs_again(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), on_complete=job("b")))
    flows.done("a")
    flows.failed("b")
    assert flows.retry(flow) == 1
    flows.done("b")
    assert flows.state(flow) == "completed"


@pytest.mark.parametrize("end", [Remove, Revive])
def test_a_job_that_is_no_dead_letter_any_more_is_not_retried(
    flows: Flows, end: type[Remove | Revive]
) -> None:
    flow = flows.start(chain(job("a", retry={"on_exhaustion": "dead_letter"}), job("b")))
    flows.failed("a")
    flows.bench.do(end(flows.job_ids()[0]))
    with pytest.raises(Conflict, match="step `0`"):
        flows.retry(flow)
    assert flows.state(flow) == "failed"


def test_a_cancelled_job_is_not_retried(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    (member,) = flows.view(flow).members
    flows.bench.do(Cancel(member.job_id))
    with pytest.raises(Conflict, match="cancelled"):
        flows.retry(flow)


def test_what_has_not_failed_is_not_retried(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    with pytest.raises(Conflict):
        flows.retry(flow)
    with pytest.raises(NotFound):
        flows.bench.do(Retry(UNKNOWN, frozenset()))


def test_a_retry_happens_once(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    flows.failed("a")
    failed = frozenset(flows.job_ids())
    assert flows.bench.do(Retry(flow, failed)) == 1
    with pytest.raises(Conflict):
        flows.bench.do(Retry(flow, failed))
