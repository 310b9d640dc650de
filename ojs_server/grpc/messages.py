"""Convert messages of `ojs.v1` to requests, and records to messages.

An empty text, zero and a missing message count as absent, since protobuf does not tell them from
members that were not set. A job, a cron entry and a workflow arrive as the domain reads them: as
JSON values, the form in which their parsers check the members of all dialects.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from ojs_server.domain.cron.entry import CronEntry, definition_of, queue_of
from ojs_server.domain.jobs.job import Job, State, StoredJob
from ojs_server.domain.jobs.validate import NO_META
from ojs_server.domain.workflows.record import WorkflowView
from ojs_server.grpc import values
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.http import dialects
from ojs_server.http.workflows.views import Step, shown
from ojs_wire.codec import decode

Json = Mapping[str, Any]
# The member that holds a job's result if it is not an object.
VALUE: Final = "value"


class Words:
    """The members of an enum by their names in the API; the unspecified one is None."""

    def __init__(self, enum: Any, prefix: str) -> None:
        words = {number: name.removeprefix(prefix).lower() for name, number in enum.items()}
        self._words: dict[int, str | None] = {**words, 0: None}
        self._numbers = {word: number for number, word in words.items()}

    def name(self, number: int) -> str | None:
        """Return the name of a member."""
        # An unknown number cannot be mistaken for a word of the API.
        return self._words.get(number, str(number))

    def number(self, word: str | None) -> Any:
        """Return the member of a name; the unspecified one if there is none."""
        return self._numbers.get(word or "", 0)


STATES: Final = Words(pb.JobState, "JOB_STATE_")
WORKER_STATES: Final = Words(pb.WorkerState, "WORKER_STATE_")
_CONFLICTS: Final = Words(pb.UniqueConflictAction, "UNIQUE_CONFLICT_ACTION_")
_WORKFLOW_STATES: Final = Words(pb.WorkflowState, "WORKFLOW_STATE_")
_STEP_STATES: Final = Words(pb.WorkflowStepState, "WORKFLOW_STEP_STATE_")


def job_request(message: Any, field: str = "") -> dict[str, Any]:
    """Return the request for a job: `type`, `args` and options."""
    request: dict[str, Any] = {
        "type": message.type,
        "args": values.list_of(message.args, f"{field}args"),
    }
    if message.HasField("options"):
        meta, options = options_in(message.options, f"{field}options")
        if meta:
            request["meta"] = meta
        request["options"] = options
    return request


def options_in(message: pb.EnqueueOptions, field: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the `meta` and the options of a message."""
    due, retry, unique = map(message.HasField, ("delay_until", "retry", "unique"))
    options = _present(
        queue=message.queue or None,
        priority=message.priority or None,
        tags=list(message.tags) or None,
        max_attempts=message.max_attempts or None,
        delay_until=values.moment_in(message.delay_until, f"{field}.delay_until") if due else None,
        timeout=_duration_in(message, "timeout", field),
        enqueue_ttl=_duration_in(message, "ttl", field),
        visibility_timeout=_duration_in(message, "visibility_timeout", field),
        retry=_retry_in(message.retry, f"{field}.retry") if retry else None,
        unique=_unique_in(message.unique, f"{field}.unique") if unique else None,
    )
    meta = values.object_of(message.meta, f"{field}.meta")
    if message.trace_id:
        meta["trace_id"] = message.trace_id
    return meta, options


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _duration_in(message: Any, name: str, field: str) -> str | None:
    if not message.HasField(name):
        return None
    return values.duration_in(getattr(message, name), f"{field}.{name}")


def _retry_in(message: pb.RetryPolicy, field: str) -> dict[str, Any]:
    return _present(
        jitter=message.jitter,
        max_attempts=message.max_attempts or None,
        backoff_coefficient=message.backoff_coefficient or None,
        non_retryable_errors=list(message.non_retryable_errors) or None,
        on_exhaustion=message.on_exhaustion or None,
        initial_interval=_duration_in(message, "initial_interval", field),
        max_interval=_duration_in(message, "max_interval", field),
    )


