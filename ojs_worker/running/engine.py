"""The engine of one worker: it carries out the actions of the state machine and holds the jobs.

    signals, beats ── messages ──▶ machine: state, time ── actions ──▶ engine
                                                                         │
    fetching ◀── fetch_loop ─────────── jobs ──────────────▶ deliveries, one task each
                                                                         │
                            executing: event loop, threads, processes ◀──┤
                            settling, bulk_settling: ACK, FAIL ◀── outcomes

A job counts as held from its FETCH until the server has answered its ACK or FAIL. A handler that
cannot be stopped keeps its place after its worker has lost the job.
"""

import asyncio
import logging
import math
from collections.abc import Coroutine, Sequence
from types import MappingProxyType
from typing import Any, Final

from ojs_worker.codec import CannotOpen, Codec
from ojs_worker.config import Config
from ojs_worker.context import BlockingContext, Context, JobContext, StopReason
from ojs_worker.environment import Environment
from ojs_worker.faults import unopened, unreadable
from ojs_worker.handlers.outcomes import Failed, Outcome, Released, Verdict
from ojs_worker.handlers.registry import Registry
from ojs_worker.handlers.resources import Overrides, Resources
from ojs_worker.job import Job
from ojs_worker.lines import counted
from ojs_worker.processes.pool import ProcessPool
from ojs_worker.running.background import BackgroundTasks, within
from ojs_worker.running.beats import Answer, Beats, Report
from ojs_worker.running.delivery import Delivery, Ledger
from ojs_worker.running.executing import NOT_BEGUN, Executor
from ojs_worker.running.fetch_loop import FetchLoop
from ojs_worker.running.fetching import Fetched
from ojs_worker.running.lease_check import Bounds, LeaseCheck
from ojs_worker.running.machine import Action, Actions, Command, Machine, directive_of
from ojs_worker.running.metrics import UNKNOWN, Counts, outcome_of
from ojs_worker.running.recycling import RecyclingLimits
from ojs_worker.running.reports import Reports
from ojs_worker.running.settling import Settler
from ojs_worker.running.time_limits import UNWIND_S, TimeLimits
from ojs_worker.running.watch import LoopWatch
from ojs_worker.settings import variables_of

log = logging.getLogger("ojs.worker")

# Time for a last answer to a FETCH, once no more jobs are wanted.
LAST_ANSWER_S: Final = 0.2
GOODBYE_S: Final = 2.0
FORCED_S: Final = 0.5
EACH_S: Final = 5.0
RECYCLING_EACH_S: Final = 60.0


