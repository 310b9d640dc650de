"""The state machine of workflows: the effects of a start, of the end of a job, of a cancel, and of
a retry.

    waiting ──▶ pending (a job) ──▶ completed        ordinary node: runs once all it needs is
       │        active (a definition) ─▶ failed      completed, is dropped once one of them is not
       └──▶ cancelled                                callback: decided when all it needs has ended

A definition ends when nothing in it is left: `failed` if a callback that fired failed, else
`completed` if one fired, else `completed` only if every member is. So a callback that succeeds
makes up for failed members.

A retry reopens a failed workflow: failed nodes are tried again, and nodes that were dropped because
of them wait again. If a callback has failed, only the callback is tried again.
"""

from collections import deque
from collections.abc import Collection
from typing import Final, Literal

import msgspec

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.job import TERMINAL, State
from ojs_server.domain.workflows.plan import (
    ENDED,
    Callback,
    Effects,
    Launch,
    MemberCounts,
    Node,
    NodeState,
    NodeStates,
    Notice,
    Plan,
    WorkflowState,
)
from ojs_server.domain.workflows.results import parents_of

Outcome = Literal[NodeState.COMPLETED, NodeState.FAILED]

_NOTICES: Final = {
    (True, NodeState.COMPLETED): "workflow.completed",
    (True, NodeState.FAILED): "workflow.failed",
    (False, NodeState.COMPLETED): "workflow.step_completed",
    (False, NodeState.FAILED): "workflow.step_failed",
}


def start(plan: Plan) -> Effects:
    """Start a workflow: enqueue all nodes that wait for nothing."""
    run = _Run(plan, [NodeState.WAITING] * len(plan.nodes))
    run.note("workflow.created", 0)
    run.note("workflow.started", 0)
    run.launch(0)
    return run.effects()


def advance(plan: Plan, progress: NodeStates, node: int, outcome: Outcome) -> Effects:
    """Apply the end of a job; repeating it changes nothing.

    In a workflow that was cancelled the end is recorded, and nothing follows from it.
    """
    if plan.nodes[node].kind is not None or progress.nodes[node] is NodeState.WAITING:
        raise ValueError(f"node {node} ({plan.nodes[node].id!r}) is no job that was enqueued")
    run = _Run(plan, list(progress.nodes))
    if progress.nodes[node] is not NodeState.PENDING:
        return run.effects()
    if progress.state is WorkflowState.RUNNING:
        run.end(node, outcome)
    else:
        run.states[node] = outcome
    return run.effects()


def cancel(plan: Plan, progress: NodeStates, held: Collection[int]) -> Effects:
    """Cancel all nodes, except the jobs in `held`, which workers hold and may finish."""
    if progress.state is not WorkflowState.RUNNING:
        raise Conflict(
            f"the workflow is {progress.state}; this needs {WorkflowState.RUNNING}",
            details={
                "current_state": progress.state,
                "expected_state": WorkflowState.RUNNING,
            },
        )
    run = _Run(plan, list(progress.nodes))
    revoked = [
        index
        for index, state in enumerate(run.states)
        if state is NodeState.PENDING and index not in held
    ]
    for index in revoked:
        run.states[index] = NodeState.CANCELLED
    run.drop(0)
    run.note("workflow.cancelled", 0)
    return run.effects(revoked)


def retry(plan: Plan, progress: NodeStates) -> Effects:
    """Reopen a failed workflow; `retried` are the jobs to try again."""
    if progress.state is not WorkflowState.FAILED:
        raise Conflict(
            f"the workflow is {progress.state}; this needs {WorkflowState.FAILED}",
            details={
                "current_state": progress.state,
                "expected_state": WorkflowState.FAILED,
            },
        )
    run = _Run(plan, list(progress.nodes))
    retried = run.reopen(0)
    run.note("workflow.retried", 0)
    return msgspec.structs.replace(run.effects(), retried=tuple(retried))


def outcome_of(state: str) -> Outcome:
    """Return the state of a workflow node whose job ended; all but `completed` is a failure."""
    if state not in TERMINAL:
        raise ValueError(f"a job in state {state} has not ended")
    return NodeState.COMPLETED if state is State.COMPLETED else NodeState.FAILED


def tally(plan: Plan, progress: NodeStates) -> MemberCounts:
    """Count the steps by state, for answers and events."""
    states = [progress.nodes[member] for member in plan.root.members]
    return MemberCounts(
        total=len(states),
        completed=states.count(NodeState.COMPLETED),
        failed=states.count(NodeState.FAILED),
        cancelled=states.count(NodeState.CANCELLED),
    )


def culprit(plan: Plan, progress: NodeStates) -> int | None:
    """Return the job that made a workflow fail: the first one, a callback before a member."""
    if progress.state is not WorkflowState.FAILED:
        return None
    index = 0
    while (node := plan.nodes[index]).kind is not None:
        index = next(
            part
            for part in (*node.callbacks, *node.members)
            if progress.nodes[part] is NodeState.FAILED
        )
    return index


def hands_on(plan: Plan, progress: NodeStates) -> bool:
    """True if a step that has not ended gets, or got, results of others."""
    if progress.state is not WorkflowState.RUNNING:
        return False
    given: list[bool] = []
    for node in plan.nodes:
        around = node.scope is not None and given[node.scope]
        given.append(around or bool(node.needs) or node.fires is not None)
    return any(
        has_result and state not in ENDED
        for has_result, state in zip(given, progress.nodes, strict=True)
    )


