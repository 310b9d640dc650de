"""The worker SDK: enqueue jobs, write their handlers, run them, and stop gracefully.

    from ojs_worker import Context, Worker

    worker = Worker()

    @worker.job("email.send")
    async def send_email(ctx: Context, to: str) -> None: ...

Then `ojs-worker run myapp.jobs:worker`, or `worker.run()`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_worker.client import (
        BlockingClient,
        BlockingJobHandle,
        Client,
        CronEntry,
        Flow,
        JobHandle,
        JobRequest,
        Options,
        Progress,
        RateLimit,
        RetryPolicy,
        Unique,
        Workflow,
        batch,
        chain,
        group,
    )
    from ojs_worker.context import (
        BlockingContext,
        Context,
        JobContext,
        StopReason,
        current_context,
    )
    from ojs_worker.errors import (
        Conflict,
        Duplicate,
        InvalidRequest,
        JobCancelled,
        JobFailed,
        LeaseLost,
        NotFound,
        OjsError,
        RateLimited,
        Refused,
        Unreachable,
        WaitTimeout,
    )
    from ojs_worker.faults import Discard, Retry, Snooze
    from ojs_worker.forms import add_form
    from ojs_worker.handlers.dependencies import depends
    from ojs_worker.job import Job
    from ojs_worker.router import Router
    from ojs_worker.worker import Worker

__all__ = [
    "BlockingClient",
    "BlockingContext",
    "BlockingJobHandle",
    "Client",
    "Conflict",
    "Context",
    "CronEntry",
    "Discard",
    "Duplicate",
    "Flow",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobFailed",
    "JobHandle",
    "JobRequest",
    "LeaseLost",
    "NotFound",
    "OjsError",
    "Options",
    "Progress",
    "RateLimit",
    "RateLimited",
    "Refused",
    "Retry",
    "RetryPolicy",
    "Router",
    "Snooze",
    "StopReason",
    "Unique",
    "Unreachable",
    "WaitTimeout",
    "Worker",
    "Workflow",
    "add_form",
    "batch",
    "chain",
    "current_context",
    "depends",
    "group",
]

if not TYPE_CHECKING:  # checkers would allow every name of a module that has this function
    # The modules that define these names, in the order in which they import each other.
    _MODULES = (
        "errors",
        "job",
        "forms",
        "faults",
        "handlers.dependencies",
        "context",
        "client",
        "router",
        "worker",
    )

    def __getattr__(name: str) -> object:
        """Load a name when it is first used, so that a program starts with what it needs."""
        if name in __all__:
            for module in _MODULES:
                names = vars(import_module(f"{__name__}.{module}"))
                if name in names:
                    globals()[name] = names[name]
                    return names[name]
        if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*__all__, *globals()})
