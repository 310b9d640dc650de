"""Workflows move on with every end of a job, in the transaction that ends it."""

import pytest

from ojs_server.domain.errors import Conflict, Duplicate, InvalidRequest, NotFound
from ojs_server.domain.workflow_parse import parse_workflow
from ojs_server.ops.control import Reset
from ojs_server.ops.settle import Ack, Cancel, Remove, Revive
from ojs_server.ops.workflow import Cancel as CancelWorkflow
from ojs_server.ops.workflow import start
from ojs_wire import codec
from tests.ops.bench import Bench, enqueue
from tests.ops.flows import Flows, callbacks, chain, group, job, request
from tests.ops.test_queue_limits import configure

ID = "0190a0f0-0000-7000-8000-00000000000a"


@pytest.fixture
def flows(bench: Bench) -> Flows:
    return Flows(bench)


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
    assert again == first


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


# Every way in which a job ends.


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


# Cancel.


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


# Requests.


def test_the_same_request_again_finds_its_workflow(flows: Flows) -> None:
    body = chain(job("a"), id=ID)
    assert flows.start(body) == ID
    again = flows.bench.do(request(body))
    assert (again.workflow_id, again.view) == (ID, None)
    assert flows.take(9) == ["a"]
    with pytest.raises(Duplicate):
        flows.start(chain(job("b"), id=ID))
    assert flows.take(9) == []


def test_an_idempotency_key_starts_one_workflow(flows: Flows) -> None:
    definition = parse_workflow(chain(job("a")))
    key = ("", "workflow", "k")
    first = flows.bench.do(start(definition, key, b"hash"))
    again = flows.bench.do(start(definition, key, b"hash"))
    assert again.workflow_id == first.workflow_id
    with pytest.raises(Duplicate):
        flows.bench.do(start(definition, key, b"other"))
    assert flows.take(9) == ["a"]


def test_a_refused_start_leaves_nothing(flows: Flows) -> None:
    unique = {"unique": {"on_conflict": "reject"}}
    flows.bench.put(type="a", **unique)
    definition = parse_workflow(group(job("b"), job("a", **unique), id=ID))
    with pytest.raises(Duplicate):
        flows.bench.do(start(definition, ("", "workflow", "k"), b"hash"))
    with flows.bench.store.reader() as reader:
        assert reader.workflow(ID) is None
    assert flows.take(9) == ["a"]
    assert flows.bench.do(start(parse_workflow(chain(job("b"))), ("", "workflow", "k"), b"other"))


def test_steps_have_the_retry_policy_of_their_queue(flows: Flows) -> None:
    flows.bench.do(configure(default_retry={"max_attempts": 7}))
    flows.start(chain(job("a"), job("b"), job("c", retry={"max_attempts": 2})))
    attempts = []
    for _ in range(3):
        (one,) = flows.bench.take()
        attempts.append(one.claimed.job.max_attempts)
        flows.bench.ack(one.claimed.job.id)
    assert attempts == [7, 7, 2]


def test_a_workflow_is_refused_for_types_that_queues_do_not_take(flows: Flows) -> None:
    flows.bench.do(configure(allowed_job_types=["mail.*"]))
    body = chain(job("mail.send"), group(job("a"), job("b", queue="other")), job("c"), id=ID)
    with pytest.raises(InvalidRequest) as refusal:
        flows.bench.do(start(parse_workflow(body), ("", "workflow", "k"), b"hash"))
    problems = {
        one["path"]: one["message"] for one in (refusal.value.details or {})["validation_errors"]
    }
    assert problems == {
        "steps[1].jobs[0].type": "queue q takes no jobs of type a",
        "steps[2].type": "queue q takes no jobs of type c",
    }
    with flows.bench.store.reader() as reader:
        assert reader.workflow(ID) is None
    assert flows.take(9) == []
    # The key is free.
    allowed = parse_workflow(chain(job("mail.send")))
    assert flows.bench.do(start(allowed, ("", "workflow", "k"), b"other")).view is not None


def test_a_rule_that_changes_later_breaks_no_running_workflow(flows: Flows) -> None:
    body = chain(job("a"), job("b"), id=ID)
    flows.start(body)
    flows.bench.do(configure(allowed_job_types=["mail.*"]))
    assert flows.bench.do(request(body)).workflow_id == ID
    for kind in ("a", "b"):
        (one,) = flows.bench.take()
        assert one.claimed.job.type == kind
        flows.bench.ack(one.claimed.job.id)
    assert flows.state(ID) == "completed"


@pytest.mark.parametrize("conflict", ["reject", "ignore"])
def test_a_later_step_that_is_there_already_fails(flows: Flows, conflict: str) -> None:
    unique = {"unique": {"on_conflict": conflict}}
    flow = flows.start(chain(job("a"), job("b", **unique), job("c")))
    other = flows.bench.put(type="b", queue="elsewhere", **unique)
    flows.done("a")
    assert flows.take(9) == []
    assert flows.states(flow) == {"": "failed", "0": "completed", "1": "failed", "2": "cancelled"}
    assert flows.bench.state(other) == "available"
    kind, data = flows.bench.told(flow)[-1]
    assert (kind, data["failed_step_id"], data["error"]["code"]) == (
        "workflow.failed",
        "1",
        "duplicate",
    )


def test_a_later_step_may_replace_a_job_of_another_workflow(flows: Flows) -> None:
    unique = {"unique": {"on_conflict": "replace"}}
    other = flows.start(chain(job("b", queue="elsewhere", **unique), job("c")))
    flow = flows.start(chain(job("a"), job("b", **unique)))
    flows.done("a")
    assert flows.state(other) == "failed"
    flows.done("b")
    assert flows.state(flow) == "completed"


def test_equal_members_of_later_definitions_meet(flows: Flows) -> None:
    unique = {"unique": {"on_conflict": "reject"}}
    flow = flows.start(chain(job("a"), group(job("b", **unique), job("b", **unique))))
    flows.done("a")
    flows.done("b")
    assert flows.states(flow) == {
        "": "failed",
        "0": "completed",
        "1": "failed",
        "1.0": "completed",
        "1.1": "failed",
    }


# Events, wake-ups, retention.


def test_events_tell_the_course(flows: Flows) -> None:
    flow = flows.start(callbacks(job("a"), job("b"), on_failure=job("c")))
    flows.bench.clock.advance(10)
    assert flows.take() == ["a"]
    flows.bench.clock.advance(5)
    flows.bench.ack(flows.job_ids()[0])
    flows.failed("b")
    flows.failed("c", {"code": "worse", "message": "still no", "retryable": False})
    told = flows.bench.told(flow)
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
    kind, data = flows.bench.told(flow)[-1]
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
    flows.bench.sweep(prune=True, judged_since=flows.bench.clock.now)
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
