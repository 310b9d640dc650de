"""Starting workflows: validation, and the effect of queue settings and policies on their jobs."""

import pytest

from ojs_server.domain.errors import Duplicate, InvalidRequest, TenantFull
from ojs_server.domain.limits.rate_limit import Window
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.ops.tenants.administration import SaveTenant
from ojs_server.ops.workflows.operations import start
from tests.ops.flows import Flows, chain, group, job, request
from tests.ops.limits.test_queue_limits import configure

ID = "0190a0f0-0000-7000-8000-00000000000a"


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
    kind, data = flows.bench.events_of(flow)[-1]
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


def test_every_job_of_a_tenants_workflow_is_its_own(flows: Flows) -> None:
    body = chain(job("a"), group(job("b"), job("c")), id=ID)
    again = flows.bench.do(start(parse_workflow(body, tenant="acme")))
    assert flows.bench.do(start(parse_workflow(body, tenant="acme"))).view is None
    with pytest.raises(Duplicate):
        flows.start(body)
    for kind in "abc":
        flows.done(kind)
        assert flows.taken[0].job.tenant == "acme"
    assert flows.view(again.workflow_id).workflow.tenant == "acme"
    assert flows.state(ID) == "completed"
    assert {data["tenant_id"] for _, data in flows.bench.events_of(ID)} == {"acme"}


def test_a_workflow_needs_room_for_all_its_jobs_at_once_in_the_rate_only(flows: Flows) -> None:
    three = parse_workflow(chain(job("a"), job("b"), job("c"), id=ID), tenant="acme")
    flows.bench.do(SaveTenant("acme", Tenant(max_enqueue_rate=Window(2, 60_000))))
    with pytest.raises(TenantFull) as refusal:
        flows.bench.do(start(three, ("", "workflow", "k"), b"hash"))
    assert (refusal.value.details or {})["limit"] == "max_enqueue_rate"
    with flows.bench.store.reader() as reader:
        assert reader.workflow(ID) is None
    flows.bench.do(SaveTenant("acme", Tenant(max_queue_depth=1)))
    flows.bench.do(start(three, ("", "workflow", "k"), b"other"))
    with pytest.raises(TenantFull):
        flows.bench.do(start(parse_workflow(chain(job("d")), tenant="acme")))
    # Later jobs of an accepted workflow are not refused.
    assert flows.take() == ["a"]
    flows.bench.put(type="d", meta={"tenant_id": "acme"})
    flows.bench.ack(flows.job_ids()[0])
    assert flows.take(9) == ["d", "b"]
    flows.bench.do(SaveTenant("acme", Tenant(max_enqueue_rate=Window(3, 60_000))))
    flows.bench.do(start(parse_workflow(group(job("a"), job("b"), job("c")), tenant="acme")))
    with pytest.raises(TenantFull):
        flows.bench.put(type="d", meta={"tenant_id": "acme"})


def test_operators_workflows_need_room_with_the_tenants_that_their_steps_name(
    flows: Flows,
) -> None:
    flows.bench.do(SaveTenant("acme", Tenant(max_enqueue_rate=Window(1, 60_000))))
    mine = {"meta": {"tenant_id": "acme"}}
    with pytest.raises(TenantFull):
        flows.start(chain(job("a", **mine), job("b", **mine)))
    flows.start(chain(job("a"), job("b", **mine)))
