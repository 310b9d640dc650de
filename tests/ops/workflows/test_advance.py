"""Workflows advance with every end of a job, in the transaction that ends it."""

from ojs_server.ops.admin.maintenance import Reset
from ojs_server.ops.jobs.settle import Ack
from tests.ops.bench import enqueue
from tests.ops.flows import Flows, callbacks, chain, group, job


def test_a_chain_runs_step_by_step(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b"), job("c")))
    assert flows.take(10) == ["a"]
    assert flows.state(flow) == "running"
    flows.bench.ack(flows.job_ids()[0])
    flows.done("b")
    assert flows.states(flow) == {
        "": "active",
        "0": "completed",
        "1": "completed",
        "2": "pending",
    }
    flows.done("c")
    assert flows.state(flow) == "completed"


def test_a_jobs_record_says_what_it_belongs_to(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    flows.done("a")
    assert flows.take() == ["b"]
    record = flows.bench.job(flows.job_ids()[0])
    assert (record.workflow_id, record.workflow_node) == (flow, 2)


def test_results_are_handed_on(flows: Flows) -> None:
    flows.start(chain(job("a"), job("b"), job("c")))
    flows.done("a", b'{"report_id":7}')
    flows.done("b", b"[1]")
    assert flows.take() == ["c"]
    assert flows.parents() == [b'[{"report_id":7},[1]]']


def test_the_first_jobs_are_given_an_empty_list_and_others_nothing(flows: Flows) -> None:
    flows.start(group(job("a")))
    flows.bench.put(type="plain")
    assert flows.take(2) == ["a", "plain"]
    assert flows.parents() == [b"[]", None]


def test_a_repeated_fetch_gets_the_same_parent_results(flows: Flows) -> None:
    flows.start(chain(job("a"), job("b")))
    flows.done("a", b"5")
    first = flows.bench.take(fetch_id="f")
    again = flows.bench.take(fetch_id="f")
    assert first[0].claimed.parent_results == b"[5]"
    assert [one.again for one in (*first, *again)] == [False, True]
    assert [(one.claimed, one.lease) for one in again] == [(first[0].claimed, first[0].lease)]


def test_results_outlive_the_jobs_that_gave_them(flows: Flows) -> None:
    flows.start(chain(job("a"), job("b")))
    flows.done("a", b"5")
    assert flows.take() == ["b"]
    (b,) = flows.job_ids()
    flows.bench.fail(b, requeue=True)
    flows.bench.clock.advance(flows.bench.rules.keep.completed_ms + 1)
    flows.bench.sweep()
    assert flows.take() == ["b"]
    assert flows.parents() == [b"[5]"]


def test_results_of_a_group_outlive_its_jobs_until_the_callbacks(flows: Flows) -> None:
    flows.start(callbacks(job("a"), job("b"), on_complete=job("c")))
    flows.done("a", b"1")
    flows.bench.clock.advance(flows.bench.rules.keep.completed_ms + 1)
    flows.bench.sweep()
    flows.done("b", b"2")
    assert flows.take() == ["c"]
    assert flows.parents() == [b"[1,2]"]


def test_large_results_are_handed_on_by_reference(flows: Flows) -> None:
    flows.start(chain(job("a"), job("b"), job("c"), job("d")))
    large = b'"' + b"x" * 200_000 + b'"'
    flows.done("a", large)
    flows.done("b", b"2")
    flows.done("c", large)
    (a,) = [m.job_id for m in flows.view(_only(flows)).members if m.node == 1]
    assert flows.take() == ["d"]
    reference = b'{"$ref":"/ojs/v1/jobs/%s/result","size_bytes":200002}' % a.encode()
    assert flows.parents() == [b"[%b,2,%b]" % (reference, large)]


def _only(flows: Flows) -> str:
    workflow_id = flows.bench.job(flows.job_ids()[0]).workflow_id
    assert workflow_id is not None
    return workflow_id


def test_a_failed_step_ends_the_chain(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b"), job("c")))
    flows.done("a")
    flows.failed("b")
    assert flows.take() == []
    assert flows.states(flow) == {"": "failed", "0": "completed", "1": "failed", "2": "cancelled"}


def test_a_retry_is_no_failure(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    assert flows.take() == ["a"]
    flows.bench.fail(flows.job_ids()[0])
    assert flows.states(flow)["0"] == "pending"
    flows.bench.clock.advance(60_000)
    flows.bench.sweep()
    flows.done("a")
    flows.done("b")
    assert flows.state(flow) == "completed"


def test_a_group_leaves_siblings_alone(flows: Flows) -> None:
    flow = flows.start(group(job("a"), job("b"), job("c")))
    flows.failed("a")
    assert flows.state(flow) == "running"
    flows.done("b")
    flows.done("c")
    assert flows.state(flow) == "failed"


def test_callbacks_are_given_results_and_errors(flows: Flows) -> None:
    flow = flows.start(
        callbacks(
            job("a"),
            job("b"),
            on_complete=job("always"),
            on_success=job("never"),
            on_failure=job("sorry"),
        )
    )
    flows.done("a", b"1")
    flows.failed("b")
    assert sorted(flows.take(9)) == ["always", "sorry"]
    assert all(parents and parents.startswith(b'[1,{"error":{') for parents in flows.parents())
    assert flows.state(flow) == "running"
    for job_id in flows.job_ids():
        flows.bench.ack(job_id)
    assert flows.state(flow) == "completed"


def test_a_failed_callback_fails_the_batch(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), on_success=job("s")))
    flows.done("a")
    flows.failed("s")
    assert flows.state(flow) == "failed"


def test_the_last_members_settled_in_one_transaction_fire_once(flows: Flows) -> None:
    flows.start(callbacks(*[job("m")] * 5, on_complete=job("c")))
    assert flows.take(9) == ["m"] * 5
    flows.bench.commit(*(Ack(job_id) for job_id in flows.job_ids()))
    assert flows.take(9) == ["c"]


def test_members_of_several_workflows_settle_in_one_transaction(flows: Flows) -> None:
    first = flows.start(chain(job("a"), job("b")))
    second = flows.start(chain(job("a"), job("c")))
    assert flows.take(9) == ["a", "a"]
    flows.bench.commit(*(Ack(job_id, result=b"1") for job_id in flows.job_ids()))
    assert sorted(flows.take(9)) == ["b", "c"]
    assert flows.state(first) == flows.state(second) == "running"


def test_nested_definitions_run(flows: Flows) -> None:
    flow = flows.start(
        chain(
            job("a"),
            group(job("b"), chain(job("c"), job("d"))),
            callbacks(job("e"), on_success=job("f")),
            job("g"),
        )
    )
    for kind in "abc":
        flows.done(kind, b'"%b"' % kind.encode())
    assert flows.take() == ["d"]
    assert flows.parents() == [b'["c"]']
    flows.bench.ack(flows.job_ids()[0])
    for kind in "ef":
        flows.done(kind, b"0")
    assert flows.take() == ["g"]
    assert flows.parents() == [b'["a",{"0":"b","1":"done"},{"0":0}]']
    flows.bench.ack(flows.job_ids()[0])
    assert flows.state(flow) == "completed"


def test_a_graph_runs_what_its_parents_allow(flows: Flows) -> None:
    flow = flows.start(
        {
            "steps": [
                job("load", id="load"),
                job("left", id="left", depends_on=["load"]),
                job("right", id="right", depends_on=["load"]),
                job("join", id="join", depends_on=["left", "right"]),
                job("after", id="after", depends_on=["right"]),
            ]
        }
    )
    flows.done("load")
    flows.done("left")
    flows.failed("right")
    assert flows.take(9) == []
    assert flows.states(flow) == {
        "": "failed",
        "load": "completed",
        "left": "completed",
        "right": "failed",
        "join": "cancelled",
        "after": "cancelled",
    }


def test_events_tell_the_course(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), job("b"), on_failure=job("c")))
    flows.bench.clock.advance(10)
    assert flows.take() == ["a"]
    flows.bench.clock.advance(5)
    flows.bench.ack(flows.job_ids()[0])
    flows.failed("b")
    flows.failed("c", {"code": "worse", "message": "still no", "retryable": False})
    told = flows.bench.events_of(flow)
    assert [kind for kind, _ in told] == [
        "workflow.created",
        "workflow.started",
        "workflow.step_completed",
        "workflow.step_failed",
        "workflow.callback_fired",
        "workflow.step_failed",
        "workflow.failed",
    ]
    data = dict(told)
    assert data["workflow.started"] == {
        "workflow_id": flow,
        "workflow_name": None,
        "workflow_type": "batch",
        "total_steps": 2,
    }
    completed = data["workflow.step_completed"]
    assert (completed["step_id"], completed["step_type"]) == ("0", "a")
    assert (completed["duration_ms"], completed["steps_remaining"]) == (5, 1)
    assert data["workflow.callback_fired"]["callback"] == "on_failure"
    failed = data["workflow.failed"]
    assert (failed["failed_step_id"], failed["failed_step_type"]) == ("on_failure", "c")
    assert failed["error"] == {"code": "worse", "message": "still no"}
    assert failed["duration_ms"] == 15


