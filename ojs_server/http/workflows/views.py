"""Views of workflows on the wire: the whole tree, with its jobs as they are now."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ojs_server.domain.jobs.job import State
from ojs_server.domain.workflows.lifecycle import culprit, tally
from ojs_server.domain.workflows.plan import (
    ENDED,
    Node,
    NodeState,
    NodeStates,
    Plan,
    WorkflowKind,
    WorkflowState,
)
from ojs_server.domain.workflows.record import (
    MemberJob,
    MemberProgress,
    Workflow,
    WorkflowView,
    plan_of,
    progress_in,
)
from ojs_wire.values import format_timestamp, timestamp


class _Error(msgspec.Struct):
    code: str | None = None
    type: str | None = None
    message: str | None = None
    attempt: int | None = None


class Step(msgspec.Struct):
    """A step of a workflow, or a callback."""

    index: int
    id: str
    type: str
    state: str
    job_id: str | None
    depends_on: list[str]
    job_state: str | UnsetType = UNSET
    callback: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    completed_at: str | UnsetType = UNSET
    error: _Error | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    steps: "list[Step] | UnsetType" = UNSET


_error = msgspec.json.Decoder(_Error)
NO_RESULTS: Final[Mapping[int, bytes]] = MappingProxyType({})


def shown(view: WorkflowView, results: Mapping[int, bytes] = NO_RESULTS) -> dict[str, Any]:
    """Return a workflow with its steps and callbacks; `results` are JSON by node."""
    drawing = _Drawing(view, results=results)
    return {
        **drawing.head(),
        **drawing.failure(),
        "steps": drawing.members(),
        "callbacks": drawing.callbacks(),
    }


def shown_briefly(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow in the form of lists."""
    return _Drawing(WorkflowView(workflow)).head()


def progress_shown(view: WorkflowView, reports: Iterable[MemberProgress]) -> dict[str, Any]:
    """Return the progress of a workflow, with the reports of its running jobs."""
    drawing = _Drawing(view, reports)
    return {
        "workflow_id": view.workflow.id,
        "type": view.workflow.kind,
        "state": view.workflow.state,
        "progress": round(drawing.share_of_members(drawing.plan.root), 6),
        "steps": drawing.shares(),
    }


