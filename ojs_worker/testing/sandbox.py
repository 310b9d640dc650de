"""A sandbox: a private server, its clock, and the workers and clients under test.

    test ──▶ Sandbox ── enqueue ──▶ InlineTransport ──▶ AsgiTransport ──▶ the server, in a thread
     │         │                         │ inline mode                        │
     │         └── drain, run ──▶ Shift ──▶ Life ── FETCH, ACK, BEAT ─────────┤
     └── clock.advance ──▶ PrivateServer: due work, as housekeeping does it ──┘

The server's event loop runs in a thread, so tests with and without an event loop use it alike.
Handlers and clients of the program are redirected to the sandbox while it is open.
"""

import asyncio
from contextlib import ExitStack, suppress
from typing import Final, Self

from ojs_worker.client.asynchronous import Client
from ojs_worker.client.blocking import BlockingClient
from ojs_worker.client.handle import JobName, id_of
from ojs_worker.codec import CannotOpen
from ojs_worker.durations import Moment
from ojs_worker.handlers.schedule import put
from ojs_worker.job import Job
from ojs_worker.testing.clock import Clock
from ojs_worker.testing.expectations import Expectations, JobType, type_of
from ojs_worker.testing.here import Blocking, turning
from ojs_worker.testing.inline import InlineTransport
from ojs_worker.testing.listing import all_jobs
from ojs_worker.testing.performing import Performing
from ojs_worker.testing.planted import Planted
from ojs_worker.worker import Worker

Target = Worker | Client | BlockingClient
# Limit of the wait of a handler's thread for its worker to notice a cancel.
BEAT_S: Final = 10.0


class Sandbox(Performing, Expectations):
    """`with Sandbox(worker) as ojs`: what the worker and the clients given enqueue is stored on a
    server of its own, until the block ends; in tests with an event loop and without.

    Nothing runs by itself: `drain` runs what may run, `run` one job, and `inline` makes every
    enqueue run its job at once. Time stands still: `clock.advance` turns it.
    """

    def __init__(self, *targets: Target, inline: bool = False, at: Moment | None = None) -> None:
        super().__init__(Clock(at))
        self._targets = targets
        self._inline = inline
        self._stack = ExitStack()
        self.transport: InlineTransport
        self.client: Client
        self.blocking_client: BlockingClient

    def __enter__(self) -> Self:
        with self._stack as stack:
            self._server.start()
            stack.callback(self._server.close)
            self.clock.turn = self._turn
            stack.callback(setattr, self.clock, "turn", self.clock.set)
            self.transport = InlineTransport(
                self._server.transport, lambda: self._inline, self._run_now
            )
            self.client = Client(transport=self.transport)
            self.blocking_client = BlockingClient(transport=Blocking(self.transport))
            self.attach(self.client, self.blocking_client, *self._targets)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def attach(self, *targets: Target) -> None:
        """Connect workers, with their clients, and other clients to this server, until the end.

        The cron entries of workers are registered, as when they start.
        """
        for target in targets:
            match target:
                case Worker():
                    both = self.transport, Blocking(self.transport)
                    self._stack.enter_context(target.diverted(*both, self.clock))
                    self._workers.append(target)
                    self._register_crons(target)
                case Client():
                    self._stack.enter_context(target.diverted(self.transport, self.clock))
                case _:
                    blocking = Blocking(self.transport)
                    self._stack.enter_context(target.diverted(blocking, self.clock))

    def all_jobs(self) -> list[Job]:
        """List all jobs that were enqueued, in any state, oldest first."""
        return [self._opened(job) for job in self._server.call(all_jobs(self._server.transport))]

    def job(self, job: JobName) -> Job:
        """A job as it is now."""
        return self._opened(self.blocking_client.get(id_of(job)))

    def fail_next(self, type: JobType, error: Planted, *, times: int = 1) -> None:
        """Let the next deliveries of such jobs fail with this error, without a call of the handler;
        a text is the message of a RuntimeError."""
        self._plants.next(type_of(type), error, times)

    def fail_all(self, type: JobType, error: Planted) -> None:
        """Let all deliveries of such jobs fail, until `clear`."""
        self._plants.all(type_of(type), error)

    def cancel(self, job: JobName) -> Job:
        """Cancel a job. If it runs, its handler is stopped: a coroutine at one of its next awaits;
        a function sees `cancelled`."""
        job_id = id_of(job)
        cancelled = self.blocking_client.cancel(job_id)
        self._send_beats(job_id)
        return cancelled

    def clear(self) -> None:
        """Delete all jobs, queues, workflows and cron entries but those of the workers' code, and
        remove planted errors."""
        self._server.clear()
        for worker in self._workers:
            self._register_crons(worker)
        self._plants.clear()
        self._failures.clear()

    def _register_crons(self, worker: Worker) -> None:
        client = Client(transport=self._server.transport, codec=worker.codec)
        for entry in worker.schedules:
            self._server.call(put(entry, client, worker.config().cron_owner))

    def _opened(self, job: Job) -> Job:
        """Return a job with its arguments decoded, if a worker here has the codec for it."""
        for worker in self._workers:
            if worker.codec is not None:
                with suppress(CannotOpen):
                    job = worker.codec.open(job)
        return job

    def _turn(self, until: int) -> None:
        self._server.turn(until)
        # Leases may have expired in the meantime.
        self._send_beats()

    def _send_beats(self, job_id: str | None = None) -> None:
        """Let the workers that hold the job, or any job, send a BEAT now."""
        for life in list(self._present):
            if not life.holds(job_id):
                continue
            beat = asyncio.run_coroutine_threadsafe(life.beat(), life.loop)
            # Do not wait in an event loop: the worker's BEAT may need that same loop.
            if turning() is None:
                with suppress(TimeoutError):
                    beat.result(BEAT_S)
