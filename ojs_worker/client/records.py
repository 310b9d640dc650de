"""Workflows and cron entries as the server shows them. Members that a server leaves out have their
defaults."""

from typing import Any, Final

import msgspec

_ENDED: Final = frozenset({"completed", "failed", "cancelled"})


class WorkflowStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a workflow: a job, or a workflow with `steps` of its own."""

    id: str = ""
    index: int = 0
    type: str = ""
    state: str = ""
    # None until the job is enqueued, and for a workflow.
    job_id: str | None = None
    job_state: str | None = None
    depends_on: list[str] = []
    callback: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    error: Any = None
    result: Any = None
    steps: list["WorkflowStep"] = []


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow. Lists show it without its steps."""

    id: str
    type: str = ""
    name: str | None = None
    state: str = ""
    steps_total: int = 0
    steps_completed: int = 0
    steps_failed: int = 0
    created_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    cancelled_at: str | None = None
    steps: list[WorkflowStep] = []
    callbacks: list[WorkflowStep] = []
    failed_step_id: str | None = None
    failed_job_ids: list[str] = []
    errors: list[Any] = []

    def __repr__(self) -> str:
        """Return kind, id, state and the number of its steps."""
        done = f"{self.steps_completed} of {self.steps_total} steps"
        return f"<Workflow {self.type} {self.id}: {self.state}, {done}>"

    @property
    def ended(self) -> bool:
        """True if the workflow is in a final state."""
        return self.state in _ENDED


class StepProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a step, from 0 to 1, and the data of its job's last report."""

    id: str = ""
    type: str = ""
    state: str = ""
    job_id: str | None = None
    progress: float = 0.0
    data: Any = None


class WorkflowProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a workflow, from 0 to 1."""

    workflow_id: str = ""
    type: str = ""
    state: str = ""
    progress: float = 0.0
    steps: list[StepProgress] = []


class CronEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A cron entry: its schedule, and the job of each run."""

    name: str
    expression: str = ""
    timezone: str = "UTC"
    overlap_policy: str = "skip"
    enabled: bool = True
    description: str | None = None
    type: str = ""
    args: list[Any] = []
    meta: dict[str, Any] = {}
    options: dict[str, Any] = {}
    queue: str = "default"
    next_run_at: str | None = None
    last_run_at: str | None = None
    last_job_id: str | None = None
    run_count: int = 0
    waiting: int = 0
    created_at: str | None = None
    updated_at: str | None = None
    may_change: bool = True

    def __repr__(self) -> str:
        """Return name, schedule, job type and the next run."""
        state = f"next at {self.next_run_at}" if self.enabled else "disabled"
        return f"<CronEntry {self.name}: {self.expression} {self.timezone}, {self.type}, {state}>"


class CronRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a cron entry; `reason` is why it was skipped."""

    scheduled_at: str = ""
    triggered_at: str = ""
    outcome: str = ""
    reason: str | None = None
    job_id: str | None = None
    manual: bool = False
    waiting: bool = False