class _Drawing:
    def __init__(
        self,
        view: WorkflowView,
        reports: Iterable[MemberProgress] = (),
        results: Mapping[int, bytes] = NO_RESULTS,
    ) -> None:
        self._workflow = view.workflow
        self.plan: Plan = plan_of(view.workflow)
        self._reports = {report.node: report for report in reports}
        self._results = results
        self._progress: NodeStates = progress_in(view.workflow)
        self._members: Mapping[int, MemberJob] = {member.node: member for member in view.members}
        self.counts = tally(self.plan, self._progress)

    def head(self) -> dict[str, Any]:
        """Return the members of the workflow itself."""
        flow, counts = self._workflow, self.counts
        cancelled = flow.state == WorkflowState.CANCELLED
        moments = {
            "created_at": format_timestamp(flow.created_at),
            # Its first steps are enqueued in the transaction that stores the workflow.
            "started_at": format_timestamp(flow.created_at),
            "completed_at": None if cancelled else timestamp(flow.finished_at),
            "cancelled_at": timestamp(flow.finished_at) if cancelled else None,
        }
        return {
            "id": flow.id,
            "type": flow.kind,
            "name": flow.name,
            "state": flow.state,
            "steps_total": counts.total,
            "steps_completed": counts.completed,
            "steps_failed": counts.failed,
            **moments,
            "metadata": {
                **moments,
                "job_count": counts.total,
                "completed_count": counts.completed,
                "failed_count": counts.failed,
            },
        }

    def failure(self) -> dict[str, Any]:
        """Return the failed jobs with their errors; empty if none has failed."""
        failed = [
            (self._members[index], self.plan.nodes[index].id)
            for index, state in enumerate(self._progress.nodes)
            if state is NodeState.FAILED and index in self._members
        ]
        members: dict[str, Any] = {}
        if failed:
            members["failed_job_ids"] = [member.job_id for member, _ in failed]
            members["errors"] = [
                {"job_id": member.job_id, "step_id": step_id, **_error_members(member)}
                for member, step_id in failed
            ]
        if (blamed := culprit(self.plan, self._progress)) is not None:
            members["failed_step_id"] = self.plan.nodes[blamed].id
            if (place := self._place_in_root(blamed)) is not None:
                members["failed_step_index"] = place
        return members

    def members(self) -> list[Step]:
        """Return the steps of the workflow, without its callbacks."""
        return [self._step(place, part) for place, part in enumerate(self.plan.root.members)]

    def callbacks(self) -> list[Step]:
        """Return the callbacks of the workflow, which are numbered after its steps."""
        root = self.plan.root
        return [
            self._step(place, part) for place, part in enumerate(root.callbacks, len(root.members))
        ]

    def shares(self) -> list[dict[str, Any]]:
        """Return the progress of each step of the workflow."""
        root = self.plan.root
        return [
            {
                "job_id": step.job_id,
                "id": step.id,
                "type": step.type,
                "state": step.state,
                "progress": round(self._share_of(part), 6),
                **self._data_of(part),
            }
            for step, part in zip(
                (*self.members(), *self.callbacks()), (*root.members, *root.callbacks), strict=True
            )
        ]

    def share_of_members(self, node: Node) -> float:
        """Return the mean progress of the members; of a batch only ended members count."""
        whole = node.kind is WorkflowKind.BATCH
        shares = [
            self._share_of(part)
            for part in node.members
            if not whole or self._progress.nodes[part] in ENDED
        ]
        return sum(shares) / len(node.members)

    def _share_of(self, index: int) -> float:
        state = self._progress.nodes[index]
        if state in ENDED:
            return float(state is not NodeState.CANCELLED)
        node = self.plan.nodes[index]
        if node.members:
            return self.share_of_members(node)
        report = self._reports.get(index)
        return 0.0 if report is None else report.value or 0.0

    def _data_of(self, index: int) -> dict[str, Raw]:
        report = self._reports.get(index)
        return {} if report is None or report.data is None else {"data": Raw(report.data)}

    def _step(self, place: int, index: int) -> Step:
        node = self.plan.nodes[index]
        member = self._members.get(index)
        step = Step(
            index=place,
            id=node.id,
            type=node.job_type or node.kind or "",
            state=self._progress.nodes[index],
            job_id=member.job_id if member else None,
            depends_on=[self.plan.nodes[need].id for need in node.needs],
            callback=UNSET if node.fires is None else node.fires,
            steps=UNSET if node.kind is None else self._inside(node),
        )
        if member is not None:
            self._fill(step, member)
        return step

    def _inside(self, node: Node) -> list[Step]:
        return [
            self._step(place, part) for place, part in enumerate((*node.members, *node.callbacks))
        ]

    def _fill(self, step: Step, member: MemberJob) -> None:
        if member.state is not None:
            step.job_state = member.state
        if step.state == NodeState.PENDING and member.state == State.ACTIVE:
            step.state = "active"
        if member.started_at is not None:
            step.started_at = format_timestamp(member.started_at)
        if member.ended_at is not None:
            step.completed_at = format_timestamp(member.ended_at)
        if member.error is not None:
            step.error = _error.decode(member.error)
        if member.node in self._results:
            step.result = Raw(self._results[member.node])

    def _place_in_root(self, index: int) -> int | None:
        parts = (*self.plan.root.members, *self.plan.root.callbacks)
        while index not in parts:
            scope = self.plan.nodes[index].scope
            if scope is None:
                return None
            index = scope
        return parts.index(index)


def _error_members(member: MemberJob) -> dict[str, Any]:
    found = _Error() if member.error is None else _error.decode(member.error)
    members: dict[str, Any] = msgspec.to_builtins(found)
    return members
