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

    # Its id, a UUIDv7.
    id: str
    # `chain`, `group`, `batch` or `dag`.
    type: str = ""
    # A name for lists.
    name: str | None = None
    # `running`, `completed`, `failed` or `cancelled`.
    state: str = ""
    # The number of its steps.
    steps_total: int = 0
    # Steps that are completed.
    steps_completed: int = 0
    # Steps that have failed.
    steps_failed: int = 0
    # The moment of its start by a client.
    created_at: str | None = None
    # The moment of its first step.
    started_at: str | None = None
    # The moment of its end.
    completed_at: str | None = None
    # The moment at which it was cancelled.
    cancelled_at: str | None = None
    # Its steps.
    steps: list[WorkflowStep] = []
    # The callbacks of a batch.
    callbacks: list[WorkflowStep] = []
    # The step that made it fail.
    failed_step_id: str | None = None
    # The jobs that have failed.
    failed_job_ids: list[str] = []
    # The errors of these jobs.
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

    # Its name.
    name: str
    # The schedule.
    expression: str = ""
    # The time zone of the schedule.
    timezone: str = "UTC"
    # A run that is due while the last one still runs: `skip`, `allow`, `cancel_previous` or
    # `enqueue`.
    overlap_policy: str = "skip"
    # False while it is disabled.
    enabled: bool = True
    # A description for people.
    description: str | None = None
    # The type of the jobs.
    type: str = ""
    # The arguments of the jobs.
    args: list[Any] = []
    # The metadata of the jobs.
    meta: dict[str, Any] = {}
    # The options of the jobs.
    options: dict[str, Any] = {}
    # The queue of the jobs.
    queue: str = "default"
    # The moment of the next run.
    next_run_at: str | None = None
    # The moment of the last run.
    last_run_at: str | None = None
    # The job of the last run.
    last_job_id: str | None = None
    # The runs so far.
    run_count: int = 0
    # Runs that wait for the end of another one.
    waiting: int = 0
    # The moment of its registration.
    created_at: str | None = None
    # The moment of its last change.
    updated_at: str | None = None
    # False if only its own key, or an operator, may change it.
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
