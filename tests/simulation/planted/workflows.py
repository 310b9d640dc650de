"""Workflows: steps that run twice, and joins that do not fire."""

from typing import Any

from ojs_server.domain.jobs.job import Change
from ojs_server.domain.workflows import lifecycle
from ojs_server.domain.workflows.plan import NodeState, NodeStates, WorkflowState
from ojs_server.domain.workflows.record import plan_of, progress_in
from ojs_server.ops import sweep
from ojs_server.ops.jobs.settle import Ack, Repeated
from ojs_server.ops.workflows.advance import Moves, Moving
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="workflows", needs="two steps that end in one transaction")
def of_two_ends_at_once_the_last_counts() -> None:
    """Of two steps that end in one transaction each sees the workflow as it was before."""

    def of(self: Moves, workflow: Any) -> Moving:
        moving = Moving(workflow, plan_of(workflow), progress_in(workflow))
        self._moving[workflow.id] = moving
        return moving

    put(Moves, "of", of)


@planted(sees="workflows", needs="an ACK of a step whose answer is lost", like="0dc0476f")
def a_repeated_ack_advances_once_more() -> None:
    """An ACK that is repeated ends its step again, so that the next one is enqueued twice."""

    def make_decide(decide: Any) -> Any:
        def decided(self: Ack, work: Any, job: Any, lease: Any) -> Any:
            outcome = decide(self, work, job, lease)
            if isinstance(outcome, Repeated) and job.workflow_id is not None:
                work.ended_members.append((job.workflow_id, Change(job, job, (), self.result)))
            return outcome

        return decided

    def make_end(end: Any) -> Any:
        def ended(self: Moves, moving: Moving, change: Change) -> None:
            node = change.after.workflow_node or 0
            if change.before is change.after and moving.progress.state is WorkflowState.RUNNING:
                states = list(moving.progress.nodes)
                states[node] = NodeState.PENDING
                for place, waiter in enumerate(moving.plan.nodes):
                    if node in waiter.needs:
                        states[place] = NodeState.WAITING
                moving.progress = NodeStates(tuple(states))
            end(self, moving, change)

        return ended

    wrap(Ack, "decide", make_decide)
    wrap(Moves, "end", make_end)


@planted(sees="workflows", needs="a step that lapses until its attempts are used up")
def a_lapse_ends_no_step() -> None:
    """A step that is discarded because its lease was lost does not end for its workflow."""

    def make(lapse: Any) -> Any:
        def unnoticed(work: Any, op: Any) -> int:
            apply = work.apply
            work.apply = lambda changes: apply(changes, followed=True)
            try:
                done: int = lapse(work, op)
            finally:
                work.apply = apply
            return done

        return unnoticed

    wrap(sweep, "_lapse", make)


@planted(sees="workflows", needs="a cancel while a step is held that others wait for")
def cancelled_workflows_continue() -> None:
    """A step that was held at the cancel of its workflow enqueues the next one at its end."""

    def make(advance: Any) -> Any:
        def revived(plan: Any, progress: NodeStates, node: int, outcome: Any) -> Any:
            if progress.state is WorkflowState.CANCELLED:
                states = [
                    NodeState.WAITING if state is NodeState.CANCELLED else state
                    for state in progress.nodes
                ]
                progress = NodeStates((NodeState.ACTIVE, *states[1:]))
            return advance(plan, progress, node, outcome)

        return revived

    wrap(lifecycle, "advance", make)
