"""Handlers of the jobs that are tasks: one for functions, which run in threads, and one for
coroutines."""

from traceback import format_exception
from typing import Any, Final

from django.utils import timezone

from ojs_django.tasks.framework import (
    TaskContext,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from ojs_django.tasks.results import (
    COROUTINE,
    FUNCTION,
    Call,
    find_task,
    result_of,
    set_member,
    starts_of,
)
from ojs_worker.context import BlockingContext, Context, JobContext
from ojs_worker.faults import Discard, Snooze
from ojs_worker.router import Router

# `SystemExit` ends a task, and not its worker.
FAILURES: Final = (Exception, SystemExit)

router = Router()


@router.job(FUNCTION)
def run_task(
    ctx: BlockingContext, task: str, args: list[Any], kwargs: dict[str, Any], backend: str
) -> Any:
    """Run a task that is a function."""
    run = _Run(ctx, Call(task, args, kwargs, backend))
    task_started.send_robust(run.sender, task_result=run.result)
    try:
        value = normalize_json(run.task.call(*run.arguments, **run.result.kwargs))
    except FAILURES as error:
        if run.fails(error):
            task_finished.send_robust(run.sender, task_result=run.result)
        raise
    if run.succeeds(value):
        task_finished.send_robust(run.sender, task_result=run.result)
    return value


@router.job(COROUTINE)
async def run_coroutine(
    ctx: Context, task: str, args: list[Any], kwargs: dict[str, Any], backend: str
) -> Any:
    """Run a task that is a coroutine."""
    run = _Run(ctx, Call(task, args, kwargs, backend))
    await task_started.asend_robust(run.sender, task_result=run.result)
    try:
        value = normalize_json(await run.task.acall(*run.arguments, **run.result.kwargs))
    except FAILURES as error:
        if run.fails(error):
            await task_finished.asend_robust(run.sender, task_result=run.result)
        raise
    if run.succeeds(value):
        await task_finished.asend_robust(run.sender, task_result=run.result)
    return value


class _Run:
    """One attempt at a task, and its result as far as the worker knows it."""

    def __init__(self, context: JobContext, call: Call) -> None:
        self.sender = type(task_backends[call.backend])
        found = find_task(call.task)
        self.result = result_of(found, call, context.job, starts_of(context.job))
        self.task = self.result.task
        self._context = context

    @property
    def arguments(self) -> list[Any]:
        """The positional arguments, behind the context if the task takes it."""
        context = [TaskContext(task_result=self.result)] if self.task.takes_context else []
        return [*context, *self.result.args]

    def succeeds(self, value: Any) -> bool:
        """Note the value; return True if the task is over by that."""
        set_member(self.result, "_return_value", value)
        return self._ends(TaskResultStatus.SUCCESSFUL)

    def fails(self, error: BaseException) -> bool:
        """Note the error; return True if the task is over by that."""
        kind = type(error)
        self.result.errors.append(
            TaskError(
                exception_class_path=f"{kind.__module__}.{kind.__qualname__}",
                traceback="".join(format_exception(error)),
            )
        )
        job = self._context.job
        spent = job.attempt - job.releases
        is_last = job.max_attempts is not None and spent >= job.max_attempts
        ends = isinstance(error, Discard) or (is_last and not isinstance(error, Snooze))
        return ends and self._ends(TaskResultStatus.FAILED)

    def _ends(self, status: TaskResultStatus) -> bool:
        if self._context.cancelled:
            # The server does not use this attempt's outcome.
            return False
        set_member(self.result, "status", status)
        set_member(self.result, "finished_at", timezone.now())
        return True
