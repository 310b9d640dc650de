"""Register a kind of jobs that a worker runs, besides those that it has already."""

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import Worker, is_deleted
from ojs_server.ops.operation import OnWorker, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers import presence
from ojs_server.ops.workers.kinds import link
from ojs_wire import codec


class Joined(msgspec.Struct, frozen=True):
    """The worker; `is_new` if the kind was not registered before."""

    worker: Worker
    is_new: bool


class Join(OnWorker[Joined], frozen=True):
    """Register a kind of jobs for a worker.

    `new` makes the worker. A kind that exists must have the given schema.
    """

    stage = Stage.JOIN

    kind: Kind
    new: bool
    principal: str | None = None

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
            link(work, self.worker_id, (self.kind,))
        work.tx.save_workers([known])
        work.note(events.job_types_changed(self.kind.room))
        return Joined(known, is_new)

    def _reserve(self, work: Work) -> bool:
        """Lock the kind; returns True if it is new."""
        kind = self.kind
        # One that nobody runs and no job waits for is gone.
        work.tx.retire_kinds([(kind.room, kind.name)])
        stamped = msgspec.structs.replace(kind, created_at=work.now, updated_at=work.now)
        stored, is_new = work.tx.reserve_kind(stamped)
        if is_new or stored.deleted_at is not None:
            return True
        if not _are_alike(stored.schema, kind.schema):
            raise Conflict(
                f"the job {kind.room}:{kind.name} is registered with another schema",
                details={"resource_type": "room_job", "resource_id": kind.name},
                hint="register it with the same schema, or under another name",
            )
        return False


def _are_alike(schema: bytes | None, other: bytes | None) -> bool:
    if schema is None or other is None:
        return schema == other
    return codec.canonical(codec.decode(schema)) == codec.canonical(codec.decode(other))
