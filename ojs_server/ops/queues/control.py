"""Operators' calls on whole queues: pause, resume, configure, purge, delete."""

from collections.abc import Callable
from typing import Final

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import State
from ojs_server.domain.queues.config import NO_CONFIG, QueueConfig, as_wire
from ojs_server.ops.operation import Done, OnJobs, Operation, Stage
from ojs_server.ops.unit_of_work import Work


class Configured(Done, frozen=True):
    """The stored settings."""

    config: QueueConfig


class Gone(Done, frozen=True):
    """The number of jobs that have left the queue."""

    count: int


class Dropped(Done, frozen=True):
    """The number of jobs that remain in the queue."""

    left: int


# Wake-ups for all waiting fetches or producers of a queue.
_ALL: Final = 1_000_000


class SetPaused(Operation[Done], frozen=True):
    """Pause or resume a queue. A paused queue delivers no jobs; enqueueing goes on."""

    stage = Stage.CONTROL
    settings = True

    queue: str
    paused: bool

    @property
    def keys(self) -> tuple[object, ...]:
        return (("queue", self.queue),)

    def carry_out(self, work: Work) -> Done:
        work.tx.set_paused(self.queue, self.paused)
        work.note(events.queue("queue.paused" if self.paused else "queue.resumed", self.queue))
        if not self.paused:
            work.wakes[self.queue] += _ALL
        return Done(work.now)


class Configure(Operation[Configured], frozen=True):
    """Change the settings of a queue; `decide` makes the new ones from the old.

    With `new` it raises Conflict if the queue exists.
    """

    stage = Stage.CONTROL
    settings = True

    queue: str
    decide: Callable[[QueueConfig], QueueConfig]
    new: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        return (("queue", self.queue),)

    def carry_out(self, work: Work) -> Configured:
        before = work.tx.configs.get(self.queue)
        if self.new and (before is not None or work.tx.queue_loads([self.queue])):
            raise Conflict(
                f"queue {self.queue} exists already",
                details={"resource_type": "queue", "resource_id": self.queue},
                hint="change its settings with PUT /ojs/v1/queues/{name}/config",
            )
        config = self.decide(before or NO_CONFIG)
        work.tx.save_config(self.queue, config)
        work.note(events.of_queue("queue.configured", self.queue, config=as_wire(config)))
        # Larger limits and bounds may admit waiting fetches and producers.
        work.wakes[self.queue] += _ALL
        work.freed[self.queue] += _ALL
        return Configured(work.now, config)


class Purge(OnJobs[Gone], frozen=True):
    """Remove those of these jobs of a queue that are in certain states and old enough.

    With `cancel`, active jobs are cancelled first, so that their workers learn of it; with
    `dry_run` they are only counted.
    """

    stage = Stage.PURGE

    queue: str
    states: tuple[str, ...]
    before: int | None = None
    cancel: bool = False
    dry_run: bool = False

    @property
    def is_action(self) -> bool:
        return not self.dry_run

    def carry_out(self, work: Work) -> Gone:
        found = [job for job, _ in work.tx.load_jobs(self.job_ids).values()]
        gone = [
            job
            for job in found
            if job.queue == self.queue
            and job.state in self.states
            and (self.before is None or (job.finished_at or job.created_at) < self.before)
        ]
        if self.dry_run:
            return Gone(work.now, len(gone))
        held = [job for job in gone if job.state == State.ACTIVE]
        if held:
            changes = [lifecycle.cancel(job, work.now, work.keep(job.queue)) for job in held]
            work.apply(changes)
            gone = [job for job in gone if job.state != State.ACTIVE]
            gone += [change.after for change in changes]
        work.remove(gone)
        if gone:
            states = sorted(self.states)
            work.note(events.of_queue("queue.purged", self.queue, count=len(gone), states=states))
        return Gone(work.now, len(gone))


class Drop(Operation[Dropped], frozen=True):
    """Delete the settings of a queue, and the queue itself if it has no jobs."""

    stage = Stage.PURGE
    settings = True

    queue: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("queue", self.queue),)

    def carry_out(self, work: Work) -> Dropped:
        (left,) = work.tx.count_jobs([self.queue]).values() or (0,)
        if left:
            # Keep its counters, which belong to jobs that have come in the meantime.
            work.tx.set_paused(self.queue, False)
            work.tx.save_config(self.queue, NO_CONFIG)
        else:
            work.tx.delete_queue(self.queue)
        work.note(events.of_queue("queue.deleted", self.queue, jobs_left=left))
        return Dropped(work.now, left)
