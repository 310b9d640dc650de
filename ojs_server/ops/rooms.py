"""Jobs of rooms: a worker says that it runs one, and that it has begun a task."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events, lifecycle
from ojs_server.domain.errors import OjsError
from ojs_server.domain.job import Job, Lease
from ojs_server.domain.kind import Kind
from ojs_server.domain.workers import Worker, is_deleted
from ojs_server.ops import presence
from ojs_server.ops.settle import missing
from ojs_server.ops.work import Work


class Join(msgspec.Struct, frozen=True):
    """A worker runs a job of a room, besides those that it runs already. `new` makes the worker."""

    worker_id: str
    kind: Kind
    new: bool
    principal: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("worker", self.worker_id), ("kind", self.kind.room, self.kind.name))


class Begin(msgspec.Struct, frozen=True):
    """The worker of a task has begun."""

    job_id: str
    worker_id: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (self.job_id,)


class Begun(msgspec.Struct, frozen=True):
    """The task and its lease, since when it runs included."""

    job: Job
    lease: Lease


def join(work: Work, ops: Sequence[Join]) -> list[Worker | OjsError]:
    """Rare calls, one after the other."""
    return [_join(work, op) for op in ops]


def _join(work: Work, op: Join) -> Worker | OjsError:
    if op.new:
        register = presence.Register(op.worker_id, {}, op.principal, (op.kind,))
        known = presence.register(work, register, None)
    else:
        found = work.tx.load_workers([op.worker_id]).get(op.worker_id)
        if found is None or is_deleted(found):
            return presence.unknown_worker(op.worker_id)
        # A registration is a sign of life, whichever it is.
        known = msgspec.structs.replace(found, alive_at=work.now, seen_at=work.now)
        presence.link(work, op.worker_id, (op.kind,))
    work.tx.save_workers([known])
    work.note(events.job_types_changed(op.kind.room))
    return known


def begin(work: Work, ops: Sequence[Begin]) -> list[Begun | OjsError]:
    """Stamp the leases of tasks that have begun."""
    stored = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    return [_begin(work, op, stored.get(op.job_id)) for op in ops]


def _begin(work: Work, op: Begin, found: tuple[Job, Lease | None] | None) -> Begun | OjsError:
    if found is None:
        return missing(op.job_id, "task")
    job, lease = found
    try:
        lifecycle.require(job, "ack")
        lifecycle.require_holder(job, lease, op.worker_id, None)
    except OjsError as error:
        return error
    assert lease is not None, "an active job has a lease"
    work.tx.start_lease(job.id)
    return Begun(job, msgspec.structs.replace(lease, running_at=lease.running_at or work.now))