class Engine:
    """Runs jobs, from the first BEAT until the worker deregisters."""

    def __init__(
        self,
        config: Config,
        registry: Registry,
        environment: Environment,
        *,
        settler: Settler,
        reports: Reports,
        bounds: Bounds,
        layers: Sequence[Any] = (),
        codec: Codec | None = None,
        limits: RecyclingLimits | None = None,
        overrides: Overrides = MappingProxyType({}),
    ) -> None:
        self.config = config
        self.machine = Machine(grace_s=config.grace_s)
        self.ended = asyncio.Event()
        # Set when another process is to replace this one.
        self.recycling = asyncio.Event()
        self._counts = Counts()
        self._registry = registry
        self._environment = environment
        self._settler = settler
        self._reports = reports
        self._codec = codec
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._ledger = Ledger(config.concurrency)
        self._time_limits = TimeLimits(self._loop, self._give_up_late)
        self._threads = environment.pool("ojs-handler")
        self.resources = Resources(self._threads, overrides)
        self._processes = ProcessPool(config.processes, variables_of(config))
        self._lease_check = LeaseCheck(bounds, lambda: self._beats.soon(), environment.elapsed)
        self._executor = Executor(
            self._threads,
            self._processes,
            layers,
            self._lease_check,
            self.resources,
            grace_s=config.grace_s,
            release=config.shutdown_release == "requeue",
            unknown_type=config.unknown_type,
            pause_s=config.poll_s,
            elapsed=environment.elapsed,
        )
        self._watch = LoopWatch(self._name_of) if environment.watched else None
        self._background = BackgroundTasks()
        # Settlements of jobs without a running handler.
        self._settling: set[asyncio.Task[Any]] = set()
        self._fetch_loop: FetchLoop | None = None
        self._beats: Beats
        self._beating: asyncio.Task[Any]
        self._leaving = False
        self._draining: asyncio.Task[Any] | None = None

    @property
    def shutting_down(self) -> bool:
        """True if the worker is shutting down."""
        return self.machine.shutting_down

    @property
    def held(self) -> int:
        """The number of jobs that this worker holds."""
        return len(self._ledger)

    @property
    def counts(self) -> Counts:
        """The counts since the start, and of the jobs that are held now."""
        self._counts.running = self.held
        self._counts.connected = int(self.connected)
        return self._counts

    def fetch_failed(self) -> None:
        """Count a FETCH that was not answered."""
        self._counts.fetch_errors += 1

    @property
    def free(self) -> int:
        """The number of jobs that may be fetched."""
        return self.free_without(())

    def free_without(self, jobs: Sequence[Job]) -> int:
        """Return the number of jobs that may be fetched once these were settled."""
        free = self._ledger.free_without(jobs)
        return free if self._limits is None else min(free, self._limits.left)

    @property
    def connected(self) -> bool:
        """True if the last BEAT was answered."""
        return self._beats.connected

    def start(self, beats: Beats, fetch_loop: FetchLoop | None) -> None:
        """Start: register, send BEATs, and fetch if there is a fetch loop."""
        self._beats, self._fetch_loop = beats, fetch_loop
        if self._watch is not None:
            self._watch.start()
        self._beating = self._background.begin(beats.run())
        if fetch_loop is not None:
            fetch_loop.start()

    async def close(self) -> None:
        """Close everything, after the worker has left or was given up."""
        if self._watch is not None:
            self._watch.stop()
        if self._fetch_loop is not None:
            self._fetch_loop.stop()
        await self._background.close()
        await self.resources.close()
        self._threads.close()
        await self._processes.close()

    def handle(self, command: Command) -> None:
        """Handle a signal, or a call of the program."""
        self._do(self.machine.handle(command, self._loop.time()))

    def force(self) -> None:
        """End now, without waiting for jobs."""
        self._do(self.machine.force(self._loop.time()))

    def report(self) -> Report:
        """Return the content of the next BEAT."""
        return Report(self.machine.state, self._ledger.attempts(), self._environment.elapsed())

    def beat_answered(self, answer: Answer, report: Report) -> None:
        """Handle the answer to a BEAT."""
        for ids, reason in (
            (answer.cancelled_jobs, StopReason.CANCELLED),
            (answer.jobs_lost, StopReason.LOST),
        ):
            for job_id in ids or ():
                delivery = self._ledger.get(job_id)
                # The answer is about the reported deliveries, not about jobs fetched since.
                if delivery is not None and delivery.job.attempt == report.held.get(job_id):
                    self._withdraw(delivery, reason)
        kept = frozenset(answer.jobs_extended or ())
        for delivery in self._ledger:
            if report.held.get(delivery.job.id) == delivery.job.attempt:
                confirmed = answer.jobs_lost is not None or delivery.job.id in kept
                if not self._lease_check.beat_answered(delivery, report.at, confirmed=confirmed):
                    self._withdraw(delivery, StopReason.LOST)
        directive = directive_of(answer.state, answer.directive)
        self._do(self.machine.directed(directive, report.state, self._loop.time()))

    def accept(self, fetched: Fetched) -> None:
        """Start the jobs that were fetched."""
        for broken in fetched.unreadable:
            log.error("job %s cannot be read: %s", broken.job.id, broken.reason)
            self.settle_in_background(broken.job, Failed(unreadable(broken.reason)))
        for job in fetched.jobs:
            if not self.machine.may_fetch:
                self.settle_in_background(job, Released("the worker takes no more jobs"))
            elif self._is_new(job):
                if self._ledger.free > 0:
                    if (opened := self.opened(job)) is not None:
                        self._begin(opened, fetched.sent_at)
                else:
                    self.settle_in_background(job, Released("the worker has no place for it"))

    def opened(self, job: Job) -> Job | None:
        """Decode a job for its handler; None if that fails, and the job with it."""
        if self._codec is None:
            return job
        try:
            return self._codec.open(job)
        except CannotOpen as error:
            log.error("job %s cannot be opened: %s", job.id, error)
            self.settle_in_background(job, Failed(unopened(error)))
            return None

    def hold(self, job: Job, sent_at: float) -> Delivery:
        """Hold a job whose work is done outside the engine; its FETCH was sent at `sent_at`."""
        delivery = Delivery(job, self._registry.get(job.type), self._context(job), sent_at)
        self._ledger.add(delivery)
        return delivery

    async def certain(self, delivery: Delivery) -> bool:
        """Wait until a job is certainly held; False if it is lost."""
        if await self._lease_check.await_for(delivery):
            return True
        if delivery.closed:
            self._end(delivery)
        else:
            await self.settle(delivery, Released(NOT_BEGUN))
        return False

    async def settle(self, delivery: Delivery, outcome: Outcome) -> Any:
        """Report the end of such a job; return the server's verdict."""
        delivery.settling = True
        try:
            return await self._settler.settle(delivery.job, outcome)
        finally:
            self._end(delivery)

    async def perform(self, job: Job) -> None:
        """Run one job from start to end, as if it had just been fetched."""
        self._begin(job, self._environment.elapsed())
        delivery = self._ledger.get(job.id)
        if delivery is not None and delivery.task is not None:
            await asyncio.wait([delivery.task])

    def settle_in_background(self, job: Job, outcome: Outcome) -> None:
        """Settle a job without a handler."""
        task = self._background.begin(self._settler.settle(job, outcome))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    def report_progress(self, job: Job, body: dict[str, Any]) -> None:
        """Report the progress of a handler."""
        self._reports.progress(job, body)

    async def save_checkpoint(self, job: Job, data: Any) -> None:
        """Save the checkpoint of a handler."""
        await self._reports.checkpoint(job, data)

    async def beat_now(self) -> None:
        """Send a BEAT, and return when it was answered."""
        await self._beats.now()

    async def settle_now(self, job: Job, outcome: Outcome) -> Verdict:
        """Settle a job before its handler ends."""
        await self._reports.flush(job.id)
        return await self._settler.settle(job, outcome)

    async def renew(self, job: Job, lease_ms: int) -> bool:
        """Change the lease of a job, for its handler."""
        return await self._beats.renew(job.id, lease_ms)

    def _is_new(self, job: Job) -> bool:
        known = self._ledger.get(job.id)
        if known is None:
            return True
        if known.job.attempt == job.attempt:
            return False
        # The lease expired unnoticed, and this worker has got the job again.
        self._withdraw(known, StopReason.LOST)
        return True

    def _begin(self, job: Job, sent_at: float) -> None:
        delivery = self.hold(job, sent_at)
        delivery.task = self._loop.create_task(self._work(delivery))
        if self._limits is not None and self._limits.begun():
            self._recycle(f"it has begun {counted(self._limits.max_jobs or 0, 'job')}")

    def _context(self, job: Job) -> JobContext:
        handler = self._registry.get(job.type)
        if handler is None or handler.runs == "thread":
            return BlockingContext(job, self, self._loop)
        # Reports of a handler in a process arrive in the event loop, as those of a coroutine do.
        return Context(job, self)

    async def _work(self, delivery: Delivery) -> None:
        outcome: Outcome = Released(NOT_BEGUN)
        if await self._lease_check.await_for(delivery):
            self._time_limits.begin(delivery)
            outcome = await self._counted(delivery)
        delivery.stop_timer()
        try:
            if not delivery.closed and not delivery.settling:
                delivery.settling = True
                await self._reports.flush(delivery.job.id)
                await self._settler.settle(delivery.job, outcome)
        except asyncio.CancelledError:
            # Given up at the end of shutdown, because the server was unreachable.
            self.machine.abandoned = True
        except Exception:
            log.exception("job %s could not be settled; its lease ends by itself", delivery.job.id)
        finally:
            if delivery.context.stop_reason is StopReason.SHUTDOWN:
                self.machine.abandoned = True
            self._end(delivery)

    async def _counted(self, delivery: Delivery) -> Outcome:
        started = self._environment.elapsed()
        outcome = await self._executor.execute(delivery)
        type = delivery.job.type if delivery.handler is not None else UNKNOWN
        word = outcome_of(outcome, delivery.context.stop_reason)
        self._counts.ended(type, word, self._environment.elapsed() - started)
        return outcome

    def _end(self, delivery: Delivery) -> None:
        self._ledger.ended(delivery)
        if self._limits is not None and (size := self._limits.excess(self._processes.pids)):
            self._recycle(f"it has {size / 1024**2:,.0f} MB of memory")
        if self.machine.shutting_down:
            self._do(self.machine.at(self._loop.time(), self.held))
        elif self._fetch_loop is not None:
            self._fetch_loop.room()

    def _recycle(self, reason: str) -> None:
        if not self.machine.shutting_down:
            log.info("worker process %d is recycled: %s", self._environment.process, reason)
            self.recycling.set()
            self.handle(Command.RECYCLE)

    def _give_up_late(self, delivery: Delivery) -> None:
        self._ledger.drop(delivery)
        self.settle_in_background(delivery.job, self._executor.stopped(delivery))

    def _withdraw(self, delivery: Delivery, reason: StopReason) -> None:
        """Stop the handler of a job that is lost, without reporting an outcome."""
        runs_on = reason is StopReason.LOST and not self.config.stop_lost
        if delivery.settling or (runs_on and delivery.confirmation is None):
            return
        level = logging.INFO if reason is StopReason.CANCELLED else logging.WARNING
        log.log(level, "job %s was %s, its handler is stopped", delivery.job.id, reason)
        delivery.context.stop_reason = reason
        self._ledger.drop(delivery)
        delivery.cancel()
        if self.machine.shutting_down:
            self._do(self.machine.at(self._loop.time(), self.held))

    def _do(self, actions: Actions) -> None:
        for action in actions:
            match action:
                case Action.BEAT:
                    held = counted(self.held, "job")
                    log.info("the worker is %s, it holds %s", self.machine.state, held)
                    self._beats.soon()
                    if self.machine.shutting_down:
                        if self._draining is not None:
                            self._draining.cancel()
                        self._draining = self._background.begin(self._drain())
                case Action.FETCH:
                    self._background.begin(self._fetch_again())
                case Action.END_FETCH:
                    if self._fetch_loop is not None:
                        self._fetch_loop.pause()
                    self._background.begin(self._end_fetch())
                case Action.CANCEL_ALL:
                    self._leave_after(self._give_up())
                case Action.LEAVE:
                    self._leave_after(None)

    async def _fetch_again(self) -> None:
        """Fetch again once the server knows that jobs are wanted, which would otherwise hold the
        FETCH and give it none."""
        await within(GOODBYE_S, self._beats.now())
        if self._fetch_loop is not None and self.machine.may_fetch:
            self._fetch_loop.start()

    async def _end_fetch(self) -> None:
        """Close the waiting FETCH, once the server knows that no job is wanted and its last answer
        had time to arrive."""
        if self._beats.introduced.is_set() and not self.machine.forced:
            await within(GOODBYE_S, self._beats.now())
        if self._fetch_loop is not None and not self.machine.may_fetch:
            if not self.machine.forced:
                await self._fetch_loop.quiesce(LAST_ANSWER_S)
            # Jobs may be wanted again by now.
            if not self.machine.may_fetch:
                self._fetch_loop.stop()
                await within(GOODBYE_S, self._fetch_loop.stopped.wait())
        self._do(self.machine.fetch_ended(self._loop.time(), self.held))

    async def _drain(self) -> None:
        """Log the state of the shutdown, and cancel the handlers when the grace period is over."""
        while self.machine.shutting_down and not self._leaving:
            assert self.machine.deadline is not None
            left_s = self.machine.deadline - self._loop.time()
            if left_s <= 0:
                self._do(self.machine.at(self._loop.time(), self.held))
                return
            if left_s == math.inf:
                log.info("waiting for %s", counted(self.held, "job"))
                await asyncio.sleep(RECYCLING_EACH_S)
            else:
                log.info("waiting for %s, %.0f s at most", counted(self.held, "job"), left_s)
                await asyncio.sleep(min(left_s, EACH_S))

    async def _give_up(self) -> None:
        """Stop the handlers that still run, and give their jobs back."""
        self.machine.abandoned = True
        log.warning("giving up %s", counted(self.held, "job"))
        self._settler.hurry()
        deliveries = list(self._ledger)
        for delivery in deliveries:
            if not delivery.settling:
                delivery.context.stop_reason = StopReason.SHUTDOWN
                delivery.cancel()
        limit_s = FORCED_S if self.machine.forced else UNWIND_S
        tasks = [delivery.task for delivery in deliveries if delivery.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=limit_s)
        remaining = list(self._ledger)
        for delivery in remaining:
            if delivery.settling and delivery.task is not None:
                delivery.task.cancel()
            self._ledger.drop(delivery)
        settlements = [
            self._settler.settle(delivery.job, self._executor.stopped(delivery))
            for delivery in remaining
            if not delivery.settling
        ]
        if settlements:
            await within(FORCED_S if self.machine.forced else GOODBYE_S, *settlements)

    def _leave_after(self, first: Coroutine[Any, Any, None] | None) -> None:
        if not self._leaving:
            self._leaving = True
            self._background.begin(self._leave(first))
        elif first is not None:
            first.close()

    async def _leave(self, first: Coroutine[Any, Any, None] | None) -> None:
        limit_s = FORCED_S if self.machine.forced else GOODBYE_S
        if first is not None:
            await first
        await within(limit_s, *self._settling)
        await within(limit_s, self._beats.stop())
        self._beating.cancel()
        await within(limit_s, self._beats.deregister())
        self.machine.deregistered()
        self.ended.set()

    def _name_of(self, task: asyncio.Task[object] | None) -> str:
        for delivery in self._ledger:
            if delivery.task is task and task is not None:
                return f"the handler of {delivery.job.type} (job {delivery.job.id})"
        return "something other than a handler"
