"""Jobs and tasks of rooms: a worker registers a job, or reports that a task runs."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.compat.kind import Kind
from ojs_server.domain.compat.room import full_name
from ojs_server.domain.errors import Conflict, OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Job, Lease
from ojs_server.domain.workers.worker import Worker, is_deleted
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, OnWorker, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers import presence
from ojs_wire import codec


class StartedTask(msgspec.Struct, frozen=True):
    """The task, and its lease with the time at which it began to run."""

    job: Job
    lease: Lease


class Joined(msgspec.Struct, frozen=True):
    """The worker; `is_new` if the job was not registered before."""

    worker: Worker
    is_new: bool


class Join(OnWorker[Joined], frozen=True):
    """Register a job of a room for a worker, besides the jobs that it has already.

    `new` makes the worker. With `same_schema` an existing job must have the given schema.
    """

    stage = Stage.JOIN

    kind: Kind
    new: bool
    principal: str | None = None
    same_schema: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        return (("worker", self.worker_id), ("kind", self.kind.room, self.kind.name))

    def carry_out(self, work: Work) -> Joined:
        found = None if self.new else work.tx.load_workers([self.worker_id]).get(self.worker_id)
        if not self.new and (found is None or is_deleted(found)):
            raise presence.unknown_worker(self.worker_id)
        is_new = self._reserve(work)
        if found is None:
            register = presence.Register(self.worker_id, {}, self.principal, (self.kind,))
            known = presence.register(work, register, None)
        else:
            # A registration is a sign of life.
            known = msgspec.structs.replace(found, alive_at=work.now, seen_at=work.now)
            presence.link(work, self.worker_id, (self.kind,))
        work.tx.save_workers([known])
        work.note(events.job_types_changed(self.kind.room))
        return Joined(known, is_new)

    def _reserve(self, work: Work) -> bool:
        """Lock the job; returns True if it is new."""
        kind = self.kind
        stamped = msgspec.structs.replace(kind, created_at=work.now, updated_at=work.now)
        stored, is_new = work.tx.reserve_kind(stamped)
        if is_new or stored.deleted_at is not None:
            return True
        if self.same_schema and not _are_alike(stored.schema, kind.schema):
            raise Conflict(
                f"the job {full_name(kind.room, kind.name)} is registered with another schema",
                details={"resource_type": "room_job", "resource_id": kind.name},
                hint="register it with the same schema, or under another name",
            )
        return False


def _are_alike(schema: bytes | None, other: bytes | None) -> bool:
    if schema is None or other is None:
        return schema == other
    return codec.canonical(codec.decode(schema)) == codec.canonical(codec.decode(other))


class Begin(OnJob[StartedTask], frozen=True):
    """Record that a worker has begun a task."""

    stage = Stage.BEGIN

    worker_id: str | None = None


@handles(Stage.BEGIN)
def begin(work: Work, ops: Sequence[Begin]) -> list[StartedTask | OjsError]:
    """Set the start time in the leases of tasks that have begun."""
    stored = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    return [_begin(work, op, stored.get(op.job_id)) for op in ops]


def _begin(work: Work, op: Begin, found: tuple[Job, Lease | None] | None) -> StartedTask | OjsError:
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
    if lease.running_at is None:
        work.note(events.running(job, lease.worker_id))
    return StartedTask(job, msgspec.structs.replace(lease, running_at=lease.running_at or work.now))
