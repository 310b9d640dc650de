"""The stored workflow: what is written comes back, and a finished one says until when."""

import pytest

from ojs_server.domain.workflows.lifecycle import advance, start
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import NodeState, NodeStates, progress_of
from ojs_server.domain.workflows.record import begun, moved, plan_of, progress_in

BODY = {"type": "chain", "steps": [{"type": "a", "args": []}]}


@pytest.mark.parametrize("state", list(NodeState))
def test_progress_is_a_letter_for_each_node(state: NodeState) -> None:
    progress = NodeStates((NodeState.ACTIVE, state))
    assert len(progress.written()) == 2
    assert progress_of(progress.written()) == progress


def test_a_workflow_is_read_as_it_was_written() -> None:
    plan = parse_workflow(BODY).plan
    progress = start(plan).progress
    workflow = begun("w", "name", plan, progress, 5, b"hash")
    assert (plan_of(workflow), progress_in(workflow)) == (plan, progress)
    assert (workflow.kind, workflow.state, workflow.created_at) == ("chain", "running", 5)
    assert (workflow.finished_at, workflow.due_at) == (None, None)


def test_the_last_step_says_until_when_it_is_kept() -> None:
    plan = parse_workflow(BODY).plan
    workflow = begun("w", None, plan, start(plan).progress, 5, None)
    still = moved(workflow, start(plan).progress, 6, 100)
    assert (still.state, still.finished_at, still.due_at) == ("running", None, None)
    ended = moved(
        workflow, advance(plan, start(plan).progress, 1, NodeState.COMPLETED).progress, 7, 100
    )
    assert (ended.state, ended.finished_at, ended.due_at) == ("completed", 7, 107)
    # A job that was left to finish after a cancel changes nothing about that.
    assert moved(ended, progress_in(ended), 8, 100) == ended
