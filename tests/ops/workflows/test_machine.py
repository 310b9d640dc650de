"""Workflows of every shape under random histories, compared to a plain reading of the requests."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.workflows.plan import NodeState
from ojs_server.domain.workflows.record import plan_of
from ojs_server.ops.admin.maintenance import Reset
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail, Revive
from ojs_server.ops.workflows.operations import CancelWorkflow
from ojs_server.store.records import Claimed
from ojs_wire import codec
from tests.domain.workflows.sample_workflows import Moment, requests
from tests.examples import histories
from tests.ops.bench import Bench
from tests.ops.flows import request, view
from tests.users_stores import on_users_stores

BROKEN = parse_fault({"code": "broken", "message": "no", "retryable": False})
picks = st.integers(0, 40)


class Flow:
    """A workflow's request, and the ends of its jobs so far."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.ends: dict[str, NodeState] = {}
        self.cancelled = False
        # The jobs there were at its cancel.
        self.stopped: set[str] = set()

    @property
    def moment(self) -> Moment:
        """Return the expected progress."""
        return Moment(self.body, self.ends)


class Workflows(RuleBasedStateMachine):
    """Each rule is a call; after each, every workflow is exactly as far as its ends allow."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.flows: dict[str, Flow] = {}
        self.held: list[Claimed] = []
        self.ids: dict[tuple[str, str], str] = {}
        self.dead: list[str] = []

    @initialize()
    def empty(self) -> None:
        self.bench.do(Reset())

    @precondition(lambda self: len(self.flows) < 3)
    @rule(body=requests())
    def start(self, body: dict[str, Any]) -> None:
        flow_id = self.bench.do(request({**body, "options": {"queue": "q"}})).workflow_id
        self.flows[flow_id] = Flow(body)

    @rule(count=st.integers(1, 4))
    def fetch(self, count: int) -> None:
        for one in self.bench.take(count=count):
            job, flow = one.claimed.job, self.flows[one.claimed.job.workflow_id or ""]
            # One job for each step, whatever happened.
            assert self.ids.setdefault((job.workflow_id or "", job.type), job.id) == job.id
            assert flow.cancelled or job.type in flow.moment.enqueued or job.id in self.dead
            done = {kind for kind, end in flow.ends.items() if end is NodeState.COMPLETED}
            assert told(codec.decode(one.claimed.parent_results or b"null")) <= done
            self.held.append(one.claimed)

    @precondition(lambda self: self.held)
    @rule(picked=st.lists(st.tuples(picks, st.booleans()), min_size=1, max_size=6))
    def settle(self, picked: list[tuple[int, bool]]) -> None:
        """Some jobs end, well or not, in one transaction."""
        chosen = {self.held[number % len(self.held)].job.id: well for number, well in picked}
        ops = [
            Ack(one.job.id, result=codec.encode(one.job.type))
            if chosen[one.job.id]
            else Fail(one.job.id, BROKEN)
            for one in self.held
            if one.job.id in chosen
        ]
        outcomes = self.bench.commit(*ops).outcomes
        assert not [one for one in outcomes if isinstance(one, BaseException)]
        for one in [one for one in self.held if one.job.id in chosen]:
            self.held.remove(one)
            self.ended(one.job.id, one.job.workflow_id or "", one.job.type, chosen[one.job.id])

    def ended(self, job_id: str, flow_id: str, kind: str, well: bool) -> None:
        if not well:
            self.dead.append(job_id)
        end = NodeState.COMPLETED if well else NodeState.FAILED
        # The outcome of a dead letter that is retried does not count any more.
        self.flows[flow_id].ends.setdefault(kind, end)

    @precondition(lambda self: self.held)
    @rule(number=picks)
    def give_back(self, number: int) -> None:
        one = self.held.pop(number % len(self.held))
        self.bench.do(Fail(one.job.id, BROKEN, requeue=True))

    @precondition(lambda self: self.held)
    @rule(number=picks)
    def cancel_a_job(self, number: int) -> None:
        one = self.held.pop(number % len(self.held))
        self.bench.do(Cancel(one.job.id))
        self.flows[one.job.workflow_id or ""].ends.setdefault(one.job.type, NodeState.FAILED)

    @precondition(lambda self: self.dead)
    @rule(number=picks)
    def revive(self, number: int) -> None:
        job_id = self.dead[number % len(self.dead)]
        if self.bench.state(job_id) == "discarded":
            self.bench.do(Revive(job_id))

    @precondition(lambda self: self.flows)
    @rule(number=picks, settles=st.booleans())
    def cancel(self, number: int, settles: bool) -> None:
        """Call a workflow off, maybe in the transaction that ends one of its jobs."""
        flow_id = list(self.flows)[number % len(self.flows)]
        flow = self.flows[flow_id]
        if flow.cancelled or flow.moment.end is not None:
            return
        mine = [one for one in self.held if one.job.workflow_id == flow_id][: int(settles)]
        ends = [Ack(one.job.id, result=codec.encode(one.job.type)) for one in mine]
        outcome, *_ = self.bench.commit(CancelWorkflow(flow_id), *ends).outcomes
        for one in mine:
            self.held.remove(one)
            self.ended(one.job.id, flow_id, one.job.type, True)
        flow.cancelled = not isinstance(outcome, BaseException)
        # It is refused only where that end was the last.
        assert flow.cancelled == (flow.moment.end is None)
        flow.stopped = kinds(self.bench, flow_id)

    @invariant()
    def every_workflow_is_as_far_as_its_ends_allow(self) -> None:
        for flow_id, flow in self.flows.items():
            state = view(self.bench.store, flow_id).workflow.state
            enqueued = kinds(self.bench, flow_id)
            if flow.cancelled:
                assert (state, enqueued) == ("cancelled", flow.stopped)
                continue
            assert enqueued == flow.moment.enqueued
            assert state == (flow.moment.end or "running")


def kinds(bench: Bench, flow_id: str) -> set[str]:
    """The types of a workflow's jobs that were enqueued."""
    found = view(bench.store, flow_id)
    nodes = plan_of(found.workflow).nodes
    return {nodes[member.node].job_type or "" for member in found.members}


def told(value: object) -> set[str]:
    """The results of jobs, which are their types, somewhere in `parent_results`."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set() if "error" in value else told(list(value.values()))
    return set().union(*map(told, value)) if isinstance(value, list) else set()


@on_users_stores
@pytest.mark.timeout(180)
def test_every_workflow_keeps_to_its_request(bench: Bench) -> None:
    run_state_machine_as_test(
        lambda: Workflows(bench),  # type: ignore[arg-type]  # any factory will do
        settings=histories(50, steps=30),
    )