def test_a_failure_of_an_earlier_transaction_is_named_at_the_end(flows: Flows) -> None:
    flow = flows.start(group(job("a"), job("b")))
    flows.failed("a")
    (a,) = flows.job_ids()
    flows.done("b")
    kind, data = flows.bench.events_of(flow)[-1]
    assert (kind, data["failed_step_id"], data["job_id"]) == ("workflow.failed", "0", a)
    assert data["error"] == {"code": "broken", "message": "no"}


def test_what_is_enqueued_wakes_its_queue(flows: Flows) -> None:
    flows.start(chain(job("a"), job("b", queue="elsewhere")))
    assert flows.take() == ["a"]
    assert flows.bench.commit(Ack(flows.job_ids()[0])).wakes == {"elsewhere": 1}


def test_finished_workflows_are_removed_in_time(flows: Flows) -> None:
    kept = flows.start(chain(job("a"), job("b")))
    flow = flows.start(chain(job("x", queue="other")))
    flows.cancel(flow)
    flows.bench.clock.advance(flows.bench.rules.keep.workflows_ms - 1)
    flows.bench.sweep(prune=True)
    assert flows.state(flow) == "cancelled"
    flows.bench.clock.advance(1)
    flows.bench.sweep(prune=True)
    with flows.bench.store.reader() as reader:
        assert reader.workflow(flow) is None
        assert reader.workflow(kept) is not None


def test_the_end_of_a_job_whose_workflow_is_gone_is_none_of_its_business(flows: Flows) -> None:
    flow = flows.start(group(job("a")))
    assert flows.take() == ["a"]
    flows.cancel(flow)
    flows.bench.clock.advance(flows.bench.rules.keep.workflows_ms)
    flows.bench.sweep(prune=True, reachable_since=flows.bench.clock.now)
    flows.bench.ack(flows.job_ids()[0])
    assert flows.bench.state(flows.job_ids()[0]) == "completed"


def test_a_wipe_takes_workflows_along(flows: Flows) -> None:
    flow = flows.start(chain(job("a"), job("b")))
    flows.bench.do(Reset())
    with flows.bench.store.reader() as reader:
        assert reader.workflow(flow) is None


def test_jobs_without_a_workflow_ask_nothing_of_it(flows: Flows) -> None:
    (stored,) = flows.bench.do(enqueue()).jobs
    assert stored.parent_results is None
    assert (stored.job.workflow_id, stored.job.workflow_node) == (None, None)
