"""The context of a handler: its job, and what it may ask of its worker."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, MutableMapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Final, ParamSpec, Protocol, TypeVar, overload

from ojs_wire.tracing import trace_of
from ojs_worker import forms
from ojs_worker.handlers.outcomes import Outcome, Verdict
from ojs_worker.handlers.steps import UNKNOWN, Steps, typed
from ojs_worker.job import Job

log = logging.getLogger("ojs.job")
P = ParamSpec("P")
T = TypeVar("T")


class StopReason(StrEnum):
    """The reason for which a handler should stop."""

    # The server took the job back.
    LOST = "lost"
    # The job was cancelled.
    CANCELLED = "cancelled"
    # The delivery ran over its time limit.
    TIMEOUT = "timeout"
    # The worker shuts down.
    SHUTDOWN = "shutdown"


class Link(Protocol):
    """The parts of a worker that a context uses."""

    @property
    def shutting_down(self) -> bool:
        """True if the worker is shutting down."""
        ...

    def report_progress(self, job: Job, body: dict[str, Any]) -> None:
        """Report the progress of a job soon; only the newest report is sent."""
        ...

    async def save_checkpoint(self, job: Job, data: Any) -> None:
        """Save the checkpoint of a job."""
        ...

    async def beat_now(self) -> None:
        """Send a BEAT, and return when it was answered."""
        ...

    async def settle_now(self, job: Job, outcome: Outcome) -> Verdict:
        """Settle the job before its handler ends."""
        ...

    async def renew(self, job: Job, lease_ms: int) -> bool:
        """Change the lease of the job; returns True if it is still held."""
        ...


class JobLog(logging.LoggerAdapter[logging.Logger]):
    """Log lines that name their job."""

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the job to the fields of a log line."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


class JobContext:
    """The context shared by all kinds of handlers. `metadata` is for middleware and handler to
    share."""

    def __init__(self, job: Job, link: Link) -> None:
        self.job: Final = job
        self.metadata: dict[str, Any] = {}
        self.stop_reason: StopReason | None = None
        # True if the handler has reported its outcome itself; its return value is ignored then.
        self.settled = False
        self._link = link
        self._log: JobLog | None = None
        self._steps = Steps(_saved(job))

    @property
    def attempt(self) -> int:
        """The number of this delivery, from 1."""
        return self.job.attempt

    @property
    def queue(self) -> str:
        """The queue that the job came from."""
        return self.job.queue

    @property
    def parent_results(self) -> Any:
        """The results of the steps before this one, in a workflow."""
        return self.job.parent_results

    @property
    def last_checkpoint(self) -> Any:
        """The checkpoint that an earlier delivery of this job saved; None if there is none."""
        return Steps(_saved(self.job)).data

    def resume(self, type: type[T]) -> T | None:
        """Return the last checkpoint as a value of a type; None if there is none."""
        data = self.last_checkpoint
        return None if data is None else forms.convert(data, type)

    @property
    def log(self) -> JobLog:
        """A log whose lines name the job."""
        if self._log is None:
            extra: dict[str, Any] = {
                "job_id": self.job.id,
                "job_type": self.job.type,
                "queue": self.job.queue,
                "attempt": self.job.attempt,
            }
            if (trace_id := trace_of(self.job.meta)) is not None:
                extra["trace_id"] = trace_id
            self._log = JobLog(log, extra)
        return self._log

    @property
    def cancelled(self) -> bool:
        """True if the handler should stop; `stop_reason` gives the reason. Its result is not
        used."""
        return self.stop_reason is not None

    @property
    def shutting_down(self) -> bool:
        """True if the worker is shutting down; a long handler should end by itself."""
        return self._link.shutting_down

    def progress(self, share: float, message: str | None = None, data: Any = None) -> None:
        """Report the progress of the job, from 0 to 1; `data` becomes a JSON object. It is sent
        soon, and the newest report wins."""
        body: dict[str, Any] = {"progress": min(max(float(share), 0.0), 1.0)}
        if message is not None:
            body["message"] = message
        if data is not None:
            body["data"] = forms.plain(data)
        self.report_body(body)

    def report_body(self, body: dict[str, Any]) -> None:
        """Pass a progress report on."""
        self._link.report_progress(self.job, body)

    async def settle(self, outcome: Outcome) -> Verdict:
        """Settle the job now, once, in the worker's event loop; returns the server's response. The
        handler's own result or exception is not reported after that."""
        if self.settled:
            raise RuntimeError(f"job {self.job.id} was settled already")
        self.settled = True
        return await self._link.settle_now(self.job, outcome)

    async def renew(self, lease_ms: int) -> bool:
        """Change the lease of the job, in the worker's event loop; returns True if it is still
        held."""
        return await self._link.renew(self.job, lease_ms)


