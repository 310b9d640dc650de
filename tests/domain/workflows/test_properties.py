"""Workflows of every shape, run in every order, compared to a plain reading of the request."""

from random import Random
from typing import Any, Final

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.workflows.lifecycle import Outcome, advance, cancel, culprit, start, tally
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import ENDED, NodeState, NodeStates, Plan, WorkflowState
from tests.domain.workflows.sample_workflows import requests

DONE: Final = NodeState.COMPLETED
FAILED: Final = NodeState.FAILED
DROPPED: Final = NodeState.CANCELLED


class Reading:
    """The expected results of a request, computed from its text alone, independent of order."""

    def __init__(self, failing: frozenset[str]) -> None:
        self.failing = failing
        self.jobs: dict[str, NodeState] = {}

    def of(self, body: dict[str, Any], runs: bool) -> NodeState:
        """The end of a job or a definition."""
        if "args" in body:
            end = (FAILED if body["type"] in self.failing else DONE) if runs else DROPPED
            self.jobs[body["type"]] = end
            return end
        ends: dict[str, NodeState] = {}
        members = body.get("steps") or body["jobs"]
        if "type" not in body:
            members = sorted(members, key=lambda step: str(step["id"]))
        before: NodeState | None = None
        for at, one in enumerate(members):
            may = runs
            if body.get("type") == "chain":
                may = runs and before in (None, DONE)
            elif "type" not in body:
                may = runs and all(ends[name] is DONE for name in one["depends_on"])
            before = ends[one.get("id", str(at))] = self.of(one, may)
        well = all(end is DONE for end in ends.values())
        wanted = {"on_complete": True, "on_success": well, "on_failure": not well}
        fired = []
        for kind, one in body.get("callbacks", {}).items():
            end = self.of(one, runs and wanted[kind])
            fired += [end] if wanted[kind] else []
        if not runs:
            return DROPPED
        return DONE if (all(end is DONE for end in fired) if fired else well) else FAILED


def may_begin(plan: Plan, progress: NodeStates, index: int) -> bool:
    """True if the parents of a node, and those of every enclosing definition, allow it to run."""
    node = plan.nodes[index]
    states = [progress.nodes[need] for need in node.needs]
    if node.fires is None:
        own = all(state is DONE for state in states)
    else:
        well = all(state is DONE for state in states)
        own = (
            all(state in ENDED for state in states)
            and ({"on_complete": True, "on_success": well, "on_failure": not well}[node.fires])
        )
    return own and (node.scope is None or may_begin(plan, progress, node.scope))


def run(plan: Plan, failing: frozenset[str], order: Random) -> tuple[NodeStates, list[str]]:
    """End the enqueued jobs in some order until none is left, watching each step."""
    effects = start(plan)
    pending: list[int] = []
    enqueued: list[int] = []
    dropped: list[int] = []
    notices: list[tuple[str, int]] = []
    while True:
        for launch in effects.enqueue:
            assert may_begin(plan, effects.progress, launch.node)
            assert effects.progress.nodes[launch.node] is NodeState.PENDING
        pending += [launch.node for launch in effects.enqueue]
        enqueued += [launch.node for launch in effects.enqueue]
        dropped += effects.dropped
        notices += [(notice.type, notice.node) for notice in effects.notices]
        running = effects.progress.state is WorkflowState.RUNNING
        assert running == bool(pending), "it ends exactly when nothing is left"
        if not pending:
            break
        node = pending.pop(order.randrange(len(pending)))
        outcome: Outcome = FAILED if plan.nodes[node].job_type in failing else DONE
        effects = advance(plan, kept(effects.progress), node, outcome)
        again = advance(plan, effects.progress, node, DONE)
        assert (again.progress, again.enqueue) == (effects.progress, ())
    jobs = [at for at, node in enumerate(plan.nodes) if node.kind is None]
    assert sorted(enqueued + dropped) == jobs, "each job runs once or never"
    assert len(set(notices)) == len(notices), "nothing is told twice"
    fired = [node for kind, node in notices if kind == "workflow.callback_fired"]
    began = [at for at, node in enumerate(plan.nodes) if node.fires]
    assert sorted(fired) == [at for at in began if effects.progress.nodes[at] is not DROPPED]
    return effects.progress, sorted(kind for kind, _ in notices)


def kept(progress: NodeStates) -> NodeStates:
    """Return the progress as it comes back from a store."""
    return msgspec.json.decode(msgspec.json.encode(progress), type=NodeStates)


@given(requests(), st.floats(0, 1), st.integers(0, 2**32))
def test_every_order_of_ends_comes_to_what_the_request_says(
    body: dict[str, Any], share: float, seed: int
) -> None:
    random = Random(seed)
    plan = parse_workflow(body).plan
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    failing = frozenset(
        str(node.job_type) for node in plan.nodes if node.job_type and random.random() < share
    )
    reading = Reading(failing)
    end = reading.of(body, True)
    progress, notices = run(plan, failing, random)
    assert progress.nodes[0] is end
    ends = dict(zip(plan.nodes, progress.nodes, strict=True))
    assert {node.job_type: ends[node] for node in plan.nodes if node.kind is None} == reading.jobs
    counts = tally(plan, progress)
    assert counts.remaining == 0
    assert (culprit(plan, progress) is None) == (end is DONE)
    for _ in range(3):
        assert run(plan, failing, random) == (progress, notices)


@given(requests(), st.floats(0, 0.5), st.integers(0, 30), st.integers(0, 2**32))
def test_after_a_cancel_nothing_begins_and_what_is_held_may_finish(
    body: dict[str, Any], share: float, steps: int, seed: int
) -> None:
    random = Random(seed)
    plan = parse_workflow(body).plan
    effects = start(plan)
    pending = [launch.node for launch in effects.enqueue]
    for _ in range(steps):
        if len(pending) == 1:
            break
        node = pending.pop(random.randrange(len(pending)))
        outcome: Outcome = FAILED if random.random() < share else DONE
        effects = advance(plan, effects.progress, node, outcome)
        pending += [launch.node for launch in effects.enqueue]
    if effects.progress.state is not WorkflowState.RUNNING:
        return
    held = {node for node in pending if random.random() < 0.5}
    before = effects.progress
    effects = cancel(plan, before, held)
    assert set(effects.revoked) == set(pending) - held
    waiting = [at for at, state in enumerate(before.nodes) if state is NodeState.WAITING]
    assert sorted(effects.dropped) == [at for at in waiting if plan.nodes[at].kind is None]
    for at, state in enumerate(before.nodes):
        if state in ENDED:
            assert effects.progress.nodes[at] is state
    for node in sorted(held, key=lambda _: random.random()):
        assert effects.progress.state is WorkflowState.CANCELLED
        effects = advance(plan, effects.progress, node, DONE)
        assert (effects.enqueue, effects.dropped, effects.notices) == ((), (), ())
        assert effects.progress.nodes[node] is DONE
    assert effects.progress.state is WorkflowState.CANCELLED
    assert all(state in ENDED for state in effects.progress.nodes)


def test_a_thousand_steps_fail_at_once() -> None:
    steps = [{"type": "j", "args": []}] * 1000
    plan = parse_workflow({"type": "chain", "steps": steps}).plan
    effects = advance(plan, start(plan).progress, 1, FAILED)
    assert len(effects.dropped) == 999
    assert effects.progress.state is WorkflowState.FAILED
