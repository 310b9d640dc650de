"""Running the jobs of a sandbox, by the workers that it has."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Final, ParamSpec, overload

from ojs_worker.client.requests import JobRequest
from ojs_worker.errors import JobFailed
from ojs_worker.faults import Snooze
from ojs_worker.handlers.registry import Handler
from ojs_worker.job import Job
from ojs_worker.testing.clock import Clock
from ojs_worker.testing.here import run_here
from ojs_worker.testing.inline import storing_only
from ojs_worker.testing.life import Life, Ran
from ojs_worker.testing.listing import all_jobs
from ojs_worker.testing.matching import Criteria, describe, matching
from ojs_worker.testing.planted import Plants
from ojs_worker.testing.server import PrivateServer
from ojs_worker.testing.shift import Shift
from ojs_worker.worker import Worker

P = ParamSpec("P")
LIMIT_S: Final = 30.0


class Performing:
    """Runs the jobs of a test, when the test asks for it."""

    def __init__(self, clock: Clock) -> None:
        self.clock: Final = clock
        self._server = PrivateServer(clock)
        self._plants = Plants()
        self._workers: list[Worker] = []
        # The workers that are running.
        self._present: set[Life] = set()
        # Exceptions of jobs, by id, which their enqueue may still have to raise.
        self._failures: dict[str, BaseException] = {}
        self._inline = False

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Within this block an enqueue runs its job before it returns, also a delayed one, and
        raises the handler's exception. There are no retries."""
        before, self._inline = self._inline, True
        try:
            yield
        finally:
            self._inline = before

    async def drain(
        self,
        *queues: str,
        max_jobs: int | None = None,
        timeout_s: float = LIMIT_S,
        with_scheduled: bool = False,
    ) -> list[Ran]:
        """Run all jobs that may run, also those they enqueue, one after the other.

        With `with_scheduled` the clock goes on to the next retry or delayed job, until none is
        left.
        """
        if not self._workers:
            raise LookupError("there is no worker to run jobs: Sandbox(worker), or attach(worker)")
        ran: list[Ran] = []
        async with Shift(self._server, self._workers, self._plants, self._present) as shift:
            job: Job | None = None
            try:
                async with asyncio.timeout(timeout_s):
                    while max_jobs is None or len(ran) < max_jobs:
                        if (due := await shift.next(queues)) is not None:
                            life, job = due
                            ran.append(await self._perform(life, job))
                        elif not (with_scheduled and self._go_on()):
                            break
            except TimeoutError:
                last = describe(job) if job else "none has come"
                raise TimeoutError(
                    f"not done after {timeout_s:g} s; {len(ran)} jobs ran, the last one: {last}"
                ) from None
        return ran

    def drain_blocking(
        self,
        *queues: str,
        max_jobs: int | None = None,
        timeout_s: float = LIMIT_S,
        with_scheduled: bool = False,
    ) -> list[Ran]:
        """Run all jobs that may run, like `drain`, without an event loop."""
        return run_here(
            lambda: self.drain(
                *queues, max_jobs=max_jobs, timeout_s=timeout_s, with_scheduled=with_scheduled
            )
        )

    @overload
    async def run(self, what: JobRequest, /) -> Ran: ...
    @overload
    async def run(
        self, what: Handler[P, Any, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Ran: ...
    async def run(self, what: Any, /, *args: Any, **kwargs: Any) -> Ran:
        """Enqueue one job and run one delivery of it, as a worker would; no other job runs. Takes
        a handler and its arguments, or a request."""
        request = what if isinstance(what, JobRequest) else what.request(*args, **kwargs)
        worker = self._worker_of(request.type)
        if before := await self._waiting_like(request):
            raise LookupError(
                f"{len(before)} other {request.type} wait before it; drain first, or clear"
            )
        with storing_only():
            job = (await worker.client.send(request)).job
        if job.state != "available":
            raise LookupError(f"job {job.id} is {job.state}, so it does not run now")
        async with Shift(self._server, self._workers, self._plants, self._present) as shift:
            return await self._perform(*await shift.pick(worker, job))

    @overload
    def run_blocking(self, what: JobRequest, /) -> Ran: ...
    @overload
    def run_blocking(
        self, what: Handler[P, Any, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Ran: ...
    def run_blocking(self, what: Any, /, *args: Any, **kwargs: Any) -> Ran:
        """Enqueue one job and run one delivery of it, like `run`, without an event loop."""
        return run_here(lambda: self.run(what, *args, **kwargs))

    async def _run_now(self, job_ids: list[str]) -> None:
        """Run the jobs that were just enqueued and raise the error of their handlers. Without ids,
        as after a workflow, all jobs that ran count."""
        ran = await self.drain()
        for job_id in job_ids or [each.job.id for each in ran]:
            if (failure := self._failures.pop(job_id, None)) is not None:
                raise failure

    async def _perform(self, life: Life, job: Job) -> Ran:
        ran = await life.perform(job)
        self._failures.pop(job.id, None)
        if isinstance(ran.exception, Snooze) or ran.stop_reason is not None:
            return ran
        if ran.exception is not None:
            self._failures[job.id] = ran.exception
        elif ran.state in ("retryable", "discarded"):
            # It failed outside a handler: there is none, or its result was refused.
            self._failures[job.id] = JobFailed(job.id, ran.error)
        return ran

    async def _waiting_like(self, request: JobRequest) -> list[Job]:
        queue = request.options.get("queue", "default")
        like = Criteria(type=request.type, queue=queue, states=("available",))
        return matching(await all_jobs(self._server.transport), like)

    def _go_on(self) -> bool:
        """Move the clock to the next job that is delayed."""
        at = self._server.next_start()
        if at is None or at <= self.clock.ms:
            return False
        self.clock.turn(at)
        return True

    def _worker_of(self, type: str) -> Worker:
        for worker in self._workers:
            if type in worker.registry:
                return worker
        types = [known for worker in self._workers for known in worker.registry]
        close = get_close_matches(type, types, n=1)
        hint = f"did you mean {close[0]}?" if close else "attach its worker"
        raise LookupError(f"no worker of this sandbox has a handler for {type}; {hint}")