class Context(JobContext):
    """The context of a coroutine handler."""

    def __init__(self, job: Job, link: Link) -> None:
        super().__init__(job, link)
        self._saving = asyncio.Lock()

    async def checkpoint(self, data: Any) -> None:
        """Save how far the job is: the next delivery finds it in `last_checkpoint`."""
        self._steps.data = forms.plain(data)
        await self._save()

    @overload
    async def step(
        self, name: str, do: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...
    @overload
    async def step(self, name: str, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...
    async def step(self, name: str, do: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a function once for this job, a plain one in a thread: its result is saved on the
        server, and a later delivery gets it from there."""
        result = self._steps.begin(name)
        if result is UNKNOWN:
            if inspect.iscoroutinefunction(do):
                made = await do(*args, **kwargs)
            else:
                made = await asyncio.to_thread(do, *args, **kwargs)
                # A lambda may have returned a coroutine.
                made = await made if inspect.isawaitable(made) else made
            result = self._steps.ended(name, made)
            await self._save()
        return typed(do, result)

    async def _save(self) -> None:
        # Steps may run concurrently; the lock makes the last checkpoint contain all of them.
        async with self._saving:
            await self._link.save_checkpoint(self.job, self._steps.state())

    async def heartbeat(self) -> None:
        """Renew the leases of this worker now, and learn whether the job was cancelled or lost."""
        await self._link.beat_now()


class BlockingContext(JobContext):
    """The context of a handler that runs in a thread: its calls block."""

    def __init__(self, job: Job, link: Link, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(job, link)
        self._loop = loop

    def checkpoint(self, data: Any) -> None:
        """Save how far the job is: the next delivery finds it in `last_checkpoint`."""
        self._steps.data = forms.plain(data)
        self.wait(self._link.save_checkpoint(self.job, self._steps.state()))

    def step(self, name: str, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function once for this job: its result is saved on the server, and a later delivery
        gets it from there."""
        result = self._steps.begin(name)
        if result is UNKNOWN:
            result = self._steps.ended(name, do(*args, **kwargs))
            self.wait(self._link.save_checkpoint(self.job, self._steps.state()))
        made: T = typed(do, result)
        return made

    def heartbeat(self) -> None:
        """Renew the leases of this worker now, and learn whether the job was cancelled or lost."""
        self.wait(self._link.beat_now())

    def report_body(self, body: dict[str, Any]) -> None:
        """Pass a progress report on to the event loop."""
        self._loop.call_soon_threadsafe(self._link.report_progress, self.job, body)

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the worker's event loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


def _saved(job: Job) -> Any:
    saved = job.checkpoint
    if isinstance(saved, dict) and "state" in saved:
        return saved["state"]
    return job.last_checkpoint


AnyContext = Context | BlockingContext
current: ContextVar[JobContext] = ContextVar("ojs_job_context")
MakeContext = Callable[[Job], JobContext]


def is_context(name: str, hint: Any) -> bool:
    """Tell by its name and type hint that a parameter is the context."""
    if hint is Any:
        return name in ("ctx", "context")
    return isinstance(hint, type) and issubclass(hint, JobContext)


def current_context() -> JobContext:
    """Return the context of the job that runs here; raises `LookupError` outside a handler."""
    return current.get()
