"""Manual mode: the program fetches and settles itself, the SDK beats for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Self

from ojs_worker.context import JobContext
from ojs_worker.errors import Conflict, LeaseLost, OjsError
from ojs_worker.faults import BadArguments, Fault, fault_of
from ojs_worker.handlers.outcomes import Failed, Outcome, Verdict, done
from ojs_worker.handlers.registry import Registry
from ojs_worker.running.delivery import Delivery
from ojs_worker.running.lifetime import Running
from ojs_worker.transport.backoff import Backoff


class Claimed:
    """A job that the program handles itself. It is settled once, by `ack` or by `fail`."""

    def __init__(self, running: Running, delivery: Delivery, extension: Any) -> None:
        self._running = running
        self._delivery = delivery
        self.job: Final = delivery.job
        # The handler class of this job type, instantiated with the arguments; None without one.
        self.extension: Final = extension

    @property
    def context(self) -> JobContext:
        """Progress, and whether the job is still wanted."""
        return self._delivery.context

    async def start(self) -> None:
        """Report that work begins; raises `LeaseLost` if the job is not held any more."""
        self._check()

    async def ack(self, result: Any = None) -> None:
        """Complete the job. Raises `LeaseLost` if it is not held any more."""
        await self._settle(done(result))

    async def fail(self, error: BaseException | str) -> None:
        """Fail the job, by an exception that a handler may raise, or by a text."""
        if isinstance(error, str):
            error = _Unreadable(error)
        fault = fault_of(error)
        if isinstance(error, _Unreadable):
            fault = Fault(
                code=fault.code, type="HandlerError", message=fault.message, retryable=True
            )
        await self._settle(Failed(fault))

    async def _settle(self, outcome: Outcome) -> None:
        self._check()
        verdict = await self._running.engine.settle(self._delivery, outcome)
        if verdict is not Verdict.SETTLED:
            raise LeaseLost(f"job {self.job.id} is not held any more")

    def _check(self) -> None:
        if self._delivery.settling:
            raise RuntimeError(f"job {self.job.id} was settled already")
        if self._delivery.closed:
            reason = self.context.stop_reason
            raise LeaseLost(f"job {self.job.id} is not held any more: {reason}")


class _Unreadable(Exception):
    """A failure with a message that the program has given."""


class Manual:
    """`async with worker.manual() as manual`; then `fetch_one` or `listen`."""

    def __init__(self, life: Callable[[], Running], registry: Registry) -> None:
        self._life = life
        self._registry = registry
        self._running: Running | None = None

    async def __aenter__(self) -> Self:
        self._running = await self._life().start()
        await self._running.introduced.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.stop()

    @property
    def running(self) -> Running:
        """The worker's life, while it lasts."""
        if self._running is None:
            raise RuntimeError("use `async with worker.manual()`")
        return self._running

    async def fetch_one(self) -> Claimed | None:
        """Fetch one job; None if there is none now.

        A job whose arguments do not fit its handler class is failed, and the next one is taken.
        """
        running = self.running
        while running.engine.machine.may_fetch and running.engine.free > 0:
            fetched = await running.fetcher.fetch(1)
            for broken in fetched.unreadable:
                running.engine.settle_in_background(
                    broken.job, Failed(fault_of(_Unreadable(broken.reason)))
                )
            for job in filter(None, map(running.engine.opened, fetched.jobs)):
                delivery = running.engine.hold(job, fetched.sent_at)
                if not await running.engine.certain(delivery):
                    continue
                try:
                    extension = self._extension(delivery)
                except BadArguments as error:
                    await running.engine.settle(delivery, Failed(fault_of(error)))
                    continue
                return Claimed(running, delivery, extension)
            if not fetched.jobs:
                return None
        return None

    async def listen(self) -> AsyncIterator[Claimed]:
        """Yield jobs one after the other, until the worker is told to stop."""
        backoff = Backoff("fetch jobs", self.running.environment.random)
        loop = asyncio.get_running_loop()
        while not self.running.engine.shutting_down:
            sent_at = loop.time()
            try:
                claimed = await self.fetch_one()
            except OjsError as error:
                if isinstance(error, Conflict):
                    await self.running.register_again()
                await backoff.wait(error, getattr(error, "retry_after_s", None))
                continue
            backoff.failures = 0
            if claimed is not None:
                yield claimed
            else:
                idle_s = self.running.config.poll_s - (loop.time() - sent_at)
                await asyncio.sleep(max(idle_s, 0))

    def _extension(self, delivery: Delivery) -> Any:
        handler = self._registry.get(delivery.job.type)
        if handler is None or not isinstance(handler.target, type):
            return None
        return handler.build(delivery.job.args, delivery.context)