def _unique_in(message: pb.UniquePolicy, field: str) -> dict[str, Any]:
    return _present(
        keys=list(message.key) or None,
        args_keys=list(message.args_keys) or None,
        meta_keys=list(message.meta_keys) or None,
        states=list(map(STATES.name, message.states)) or None,
        on_conflict=_CONFLICTS.name(message.on_conflict),
        period=_duration_in(message, "period", field),
    )


def job(stored: StoredJob) -> pb.Job:
    """Return the message of a job."""
    job, args = stored.job, decode(stored.args)
    message = pb.Job(
        id=job.id,
        type=job.type,
        queue=job.queue,
        args=values.values_of(args, "args"),
        state=STATES.number(job.state),
        priority=job.priority,
        attempt=values.int32_of(job.attempt, "attempt"),
        max_attempts=values.int32_of(job.max_attempts, "max_attempts"),
        created_at=values.timestamp_at(job.created_at),
        enqueued_at=values.timestamp_at(job.enqueued_at),
        scheduled_at=values.timestamp_at(job.scheduled_at),
        started_at=values.timestamp_at(job.started_at),
        completed_at=values.timestamp_at(job.completed_at),
        expires_at=values.timestamp_at(job.expires_at),
        workflow_id=job.workflow_id or "",
        specversion="1.0",
    )
    # Most jobs have none of these.
    if stored.meta != NO_META:
        meta = decode(stored.meta)
        message.meta.CopyFrom(values.struct_of(meta, "meta"))
        message.trace_id = _trace(meta)
    if job.spec != b"{}":
        message.MergeFrom(_options_of_job(decode(job.spec)))
    if job.errors is not None:
        message.errors.extend(map(error, decode(job.errors)))
    if stored.result is not None:
        message.result.CopyFrom(values.struct_of(_wrapped(decode(stored.result)), "result"))
    return message


def _options_of_job(spec: Json) -> pb.Job:
    return pb.Job(
        retry_policy=_retry(spec.get("retry")),
        unique_policy=_unique(spec.get("unique")),
        timeout=values.duration_of(spec.get("timeout_ms")),
        visibility_timeout=values.duration_of(spec.get("visibility_timeout_ms")),
        tags=spec.get("tags") or (),
    )


# Members that answers about a change leave out, besides the payload.
_LEFT_OUT: Final[Mapping[str, Any]] = {
    "priority": 0,
    "expires_at": None,
    "workflow_id": None,
    "spec": b"{}",
    "errors": None,
}


def changed_job(after: Job) -> pb.Job:
    """Return the message of a job after a transition, without its payload and options."""
    message = job(StoredJob(replace(after, **_LEFT_OUT), b"[]", NO_META))
    if after.state != State.SCHEDULED:
        message.ClearField("scheduled_at")
    return message


def _trace(meta: Json) -> str:
    given = meta.get("trace_id")
    return given if isinstance(given, str) else ""


def _wrapped(result: Any) -> Json:
    return result if isinstance(result, dict) else {VALUE: result}


def _retry(policy: Json | None) -> pb.RetryPolicy | None:
    if policy is None:
        return None
    return pb.RetryPolicy(
        max_attempts=policy["max_attempts"],
        initial_interval=values.duration_of(policy["initial_interval_ms"]),
        backoff_coefficient=policy["backoff_coefficient"],
        max_interval=values.duration_of(policy["max_interval_ms"]),
        jitter=policy["jitter"],
        non_retryable_errors=policy["non_retryable_errors"],
        on_exhaustion=policy["on_exhaustion"],
    )


def _unique(policy: Json | None) -> pb.UniquePolicy | None:
    if policy is None:
        return None
    return pb.UniquePolicy(
        key=policy["keys"],
        period=values.duration_of(policy.get("period")),
        on_conflict=_CONFLICTS.number(policy["on_conflict"]),
        states=map(STATES.number, policy.get("states") or ()),
        args_keys=policy.get("args_keys") or (),
        meta_keys=policy.get("meta_keys") or (),
    )


