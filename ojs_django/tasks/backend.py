"""The backend of tasks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, ParamSpec, TypeVar, cast

import msgspec
from asgiref.sync import sync_to_async
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from ojs_django.enqueueing import send_after_commit, send_from_loop
from ojs_django.project import get_client
from ojs_django.tasks.framework import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    normalize_json,
    task_enqueued,
)
from ojs_django.tasks.results import (
    Call,
    call_of,
    find_task,
    moment,
    new_result,
    result_of,
    set_member,
    starts_in,
)
from ojs_django.tasks.running import run_coroutine, run_task
from ojs_worker.client.options import Options, RetryPolicy, wire_options
from ojs_worker.client.requests import JobRequest
from ojs_worker.errors import InvalidRequest, NotFound
from ojs_worker.job import Job

P = ParamSpec("P")
R = TypeVar("R")
# As with other backends, a task is tried once unless its backend's options say otherwise.
ONCE: Final = RetryPolicy(max_attempts=1)
# `OPTIONS` of a backend: options of the enqueues of all its tasks, by the SDK's names.
OPTIONS: Final = ("retry", "timeout", "visibility_timeout", "expires_in")


class OJSBackend(BaseTaskBackend):
    """Enqueues tasks as jobs of a server; `manage.py ojs_worker` runs them.

    With `"ENQUEUE_ON_COMMIT": True` they are enqueued as by `enqueue_after_commit`.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.enqueues_on_commit = bool(params.get("ENQUEUE_ON_COMMIT", False))

    def enqueue(
        self, task: "Task[P, R]", args: list[Any], kwargs: dict[str, Any]
    ) -> "TaskResult[P, R]":
        """Enqueue a task, and return its result, which is not there yet."""
        request, result = self._made(task, args, kwargs)
        if self.enqueues_on_commit:
            send_after_commit(request, then=partial(self._sent, result))
        else:
            self._sent(result, get_client().send(request).job)
        return result

    async def aenqueue(
        self, task: "Task[P, R]", args: list[Any], kwargs: dict[str, Any]
    ) -> "TaskResult[P, R]":
        """Enqueue a task from a coroutine."""
        if self.enqueues_on_commit:
            return await super().aenqueue(task, args, kwargs)
        request, result = self._made(task, args, kwargs)
        handle = await send_from_loop(request)
        await sync_to_async(self._sent)(result, handle.job)
        return result

    def get_result(self, result_id: str) -> AnyResult:
        """Read the result of a task; raises `TaskResultDoesNotExist`."""
        try:
            job = get_client().get(result_id)
            starts = starts_in(get_client().jobs.history(result_id)) if job.attempt else []
        except (NotFound, InvalidRequest):
            raise TaskResultDoesNotExist(result_id) from None
        if (call := call_of(job)) is None:
            raise TaskResultDoesNotExist(result_id)
        return result_of(find_task(call.task), call, job, starts)

    async def aget_result(self, result_id: str) -> AnyResult:
        """Read the result of a task from a coroutine."""
        return await sync_to_async(self.get_result, thread_sensitive=False)(result_id)

    def check(self, **_: Any) -> list[checks.CheckMessage]:
        """Check the options of the backend."""
        try:
            self._options()
        except ImproperlyConfigured as error:
            return [checks.Error(str(error), id="ojs.E004")]
        return []

    def _options(self) -> Options:
        """Return the options of enqueues; raises `ImproperlyConfigured`."""
        try:
            for name in self.options:
                if name not in OPTIONS:
                    raise ValueError(f"{name!r} is none of {', '.join(OPTIONS)}")
            retry = self.options.get("retry", ONCE)
            policy = RetryPolicy(**retry) if isinstance(retry, Mapping) else retry
            if isinstance(policy, RetryPolicy) and policy.non_retryable_errors is not None:
                # The server decides about them, too late for the signal `task_finished`.
                raise ValueError("non_retryable_errors: let the task raise ojs_worker.Discard")
            options = cast(Options, {**self.options, "retry": policy})
            wire_options(options, datetime.now(UTC))
        except (TypeError, ValueError) as error:
            raise ImproperlyConfigured(f"TASKS[{self.alias!r}]['OPTIONS']: {error}") from None
        return options

    def _options_of(self, task: AnyTask) -> Options:
        options: Options = {
            **self._options(),
            "queue": task.queue_name,
            "priority": task.priority,
            "tags": [task.module_path],
        }
        if (at := task.run_after) is not None:
            options["at"] = timezone.make_aware(at) if timezone.is_naive(at) else at
        return options

    def _made(
        self, task: "Task[P, R]", args: list[Any], kwargs: dict[str, Any]
    ) -> "tuple[JobRequest, TaskResult[P, R]]":
        """Return the request of a task's job, and the result of the task."""
        self.validate_task(task)
        handler = run_coroutine if iscoroutinefunction(task.func) else run_task
        call = Call(
            task.module_path,
            list(cast(Any, normalize_json(args))),
            dict(cast(Any, normalize_json(kwargs))),
            self.alias,
        )
        request = handler.options(**self._options_of(task)).request(*msgspec.structs.astuple(call))
        return request, cast("TaskResult[P, R]", new_result(task, call, request.id))

    def _sent(self, result: AnyResult, job: Job | None = None) -> None:
        at = timezone.now() if job is None else moment(job.created_at)
        set_member(result, "enqueued_at", at)
        task_enqueued.send_robust(type(self), task_result=result)
