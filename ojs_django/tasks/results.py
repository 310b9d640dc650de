"""Results of tasks, made of jobs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from ojs_django.tasks.framework import (
    AnyResult,
    AnyTask,
    Task,
    TaskError,
    TaskResult,
    TaskResultStatus,
    task_backends,
)
from ojs_wire.values import parse_timestamp
from ojs_worker.errors import JobCancelled, JobFailed
from ojs_worker.job import Job

# Types of the jobs that run tasks.
FUNCTION: Final = "django.task"
COROUTINE: Final = "django.task.async"
READY: Final = TaskResultStatus.READY
STATUS: Final[Mapping[str, TaskResultStatus]] = {
    "active": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
    "discarded": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}
# A worker that the server does not know the name of.
UNNAMED: Final = "unknown"


class Call(msgspec.Struct, frozen=True):
    """The arguments of a job that runs a task."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    backend: str


class Start(msgspec.Struct, frozen=True):
    """The beginning of one attempt."""

    worker_id: str
    at: str | None


class _Error(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""
    details: Any = None
    backtrace: Any = None


def call_of(job: Job) -> Call | None:
    """Return the call of a task that a job is; None if it is none."""
    if job.type not in (FUNCTION, COROUTINE):
        return None
    try:
        (given,) = job.args
        return msgspec.convert(given, Call)
    except ValueError:
        return None


def find_task(path: str) -> AnyTask:
    """Import a task; raises ImportError, also for what is none."""
    found = import_string(path)
    if not isinstance(found, Task):
        raise ImportError(f"{path} is not a task")
    return found


def new_result(task: AnyTask, call: Call, job_id: str) -> AnyResult:
    """Return the result of a task that is about to be enqueued."""
    return TaskResult(
        task=task,
        id=job_id,
        status=READY,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=call.args,
        kwargs=call.kwargs,
        backend=call.backend,
        errors=[],
        worker_ids=[],
    )


def result_of(task: AnyTask, call: Call, job: Job, starts: Sequence[Start]) -> AnyResult:
    """Return the result of a task at the present state of its job."""
    result: AnyResult = TaskResult(
        task=_as_enqueued(task, call, job),
        id=job.id,
        status=STATUS.get(job.state, READY),
        enqueued_at=moment(job.created_at),
        started_at=moment(starts[0].at) if starts else None,
        finished_at=moment(job.completed_at or job.discarded_at or job.cancelled_at),
        last_attempted_at=moment(starts[-1].at) if starts else None,
        args=call.args,
        kwargs=call.kwargs,
        backend=call.backend,
        errors=list(_errors(job)),
        worker_ids=[start.worker_id for start in starts],
    )
    if result.status is TaskResultStatus.SUCCESSFUL:
        set_member(result, "_return_value", job.result)
    return result


def starts_in(history: Mapping[str, Any]) -> list[Start]:
    """Return the attempts that the history of a job shows."""
    return [
        Start(str(event.get("worker_id") or UNNAMED), event.get("time"))
        for event in history["events"]
        if event["type"] == "job.started"
    ]


def starts_of(job: Job) -> list[Start]:
    """Return the attempts up to the present one, as its worker knows them."""
    failed = [
        Start(str(error.get("worker_id") or UNNAMED), error.get("started_at"))
        for error in job.errors or ()
    ]
    # Attempts that did not count left no error.
    others = max(job.attempt - 1 - len(failed), 0)
    present = Start(job.worker_id or UNNAMED, job.started_at)
    return [*(Start(UNNAMED, job.started_at) for _ in range(others)), *failed, present]


def set_member(result: AnyResult, name: str, value: Any) -> None:
    """Change a result, which is frozen for everybody but its backend."""
    object.__setattr__(result, name, value)


def moment(text: str | None) -> datetime | None:
    """Return a time of the wire as Django has it."""
    if text is None:
        return None
    at = datetime.fromtimestamp(parse_timestamp(text) / 1000, UTC)
    return at if settings.USE_TZ else timezone.make_naive(at)


def _as_enqueued(task: AnyTask, call: Call, job: Job) -> AnyTask:
    queues = task_backends[call.backend].queues
    # An operator may have moved the job to a queue that the backend would refuse.
    queue = job.queue if not queues or job.queue in queues else task.queue_name
    return dataclasses.replace(
        task,
        priority=job.priority,
        queue_name=queue,
        run_after=moment(job.scheduled_at),
        backend=call.backend,
    )


def _errors(job: Job) -> Iterator[TaskError]:
    for given in job.errors or ():
        yield _error(msgspec.convert(given, _Error, strict=False))
    if job.state == "cancelled":
        yield _failure(JobCancelled, f"job {job.id} was cancelled")


def _error(error: _Error) -> TaskError:
    path = error.details.get("error_class") if isinstance(error.details, dict) else None
    if not isinstance(path, str) or "." not in path:
        # Reported by the server or the worker, such as a lost lease.
        return _failure(TimeoutError if error.type == "timeout" else JobFailed, error.message)
    frames = error.backtrace if isinstance(error.backtrace, list) else []
    return TaskError(
        exception_class_path=path,
        traceback=_traceback(frames, error.type, error.message),
    )


def _failure(kind: type[Exception], message: str) -> TaskError:
    return TaskError(
        exception_class_path=f"{kind.__module__}.{kind.__qualname__}",
        traceback=_traceback([], kind.__name__, message),
    )


def _traceback(frames: Sequence[Any], kind: str, message: str) -> str:
    lines = ["Traceback (most recent call last):", *(f"  {frame}" for frame in frames)]
    return "\n".join([*(lines if frames else ()), f"{kind}: {message}", ""])