class _Run:
    """A step in progress: the states it has changed, and its effects."""

    def __init__(self, plan: Plan, states: list[NodeState]) -> None:
        self.states = states
        self._plan = plan
        self._launches: list[Launch] = []
        self._dropped: list[int] = []
        self._notices: list[Notice] = []
        self._ended: deque[int] = deque()
        self._waiting: dict[int, dict[int, list[int]]] = {}

    def effects(self, revoked: Collection[int] = ()) -> Effects:
        """Return the effects collected so far."""
        return Effects(
            progress=NodeStates(tuple(self.states)),
            enqueue=tuple(self._launches),
            dropped=tuple(self._dropped),
            revoked=tuple(revoked),
            notices=tuple(self._notices),
        )

    def note(self, kind: str, index: int) -> None:
        """Emit an event."""
        self._notices.append(Notice(kind, index))

    def launch(self, index: int) -> None:
        """Enqueue a job, or all jobs of a definition that wait for nothing in it."""
        node = self._plan.nodes[index]
        if node.fires:
            self.note("workflow.callback_fired", index)
        if node.kind is None:
            self.states[index] = NodeState.PENDING
            self._launches.append(Launch(index, parents_of(self._plan, index)))
            return
        self.states[index] = NodeState.ACTIVE
        for member in node.members:
            if not self._plan.nodes[member].needs:
                self.launch(member)

    def drop(self, index: int) -> None:
        """Drop all parts of a node that have not begun; enqueued jobs are left alone."""
        node = self._plan.nodes[index]
        if self.states[index] in (NodeState.WAITING, NodeState.ACTIVE):
            if node.kind is None:
                self._dropped.append(index)
            self.states[index] = NodeState.CANCELLED
        for part in (*node.members, *node.callbacks):
            self.drop(part)

    def reopen(self, index: int) -> list[int]:
        """Reopen a failed node at its failed jobs, and return these."""
        node = self._plan.nodes[index]
        if node.kind is None:
            self.states[index] = NodeState.PENDING
            return [index]
        self.states[index] = NodeState.ACTIVE
        callbacks = [
            callback for callback in node.callbacks if self.states[callback] is NodeState.FAILED
        ]
        failed = callbacks or [
            member for member in node.members if self.states[member] is NodeState.FAILED
        ]
        if not callbacks:
            for part in (*node.members, *node.callbacks):
                if self.states[part] is NodeState.CANCELLED:
                    self._restore(part)
        return [job for member in failed for job in self.reopen(member)]

    def _restore(self, index: int) -> None:
        """Restore a dropped node and all its parts to waiting."""
        self.states[index] = NodeState.WAITING
        node = self._plan.nodes[index]
        for part in (*node.members, *node.callbacks):
            self._restore(part)

    def end(self, index: int, outcome: Outcome) -> None:
        """End a node, and everything that ends with it."""
        self._end(index, outcome)
        # A queue, not recursion: a failed chain drops its steps one by one.
        while self._ended:
            ended = self._ended.popleft()
            scope = self._plan.nodes[ended].scope
            if scope is not None:
                self._follow(ended, scope)

    def _end(self, index: int, outcome: Outcome) -> None:
        self.states[index] = outcome
        self.note(_NOTICES[index == 0, outcome], index)
        self._ended.append(index)

    def _follow(self, ended: int, scope: int) -> None:
        """Decide on the nodes that waited for this one, and on the enclosing definition."""
        for part in self._waiters(scope).get(ended, ()):
            if self.states[part] is not NodeState.WAITING:
                continue
            runs = self._may_run(self._plan.nodes[part])
            if runs:
                self.launch(part)
            elif runs is not None:
                self.drop(part)
                self._ended.append(part)
        around = self._plan.nodes[scope]
        if self.states[scope] is NodeState.ACTIVE and all(
            self.states[part] in ENDED for part in (*around.members, *around.callbacks)
        ):
            self._end(scope, self._outcome(around))

    def _waiters(self, scope: int) -> dict[int, list[int]]:
        """Map each node of a definition to those that need it; cached: a failure may drop many."""
        if scope not in self._waiting:
            waiting = self._waiting[scope] = {}
            for part in (*self._plan.nodes[scope].members, *self._plan.nodes[scope].callbacks):
                for need in self._plan.nodes[part].needs:
                    waiting.setdefault(need, []).append(part)
        return self._waiting[scope]

    def _may_run(self, node: Node) -> bool | None:
        """Decide if a waiting node runs; None while that is open."""
        states = [self.states[index] for index in node.needs]
        unsuccessful = any(state in ENDED and state is not NodeState.COMPLETED for state in states)
        all_ended = all(state in ENDED for state in states)
        if node.fires is None:
            return False if unsuccessful else True if all_ended else None
        if not all_ended:
            return None
        return (
            node.fires is Callback.ON_COMPLETE
            or (node.fires is Callback.ON_FAILURE) == unsuccessful
        )

    def _outcome(self, node: Node) -> Outcome:
        fired = {self.states[index] for index in node.callbacks} - {NodeState.CANCELLED}
        ends = fired or {self.states[index] for index in node.members}
        return NodeState.COMPLETED if ends == {NodeState.COMPLETED} else NodeState.FAILED