def error(shown: Json) -> pb.JobError:
    """An error of a job's history."""
    details, frames = shown.get("details"), shown.get("backtrace")
    return pb.JobError(
        code=shown["code"],
        message=shown["message"],
        retryable=shown["retryable"],
        attempt=values.int32_of(shown["attempt"], "errors.attempt"),
        occurred_at=values.timestamp_of(shown["occurred_at"]),
        backtrace="\n".join(frames or ()),
        details=None if details is None else values.struct_of(details, "errors.details"),
    )


def error_in(message: pb.JobError) -> dict[str, Any]:
    """The error that a worker reports."""
    has_details = message.HasField("details")
    return _present(
        retryable=message.retryable,
        code=message.code or None,
        message=message.message or None,
        backtrace=message.backtrace or None,
        details=values.object_of(message.details, "error.details") if has_details else None,
    )


def cron_entry(entry: CronEntry) -> pb.CronEntry:
    """A cron entry."""
    template = definition_of(entry).job_template
    _, name = entry.scoped_name
    return pb.CronEntry(
        name=name,
        cron=entry.expression,
        timezone=entry.timezone,
        type=template["type"],
        args=values.values_of(template["args"], "args"),
        options=_options(template),
        next_run_at=values.timestamp_at(entry.next_run_at),
        last_run_at=values.timestamp_at(entry.last_run_at),
    )


def _options(template: Json) -> pb.EnqueueOptions:
    """The options of a cron entry, as far as they were given."""
    given, meta = template.get("options") or {}, template.get("meta") or {}
    retry = given.get("retry") or given.get("retry_policy") or {}
    message = pb.EnqueueOptions(
        queue=queue_of(template),
        priority=given.get("priority") or 0,
        tags=given.get("tags") or (),
        meta=values.struct_of(meta, "meta") if meta else None,
        trace_id=_trace(meta),
        max_attempts=given.get("max_attempts") or retry.get("max_attempts") or 0,
    )
    for name, option in (("timeout", "timeout"), ("ttl", "enqueue_ttl")):
        found = _milliseconds(given, option)
        if found is not None:
            getattr(message, name).CopyFrom(values.duration_of(found))
    return message


def _milliseconds(given: Json, option: str) -> str | int | None:
    """Return a duration in milliseconds, given as text, or as a number in milliseconds or
    seconds."""
    if given.get(f"{option}_ms") is not None:
        return int(given[f"{option}_ms"])
    value = given.get(option)
    return round(value * 1000) if isinstance(value, int | float) else value


def workflow(view: WorkflowView) -> pb.Workflow:
    """A workflow with its steps."""
    drawn = dialects.workflow(shown(view))
    return pb.Workflow(
        id=drawn["id"],
        name=drawn["name"] or "",
        state=_WORKFLOW_STATES.number(drawn["state"]),
        steps=[_step(step) for step in drawn["steps"]],
        created_at=values.timestamp_of(drawn["created_at"]),
        completed_at=values.timestamp_of(drawn["completed_at"] or drawn["cancelled_at"]),
    )


def _step(step: Step) -> pb.WorkflowStepStatus:
    return pb.WorkflowStepStatus(
        id=step.id,
        type=step.type,
        state=_STEP_STATES.number(step.state),
        job_id=step.job_id or "",
        depends_on=step.depends_on,
    )


def workflow_request(message: pb.CreateWorkflowRequest) -> dict[str, Any]:
    """The request for a workflow whose steps name those that they wait for."""
    steps: list[dict[str, Any]] = []
    for place, step in enumerate(message.steps):
        request = job_request(step, f"steps[{place}].")
        steps.append({"id": step.id, "depends_on": list(step.depends_on), **request})
    return {"steps": steps, **({"name": message.name} if message.name else {})}
