"""Convert messages of `ojs.v1` to the JSON of HTTP, and back.

An empty text, zero and a missing message count as absent, since protobuf does not tell them from
members that were not set.
"""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.grpc import values
from ojs_server.grpc.proto import ojs_v1_pb2 as pb

Json = Mapping[str, Any]
_STATES: Final = "JOB_STATE_"
_CONFLICTS: Final = "UNIQUE_CONFLICT_ACTION_"
# The member that holds a job's result if it is not an object.
VALUE: Final = "value"


def name_of(enum: Any, prefix: str, number: int) -> str | None:
    """Return the JSON name of a member of an enum; None for the unspecified one."""
    # An unknown number keeps the prefix, so that it cannot be mistaken for a word of the API.
    name = enum.Name(number) if number in enum.values() else f"{prefix}{number}"
    word = str(name).removeprefix(prefix).lower()
    return None if word == "unspecified" else word


def number_of(enum: Any, prefix: str, word: str | None) -> Any:
    """Return the member of an enum by its JSON name; the unspecified one if there is none."""
    name = f"{prefix}{(word or 'unspecified').upper()}"
    return enum.Value(name) if name in enum.keys() else 0  # noqa: SIM118  no mapping


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
    options: dict[str, Any] = {
        "queue": message.queue or None,
        "priority": message.priority or None,
        "tags": list(message.tags) or None,
        "max_attempts": message.max_attempts or None,
    }
    if message.HasField("delay_until"):
        options["delay_until"] = values.moment_in(message.delay_until, f"{field}.delay_until")
    for name, option in (
        ("timeout", "timeout"),
        ("ttl", "enqueue_ttl"),
        ("visibility_timeout", "visibility_timeout"),
    ):
        if message.HasField(name):
            options[option] = values.duration_in(getattr(message, name), f"{field}.{name}")
    if message.HasField("retry"):
        options["retry"] = _retry_in(message.retry, f"{field}.retry")
    if message.HasField("unique"):
        options["unique"] = _unique_in(message.unique, f"{field}.unique")
    meta = values.object_of(message.meta, f"{field}.meta")
    if message.trace_id:
        meta["trace_id"] = message.trace_id
    return meta, {name: value for name, value in options.items() if value is not None}


def _retry_in(message: pb.RetryPolicy, field: str) -> dict[str, Any]:
    policy: dict[str, Any] = {"jitter": message.jitter}
    if message.max_attempts:
        policy["max_attempts"] = message.max_attempts
    if message.backoff_coefficient:
        policy["backoff_coefficient"] = message.backoff_coefficient
    if message.non_retryable_errors:
        policy["non_retryable_errors"] = list(message.non_retryable_errors)
    if message.on_exhaustion:
        policy["on_exhaustion"] = message.on_exhaustion
    if message.HasField("initial_interval"):
        policy["initial_interval"] = values.duration_in(
            message.initial_interval, f"{field}.initial_interval"
        )
    if message.HasField("max_interval"):
        policy["max_interval"] = values.duration_in(message.max_interval, f"{field}.max_interval")
    return policy


def _unique_in(message: pb.UniquePolicy, field: str) -> dict[str, Any]:
    policy: dict[str, Any] = {
        "keys": list(message.key) or None,
        "args_keys": list(message.args_keys) or None,
        "meta_keys": list(message.meta_keys) or None,
        "states": [name_of(pb.JobState, _STATES, state) for state in message.states] or None,
        "on_conflict": name_of(pb.UniqueConflictAction, _CONFLICTS, message.on_conflict),
    }
    if message.HasField("period"):
        policy["period"] = values.duration_in(message.period, f"{field}.period")
    return {name: value for name, value in policy.items() if value is not None}


