"""Build the events of workflows and of their steps."""

from typing import Any

import msgspec

from ojs_server.domain.jobs.job import Event
from ojs_server.domain.workflows.plan import MemberCounts, Plan
from ojs_server.domain.workflows.record import Workflow
from ojs_wire import codec


class StepEnd(msgspec.Struct, frozen=True):
    """The known facts of a job whose step has ended."""

    job_id: str | None = None
    started_at: int | None = None
    error: bytes | None = None


_UNKNOWN = StepEnd()


def event_of(
    kind: str,
    workflow: Workflow,
    plan: Plan,
    node: int,
    counts: MemberCounts,
    now: int,
    end: StepEnd = _UNKNOWN,
) -> Event:
    """Return the event of a notice; `node` is the step that it is about, 0 if none."""
    data: dict[str, Any] = {
        "workflow_id": workflow.id,
        "workflow_name": workflow.name,
        "workflow_type": workflow.kind,
        "total_steps": counts.total,
    }
    if workflow.tenant is not None:
        data["tenant_id"] = workflow.tenant
    if kind in ("workflow.completed", "workflow.failed", "workflow.cancelled"):
        data["duration_ms"] = max(0, now - workflow.created_at)
        data["steps_completed"] = counts.completed
        data["steps_failed"] = counts.failed
    if kind == "workflow.failed":
        data.update(_step(plan, node, end, "failed_step"), error=_short(end.error))
    elif node:
        data.update(_step(plan, node, end, "step"), steps_remaining=counts.remaining)
        if kind == "workflow.callback_fired":
            data["callback"] = plan.nodes[node].fires
        else:
            started = end.started_at
            data["duration_ms"] = None if started is None else max(0, now - started)
        if kind == "workflow.step_failed":
            data["error"] = _short(end.error)
    return Event(kind, workflow.id, None, None, codec.encode(data))


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


def _step(plan: Plan, node: int, end: StepEnd, prefix: str) -> dict[str, Any]:
    found = plan.nodes[node]
    return {
        f"{prefix}_id": found.id,
        f"{prefix}_type": found.job_type or found.kind,
        "job_id": end.job_id,
    }


def _short(error: bytes | None) -> dict[str, Any] | None:
    return None if error is None else msgspec.to_builtins(msgspec.json.decode(error, type=_Error))
