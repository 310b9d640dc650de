"""Run one handler; this always ends with an outcome."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from ojs_worker import faults, lines
from ojs_worker.config import UnknownType
from ojs_worker.context import StopReason, current
from ojs_worker.environment import Pool
from ojs_worker.faults import Discard, Retry, Snooze, fault_of
from ojs_worker.handlers.dependencies import all_needs
from ojs_worker.handlers.outcomes import Done, Failed, Outcome, Released, done
from ojs_worker.handlers.resources import Resources, named, values_here
from ojs_worker.middleware import Inner, ProcessLayer
from ojs_worker.processes.pool import FailedThere, NotHeld, ProcessPool
from ojs_worker.running.delivery import Delivery
from ojs_worker.running.lease_check import LeaseCheck

log = logging.getLogger("ojs.worker")

NOT_BEGUN: Final = "the worker ended before it was begun"


class Executor:
    """Calls handlers in the event loop, in a thread or in a process."""

    def __init__(
        self,
        threads: Pool,
        processes: ProcessPool,
        layers: Sequence[ProcessLayer],
        lease_check: LeaseCheck,
        resources: Resources,
        *,
        grace_s: float,
        release: bool,
        unknown_type: UnknownType,
        pause_s: float,
        elapsed: Callable[[], float],
    ) -> None:
        self._threads = threads
        self._processes = processes
        self._layers = tuple(layers)
        self._lease_check = lease_check
        self._resources = resources
        self._grace_s = grace_s
        self._release = release
        self._unknown_type = unknown_type
        self._pause_s = pause_s
        self._elapsed = elapsed
        # Types for which a warning was logged.
        self._warned_types: set[str] = set()

    async def execute(self, delivery: Delivery) -> Outcome:
        """Run the handler; every exception becomes an outcome."""
        job = delivery.job
        if delivery.handler is None:
            return await self._unknown(delivery)
        lines.begun(job)
        started = self._elapsed()
        try:
            current.set(delivery.context)
            if self._layers:
                value = await self._through(delivery, 0)
            else:
                value = await self._call(delivery)
            outcome = value if isinstance(value, Done) else done(value)
            lines.ended(job, "done", self._elapsed() - started)
            return outcome
        except asyncio.CancelledError as error:
            _end_cancellation()
            return self._stopped(delivery) or Failed(fault_of(error))
        except NotHeld:
            return self._stopped(delivery) or Released(NOT_BEGUN)
        except FailedThere as error:
            stopped = self._stopped(delivery)
            if stopped is None:
                lines.failed(job, error.fault, self._elapsed() - started)
            return stopped or Failed(error.fault)
        except (Snooze, Discard, Retry) as error:
            lines.ended_by_handler(job, error, self._elapsed() - started)
            return Failed(fault_of(error))
        except BaseException as error:  # also SystemExit: it ends the handler, not the worker
            stopped = self._stopped(delivery)
            if stopped is None:
                lines.failed(job, error, self._elapsed() - started)
            return stopped or Failed(fault_of(error, delivery.handler.retrying))

    def stopped(self, delivery: Delivery) -> Outcome:
        """Return the outcome of a handler that was told to stop and has not ended yet."""
        outcome = self._stopped(delivery)
        assert outcome is not None
        return outcome

    def _stopped(self, delivery: Delivery) -> Outcome | None:
        match delivery.context.stop_reason:
            case StopReason.TIMEOUT:
                return Failed(faults.timed_out(delivery.job.limit_s or 0))
            case StopReason.SHUTDOWN if self._release:
                return Released("the worker shut down")
            case StopReason.SHUTDOWN:
                return Failed(faults.shut_down(self._grace_s))
            case _:
                return None

    async def _unknown(self, delivery: Delivery) -> Outcome:
        job = delivery.job
        fault = faults.unknown_type(job.type, retryable=self._unknown_type != "discard")
        if self._unknown_type == "requeue":
            if job.type not in self._warned_types:
                self._warned_types.add(job.type)
                log.warning("%s; its jobs go back to the server", fault.message)
            # The job may come back at once, so wait as long as an idle worker does.
            try:
                await asyncio.sleep(self._pause_s)
            except asyncio.CancelledError:
                _end_cancellation()
                return self._stopped(delivery) or Released(NOT_BEGUN)
            return Released(fault.message)
        log.error("job %s: %s", job.id, fault.message)
        return Failed(fault)

    async def _through(self, delivery: Delivery, place: int) -> Any:
        if place == len(self._layers):
            return await self._call(delivery)

        async def call_next() -> Any:
            return await self._through(delivery, place + 1)

        inner: Inner = call_next
        context: Any = delivery.context
        return await self._layers[place](delivery.job, context, inner)

    async def _call(self, delivery: Delivery) -> Any:
        handler, job = delivery.handler, delivery.job
        assert handler is not None
        if handler.runs == "process":
            # Also bound here, so that wrong arguments need no process.
            handler.binding.bind(job.args)
            context = delivery.context
            return Done(
                await self._processes.run(
                    handler,
                    job,
                    progress=lambda body: context.report_body(body),
                    still_held=lambda: self._lease_check.await_for(delivery),
                )
            )
        if handler.gathering is not None:
            needs = self._resources.replaced(handler.needs)
            (item,), _ = handler.binding.bind(job.args)
            return await handler.gathering.run(item, lambda: self._resources.values_by_name(needs))
        call = handler.prepare(job.args, delivery.context)
        if handler.needs:
            return await self._call_with(delivery, call)
        if handler.runs == "loop":
            return await call()
        return await self._threads.run(call)

    async def _call_with(self, delivery: Delivery, call: Callable[..., Any]) -> Any:
        """Call a handler with its dependencies, those of a thread made in the thread."""
        handler, context = delivery.handler, delivery.context
        assert handler is not None
        needs = self._resources.replaced(handler.needs)
        if handler.runs == "loop":
            async with self._resources.values(needs.values(), context) as made:
                return await call(**named(needs, made))
        in_loop = [need for need in all_needs(needs.values()) if need.in_loop]
        async with self._resources.values(in_loop, context) as made:

            def run() -> Any:
                with values_here(needs, context, made) as needed:
                    return call(**needed)

            return await self._threads.run(run)


def _end_cancellation() -> None:
    """End the cancellation of the current task, which still has to report the outcome."""
    while (task := asyncio.current_task()) and task.cancelling():
        task.uncancel()
