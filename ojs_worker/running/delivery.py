"""One delivery of a job while this worker has it, and the ledger of all of them."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ojs_worker.context import JobContext
from ojs_worker.handlers.registry import Handler
from ojs_worker.job import Job


class Delivery:
    """A job that this worker holds, with its handler and its state."""

    __slots__ = (
        "_settling",
        "closed",
        "confirmation",
        "context",
        "handler",
        "held_at",
        "job",
        "task",
        "timer",
        "warned",
    )

    def __init__(
        self,
        job: Job,
        handler: Handler[..., Any, Any] | None,
        context: JobContext,
        held_at: float = -math.inf,
    ) -> None:
        self.job = job
        # Latest `elapsed` time at which this worker certainly held the job.
        self.held_at = held_at
        # Exists while the handler waits for the server to confirm the job; set by the answer.
        self.confirmation: asyncio.Event | None = None
        self.handler = handler
        self.context = context
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._settling = False
        # The handler's outcome is not needed any more; it may still run.
        self.closed = False
        self.warned = False

    @property
    def settling(self) -> bool:
        """True if the handler has ended or has settled the job itself, and the outcome is being
        sent."""
        return self._settling or self.context.settled

    @settling.setter
    def settling(self, settling: bool) -> None:
        self._settling = settling

    def cancel(self) -> None:
        """Stop the handler, or the wait for a confirmation of the job."""
        if self.confirmation is not None:
            self.confirmation.set()
            return
        # A thread cannot be cancelled: its handler checks `cancelled`, or runs to its end.
        runs = self.handler.runs if self.handler else "loop"
        if self.task is not None and runs != "thread":
            self.task.cancel()

    def stop_timer(self) -> None:
        """Stop the timer of the job's time limit."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Ledger:
    """The jobs that this worker holds, by id, and handlers that still run for jobs that it has
    lost.

    A handler that cannot be stopped, like a thread, keeps its place until it ends, so that never
    more handlers run than the worker may run.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: dict[str, Delivery] = {}
        self._strays: set[Delivery] = set()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Delivery]:
        return iter(list(self._held.values()))

    @property
    def free(self) -> int:
        """The number of jobs that may be added."""
        return self._places - len(self._held) - len(self._strays)

    def free_without(self, jobs: Sequence[Job]) -> int:
        """Return the number of jobs that may be added once these deliveries have ended."""
        held = (self._held.get(job.id) for job in jobs)
        ending = zip(jobs, held, strict=True)
        return self.free + sum(
            delivery is not None and delivery.job is job for job, delivery in ending
        )

    @property
    def strays(self) -> int:
        """Return the handlers that still run for jobs that are not held any more."""
        return len(self._strays)

    def attempts(self) -> dict[str, int]:
        """Return the held jobs, each with the number of its delivery."""
        return {job_id: delivery.job.attempt for job_id, delivery in self._held.items()}

    def get(self, job_id: str) -> Delivery | None:
        """Return the delivery of a job that is held; None if there is none."""
        return self._held.get(job_id)

    def add(self, delivery: Delivery) -> None:
        """Hold a job. An earlier delivery of it that still runs here keeps its place."""
        if (earlier := self._held.get(delivery.job.id)) is not None:
            self._strays.add(earlier)
        self._held[delivery.job.id] = delivery

    def drop(self, delivery: Delivery) -> None:
        """Remove a job from those held. A handler that still runs becomes a stray."""
        delivery.closed = True
        delivery.stop_timer()
        if self._held.get(delivery.job.id) is delivery:
            del self._held[delivery.job.id]
        if delivery.task is not None and not delivery.settling and not delivery.task.done():
            self._strays.add(delivery)

    def ended(self, delivery: Delivery) -> None:
        """Remove a delivery whose handler has ended and whose outcome, if any, was reported."""
        delivery.stop_timer()
        self._strays.discard(delivery)
        if self._held.get(delivery.job.id) is delivery:
            del self._held[delivery.job.id]
