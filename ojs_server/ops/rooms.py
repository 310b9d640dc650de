"""Jobs of rooms: a worker says that it runs one, and that it has begun a task."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events, lifecycle
from ojs_server.domain.errors import OjsError
from ojs_server.domain.job import Job, Lease
from ojs_server.domain.kind import Kind
from ojs_server.domain.workers import Worker, is_deleted
from ojs_server.ops import presence
from ojs_server.ops.operation import OnJob, OnWorker, Stage, handles
from ojs_server.ops.settle import missing
from ojs_server.ops.work import Work


class Begun(msgspec.Struct, frozen=True):
    """The task and its lease, since when it runs included."""

    job: Job
    lease: Lease


class Join(OnWorker[Worker], frozen=True):
    """A worker runs a job of a room, besides those that it runs already. `new` makes the worker."""

    stage = Stage.JOIN

    kind: Kind
    new: bool
    principal: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        return (("worker", self.worker_id), ("kind", self.kind.room, self.kind.name))

    def carry_out(self, work: Work) -> Worker:
        if self.new:
            register = presence.Register(self.worker_id, {}, self.principal, (self.kind,))
            known = presence.register(work, register, None)
        else:
            found = work.tx.load_workers([self.worker_id]).get(self.worker_id)
            if found is None or is_deleted(found):
                raise presence.unknown_worker(self.worker_id)
            # A registration is a sign of life, whichever it is.
            known = msgspec.structs.replace(found, alive_at=work.now, seen_at=work.now)
            presence.link(work, self.worker_id, (self.kind,))
        work.tx.save_workers([known])
        work.note(events.job_types_changed(self.kind.room))
        return known


class Begin(OnJob[Begun], frozen=True):
    """The worker of a task has begun."""

    stage = Stage.BEGIN

    worker_id: str | None = None


@handles(Stage.BEGIN)
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
