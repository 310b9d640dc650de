"""Operators' calls on the whole: pausing queues, and the wipe of conformance runs."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ojs_server.domain import events, lifecycle
from ojs_server.domain.errors import Conflict, OjsError
from ojs_server.domain.job import State
from ojs_server.domain.maintenance import Maintenance, MaintenanceOrder
from ojs_server.domain.queue_config import NO_CONFIG, QueueConfig, as_wire
from ojs_server.ops.prune import COUNT_STEP
from ojs_server.ops.work import Work


class SetPaused(msgspec.Struct, frozen=True):
    """A paused queue hands nothing out; enqueueing goes on."""

    queue: str
    paused: bool

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("queue", self.queue),)


class Configure(msgspec.Struct, frozen=True):
    """Settings of a queue. `decide` makes them from those of before; `new` refuses a known one."""

    queue: str
    decide: Callable[[QueueConfig], QueueConfig]
    new: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("queue", self.queue),)


class Purge(msgspec.Struct, frozen=True):
    """Remove those of these jobs of a queue that are in certain states, and old enough.

    With `cancel` a job that a worker holds is cancelled first, so that its worker is told.
    """

    queue: str
    job_ids: tuple[str, ...]
    states: tuple[str, ...]
    before: int | None = None
    cancel: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return self.job_ids


class Maintain(msgspec.Struct, frozen=True):
    """Begin, change or end the maintenance of all nodes."""

    order: MaintenanceOrder

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("maintenance",)


class Collect(msgspec.Struct, frozen=True):
    """Count what has happened into the statistics, a step at most."""

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("collect",)


class Drop(msgspec.Struct, frozen=True):
    """Forget the settings of a queue, and the queue itself where it has no jobs."""

    queue: str

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("queue", self.queue),)


class Reset(msgspec.Struct, frozen=True):
    """Remove everything."""

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return ("reset",)


class Controlled(msgspec.Struct, frozen=True):
    """When it was done."""

    now: int


class Configured(Controlled, frozen=True):
    """The settings as they are stored."""

    config: QueueConfig


class Maintained(Controlled, frozen=True):
    """The maintenance that is on now."""

    maintenance: Maintenance | None


class Gone(Controlled, frozen=True):
    """How many jobs have left the queue."""

    count: int


class Dropped(Controlled, frozen=True):
    """How many jobs the queue still has."""

    left: int


# Everybody who waits may find something now.
_ALL: Final = 1_000_000

Control = SetPaused | Configure | Maintain | Collect | Purge | Drop | Reset


def run(work: Work, ops: Sequence[Control]) -> list[Controlled | OjsError]:
    """Rare calls, one after the other."""
    return [_carry_out(work, op) for op in ops]


def _carry_out(work: Work, op: Control) -> Controlled | OjsError:
    if isinstance(op, Configure):
        return _configure(work, op)
    if isinstance(op, Maintain):
        return _maintain(work, op)
    if isinstance(op, Collect):
        work.tx.tally_events(COUNT_STEP)
        return Controlled(work.now)
    if isinstance(op, Purge):
        return _purge(work, op)
    if isinstance(op, Drop):
        return _drop(work, op)
    if isinstance(op, Reset):
        work.tx.wipe()
        return Controlled(work.now)
    work.tx.set_paused(op.queue, op.paused)
    work.note(events.queue("queue.paused" if op.paused else "queue.resumed", op.queue))
    if not op.paused:
        work.wakes[op.queue] += _ALL
    return Controlled(work.now)


def _configure(work: Work, op: Configure) -> Configured | OjsError:
    before = work.tx.configs.get(op.queue)
    if op.new and (before is not None or work.tx.queue_loads([op.queue])):
        return Conflict(
            f"queue {op.queue} exists already",
            details={"resource_type": "queue", "resource_id": op.queue},
            hint="change its settings with PUT /ojs/v1/queues/{name}/config",
        )
    try:
        config = op.decide(before or NO_CONFIG)
    except OjsError as error:
        return error
    work.tx.save_config(op.queue, config)
    work.note(events.of_queue("queue.configured", op.queue, config=as_wire(config)))
    # Larger limits and bounds let in who waits now.
    work.wakes[op.queue] += _ALL
    work.rooms[op.queue] += _ALL
    return Configured(work.now, config)


def _maintain(work: Work, op: Maintain) -> Maintained:
    before = work.tx.maintenance
    after = op.order.applied(before, work.now)
    if after != before:
        work.tx.save_maintenance(after)
        word = "ended" if after is None else "started" if before is None else "changed"
        work.note(events.maintenance(word, after.reason if after else None))
    return Maintained(work.now, after)


def _drop(work: Work, op: Drop) -> Dropped:
    (left,) = work.tx.count_jobs([op.queue]).values() or (0,)
    if left:
        # Its counters are those of jobs that came meanwhile.
        work.tx.set_paused(op.queue, False)
        work.tx.save_config(op.queue, NO_CONFIG)
    else:
        work.tx.delete_queue(op.queue)
    work.note(events.of_queue("queue.deleted", op.queue, jobs_left=left))
    return Dropped(work.now, left)


def _purge(work: Work, op: Purge) -> Gone:
    found = [job for job, _ in work.tx.load_jobs(op.job_ids).values()]
    gone = [
        job
        for job in found
        if job.queue == op.queue
        and job.state in op.states
        and (op.before is None or (job.finished_at or job.created_at) < op.before)
    ]
    held = [job for job in gone if job.state == State.ACTIVE]
    if held:
        changes = [lifecycle.cancel(job, work.now, work.keep(job.queue)) for job in held]
        work.apply(changes)
        gone = [job for job in gone if job.state != State.ACTIVE]
        gone += [change.after for change in changes]
    work.remove(gone)
    if gone:
        work.note(
            events.of_queue("queue.purged", op.queue, count=len(gone), states=sorted(op.states))
        )
    return Gone(work.now, len(gone))