def job(shown: Json) -> pb.Job:
    """Return the message of a job; answers about changes have a part of its members only."""
    meta = shown.get("meta") or {}
    result = shown.get("result")
    return pb.Job(
        id=shown["id"],
        type=shown["type"],
        queue=shown["queue"],
        args=values.values_of(shown.get("args") or (), "args"),
        meta=values.struct_of(meta, "meta") if meta else None,
        state=state(shown["state"]),
        priority=shown.get("priority", 0),
        attempt=values.int32_of(shown.get("attempt", 0), "attempt"),
        max_attempts=values.int32_of(shown.get("max_attempts", 0), "max_attempts"),
        retry_policy=_retry(shown.get("retry")),
        unique_policy=_unique(shown.get("unique")),
        result=None if result is None else values.struct_of(_wrapped(result), "result"),
        errors=[error(entry) for entry in shown.get("errors") or ()],
        created_at=values.timestamp_of(shown.get("created_at")),
        enqueued_at=values.timestamp_of(shown.get("enqueued_at")),
        scheduled_at=values.timestamp_of(shown.get("scheduled_at")),
        started_at=values.timestamp_of(shown.get("started_at")),
        completed_at=values.timestamp_of(shown.get("completed_at")),
        expires_at=values.timestamp_of(shown.get("expires_at")),
        timeout=values.duration_of(shown.get("timeout_ms")),
        visibility_timeout=values.duration_of(shown.get("visibility_timeout_ms")),
        tags=shown.get("tags") or (),
        trace_id=_trace(meta),
        workflow_id=shown.get("workflow_id") or "",
        specversion=shown.get("specversion", "1.0"),
    )


def state(word: str) -> Any:
    """The state of a job."""
    return number_of(pb.JobState, _STATES, word)


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
        on_conflict=number_of(pb.UniqueConflictAction, _CONFLICTS, policy["on_conflict"]),
        states=[state(entry) for entry in policy.get("states") or ()],
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
    error: dict[str, Any] = {"retryable": message.retryable}
    if message.code:
        error["code"] = message.code
    if message.message:
        error["message"] = message.message
    if message.backtrace:
        error["backtrace"] = message.backtrace
    if message.HasField("details"):
        error["details"] = values.object_of(message.details, "error.details")
    return error


def cron_entry(shown: Json) -> pb.CronEntry:
    """A cron entry."""
    return pb.CronEntry(
        name=shown["name"],
        cron=shown["expression"],
        timezone=shown["timezone"] or "",
        type=shown["type"],
        args=values.values_of(shown["args"], "args"),
        options=_options(shown),
        next_run_at=values.timestamp_of(shown["next_run_at"]),
        last_run_at=values.timestamp_of(shown["last_run_at"]),
    )


def _options(entry: Json) -> pb.EnqueueOptions:
    """The options of a cron entry, as far as they were given."""
    given, meta = entry["options"], entry["meta"]
    retry = given.get("retry") or given.get("retry_policy") or {}
    message = pb.EnqueueOptions(
        queue=entry["queue"],
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


def workflow(shown: Json) -> pb.Workflow:
    """A workflow with its steps."""
    return pb.Workflow(
        id=shown["id"],
        name=shown["name"] or "",
        state=number_of(pb.WorkflowState, "WORKFLOW_STATE_", shown["state"]),
        steps=[_step(step) for step in shown["steps"]],
        created_at=values.timestamp_of(shown["created_at"]),
        completed_at=values.timestamp_of(shown["completed_at"] or shown["cancelled_at"]),
    )


def _step(shown: Json) -> pb.WorkflowStepStatus:
    return pb.WorkflowStepStatus(
        id=shown["id"],
        type=shown["type"],
        state=number_of(pb.WorkflowStepState, "WORKFLOW_STEP_STATE_", shown["state"]),
        job_id=shown["job_id"] or "",
        depends_on=shown["depends_on"],
    )


def workflow_request(message: pb.CreateWorkflowRequest) -> dict[str, Any]:
    """The request for a workflow whose steps name those that they wait for."""
    steps: list[dict[str, Any]] = []
    for place, step in enumerate(message.steps):
        request = job_request(step, f"steps[{place}].")
        steps.append({"id": step.id, "depends_on": list(step.depends_on), **request})
    return {"steps": steps, **({"name": message.name} if message.name else {})}
