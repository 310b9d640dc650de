"""The stored workflow, and the state and progress of its jobs.

A step that waits is stored as its request, so that a later version of the server reads it by its
own rules. Results are stored here too while another step may get them, so that they do not depend
on the retention of jobs.
"""

from typing import Final

import msgspec

from ojs_server.domain.workflows.plan import NodeStates, Plan, WorkflowState, progress_of
from ojs_wire import codec
from ojs_wire.codec import Json

_plan: Final = msgspec.json.Decoder(Plan)


class Workflow(msgspec.Struct, frozen=True):
    """One workflow. `plan` is JSON and never changes; `progress` is a letter for each node."""

    id: str
    name: str | None
    kind: str
    state: str
    plan: Json
    progress: str
    created_at: int
    finished_at: int | None = None
    due_at: int | None = None
    request_hash: bytes | None = None
    tenant: str | None = None


class WorkflowJob(msgspec.Struct, frozen=True):
    """A node that is a job: its request while it waits, then the job's id and outcome.

    `result` is kept while another job of the workflow may still get it.
    """

    workflow_id: str
    node: int
    request: Json | None = None
    job_id: str | None = None
    result: Json | None = None
    error: Json | None = None
    ended_at: int | None = None


class WaitingJob(msgspec.Struct, frozen=True):
    """The request of a waiting node, or the size of the results that an ended one passes on."""

    request: Json | None
    job_id: str | None
    result_size: int | None
    error_size: int | None


class MemberJob(msgspec.Struct, frozen=True):
    """A job of a workflow as it is shown; its own record may have been removed already."""

    node: int
    job_id: str
    ended_at: int | None = None
    error: Json | None = None
    state: str | None = None
    started_at: int | None = None
    # In bytes; None if the job has no result, or was removed.
    result_size: int | None = None


class MemberProgress(msgspec.Struct, frozen=True):
    """The progress that a job of a workflow has reported; `data` is JSON."""

    node: int
    value: float | None
    data: Json | None


class WorkflowView(msgspec.Struct, frozen=True):
    """A workflow and its jobs that were enqueued."""

    workflow: Workflow
    members: tuple[MemberJob, ...] = ()


def plan_of(workflow: Workflow) -> Plan:
    """Return the plan of a stored workflow."""
    return _plan.decode(workflow.plan)


def progress_in(workflow: Workflow) -> NodeStates:
    """Return the progress of a stored workflow."""
    return progress_of(workflow.progress)


def begun(
    workflow_id: str,
    name: str | None,
    plan: Plan,
    progress: NodeStates,
    now: int,
    request_hash: bytes | None,
    tenant: str | None = None,
) -> Workflow:
    """Return the record of a new workflow."""
    return Workflow(
        id=workflow_id,
        name=name,
        kind=plan.root.kind or "",
        state=progress.state,
        plan=codec.encode(plan),
        progress=progress.written(),
        created_at=now,
        request_hash=request_hash,
        tenant=tenant,
    )


def moved(workflow: Workflow, progress: NodeStates, now: int, keep_ms: int) -> Workflow:
    """Return the workflow after a step; the last step sets the end of its retention."""
    finished_at, due_at = workflow.finished_at, workflow.due_at
    if progress.state is WorkflowState.RUNNING:
        finished_at = due_at = None
    elif finished_at is None:
        finished_at, due_at = now, now + keep_ms
    return msgspec.structs.replace(
        workflow,
        state=progress.state,
        progress=progress.written(),
        finished_at=finished_at,
        due_at=due_at,
    )
