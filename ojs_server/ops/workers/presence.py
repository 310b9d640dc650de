"""Registration, directives and removal of workers, and the detection of dead ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import Event
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.profile import Recovery
from ojs_server.domain.tenants.tenant import split_name
from ojs_server.domain.workers.fetch_policy import is_final
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.staleness import has_left, is_stale
from ojs_server.domain.workers.worker import (
    Directive,
    Presence,
    Worker,
    WorkerState,
    is_deleted,
    presence,
    profile_of,
)
from ojs_server.ops.operation import Locks, OnWorker, Operation, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.kinds import link, unlink
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp

_profile = msgspec.json.Decoder(dict[str, Any])


# Most workers that a clean-up deletes per transaction.
CLEANUP_STEP: Final = 500


# The functions that delete what other systems keep with a worker.
_with_worker: Final[list[Callable[[Work, str], None]]] = []


def deleted_with_worker(delete: Callable[[Work, str], None]) -> Callable[[Work, str], None]:
    """Register a function that is called when a worker is deleted, after its row is locked."""
    _with_worker.append(delete)
    return delete


class DeathCause(msgspec.Struct, frozen=True):
    """The reason why a worker leaves, and the error recorded for its jobs."""

    reason: str
    fault: Fault


_GOODBYE = DeathCause(
    "shutdown",
    Fault(code="shutdown", type="shutdown", message="the worker left while it held the job"),
)
DEATH = DeathCause(
    "error",
    Fault(
        code="worker_death",
        type="worker_death",
        message="the worker holding the job stopped sending heartbeats",
    ),
)
DROPPED = DeathCause(
    "error",
    Fault(
        code="worker_death",
        type="worker_death",
        message="the worker holding the job dropped its session and did not come back",
    ),
)


class Known(msgspec.Struct, frozen=True):
    """The worker after the call, or the number of workers that it changed."""

    now: int
    worker: Worker | None = None
    updated: int = 0


class Cleaned(msgspec.Struct, frozen=True):
    """The deleted workers; `more` if there may be others."""

    worker_ids: tuple[str, ...]
    more: bool


class _OnWorker(OnWorker[Known], frozen=True):
    stage = Stage.PRESENCE

    def carry_out(self, work: Work) -> Known:
        known = work.tx.load_workers([self.worker_id]).get(self.worker_id)
        worker = self.decide(work, known)
        work.tx.save_workers([worker])
        return Known(work.now, worker, updated=1)

    def decide(self, work: Work, known: Worker | None) -> Worker:
        """Return the worker after the call, or raise the error of the call."""
        raise NotImplementedError


class Register(_OnWorker, frozen=True):
    """Register a worker; a known id is updated and starts a new incarnation."""

    tracks_workers = True

    profile: Mapping[str, object]
    principal: str | None = None
    kinds: tuple[Kind, ...] = ()

    def decide(self, work: Work, known: Worker | None) -> Worker:
        """Register the worker; raises if it was deleted for good."""
        if known is not None and is_final(known, work.rules.profile):
            raise _deleted(known)
        return register(work, self, known)


class Deregister(_OnWorker, frozen=True):
    """Deregister a worker, by itself; the jobs that it holds go back to their queues."""

    def lock(self, locks: Locks) -> None:
        super().lock(locks)
        locks.leaving.add(self.worker_id)

    def decide(self, work: Work, known: Worker | None) -> Worker:
        """End the worker's registration; unchanged if it left before."""
        if known is None:
            raise unknown_worker(self.worker_id)
        if known.gone_at is None:
            (known,) = leave(work, [known], _GOODBYE, work.rules.profile.on_leave)
        elif not is_deleted(known):
            # A dead worker that deregisters has left by itself.
            known = msgspec.structs.replace(known, died=False)
        return known


class Delete(_OnWorker, frozen=True):
    """Delete a worker with its leases; `recovery` overrides what the profile does with its jobs.

    With `stale` it raises Conflict if the worker is not stale.
    """

    recovery: Recovery | None = None
    stale: bool = False

    def lock(self, locks: Locks) -> None:
        super().lock(locks)
        locks.leaving.add(self.worker_id)

    def decide(self, work: Work, known: Worker | None) -> Worker:
        """Delete the worker; raises if it was deleted before."""
        if known is None or is_deleted(known):
            raise unknown_worker(self.worker_id)
        if self.stale and not is_stale(known, work.now, work.rules.profile):
            raise _not_stale(known)
        (worker,) = _delete(work, [known], self.recovery)
        return worker


def _not_stale(worker: Worker) -> Conflict:
    _, worker_id = split_name(worker.id)
    has_gone = has_left(worker)
    return Conflict(
        f"worker {worker_id} {'left by itself' if has_gone else 'is alive'}",
        details={"resource_type": "worker", "resource_id": worker_id},
        hint="there is nothing to remove"
        if has_gone
        else "only a worker whose heartbeat is overdue can be removed; tell this one to end",
    )


class Describe(_OnWorker, frozen=True):
    """Replace the kinds of jobs that a worker runs."""

    kinds: tuple[Kind, ...]

    def decide(self, work: Work, known: Worker | None) -> Worker:
        """Replace the kinds; the worker's own record stays as it is."""
        if known is None or is_deleted(known):
            raise unknown_worker(self.worker_id)
        unlink(work, [known.id])
        link(work, known.id, self.kinds)
        return known


class Direct(Operation[Known], frozen=True):
    """Send a directive to one worker, or to all; it is delivered with the next BEAT."""

    stage = Stage.PRESENCE

    directive: Directive
    worker_id: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        return (("direct", self.worker_id),)

    def lock(self, locks: Locks) -> None:
        if self.worker_id is None:
            locks.all_workers = True
        else:
            locks.workers.add(self.worker_id)

    def carry_out(self, work: Work) -> Known:
        if self.worker_id is None:
            found = work.tx.load_all_workers()
        else:
            known = work.tx.load_workers([self.worker_id]).get(self.worker_id)
            if known is None or known.gone_at is not None:
                raise unknown_worker(self.worker_id)
            found = [known]
        changed = [msgspec.structs.replace(one, directive=self.directive) for one in found]
        work.tx.save_workers(changed)
        return Known(work.now, None if self.worker_id is None else changed[0], updated=len(changed))


class Cleanup(Operation[Cleaned], frozen=True):
    """Delete workers that have been offline for as long as the profile keeps them, or all that are
    offline `now`; up to a number at a time."""

    stage = Stage.CLEANUP

    now: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        return ("cleanup",)

    def lock(self, locks: Locks) -> None:
        locks.searches.append(self.offline)

    def carry_out(self, work: Work) -> Cleaned:
        found = self.offline(work)
        if found:
            work.tx.save_workers(_delete(work, found, None))
        return Cleaned(tuple(worker.id for worker in found), len(found) == CLEANUP_STEP)

    def offline(self, work: Work) -> list[Worker]:
        """Lock the workers to delete, except those that another node has locked."""
        limits = work.rules.profile.thresholds
        silent_ms = limits.offline_ms if self.now else limits.deleted_ms
        gone = work.now if self.now else work.now - limits.deleted_ms
        return work.tx.load_offline_workers(work.now - silent_ms, gone, CLEANUP_STEP)


def _deleted(worker: Worker) -> Conflict:
    return Conflict(
        f"worker {worker.id} was deleted",
        details={"resource_type": "worker", "resource_id": worker.id},
        hint="register without a worker_id, and use the new one in the answer",
    )


def unknown_worker(worker_id: str) -> NotFound:
    """Return the error for an unknown worker id."""
    _, worker_id = split_name(worker_id)
    return NotFound(
        f"there is no worker {worker_id}",
        details={"resource_type": "worker", "resource_id": worker_id},
        hint="workers appear with their first register, BEAT or FETCH",
    )


def register(work: Work, op: Register, known: Worker | None) -> Worker:
    """Return the worker of a registration, to be saved."""
    if work.rules.profile.dead_after_ms is not None:
        work.expect(work.now + work.rules.profile.dead_after_ms)
    before = known or Worker(id=op.worker_id, created_at=work.now, incarnation=0)
    worker = msgspec.structs.replace(
        _reborn(before, work.now), profile=encode(op.profile), principal=op.principal
    )
    link(work, worker.id, op.kinds)
    work.note(arrival(worker, registered=True))
    if known is None:
        # A new worker's presence is not a change.
        begins = presence(worker, work.now, work.rules.profile.thresholds)
        return msgspec.structs.replace(worker, presence=begins)
    return noticed(work, worker)


def arrival(worker: Worker, *, registered: bool) -> Event:
    """Build `worker.started` from what the worker has reported so far."""
    profile = profile_of(worker)
    return events.worker(
        "worker.started",
        worker.id,
        queues=profile.get("queues", []),
        concurrency=profile.get("concurrency"),
        incarnation=worker.incarnation,
        registered=registered,
    )


def leave(
    work: Work, workers: Sequence[Worker], why: DeathCause, recovery: Recovery
) -> list[Worker]:
    """Mark workers as terminated; their jobs are requeued, or fail."""
    held = work.tx.load_held(sorted(worker.id for worker in workers))
    work.apply(
        [
            lifecycle.lapse(
                job,
                lease,
                why.fault,
                backoff=recovery == "fail",
                now=work.now,
                random=work.rng.random(),
                keep=work.keep(job.queue),
            )
            for job, lease in held
        ]
    )
    forgotten = work.now if work.rules.profile.deletes_dead else None
    left = [
        noticed(
            work,
            msgspec.structs.replace(
                worker,
                state=WorkerState.TERMINATED,
                directive=None,
                gone_at=work.now,
                deleted_at=forgotten,
            ),
        )
        for worker in workers
    ]
    for worker in workers:
        jobs = sum(lease.worker_id == worker.id for _, lease in held)
        work.note(events.worker("worker.stopped", worker.id, reason=why.reason, jobs_returned=jobs))
    return left


def declare_dead(work: Work, dead: Sequence[Worker], why: DeathCause) -> list[Worker]:
    """Mark workers as dead that were silent for too long, or did not come back."""
    dying = [msgspec.structs.replace(worker, died=True) for worker in dead]
    return leave(work, dying, why, work.rules.profile.on_death)


def noticed(work: Work, worker: Worker, at: int | None = None) -> Worker:
    """Return the worker with its presence now or at a moment; emits an event if it has changed."""
    found = presence(worker, work.now if at is None else at, work.rules.profile.thresholds)
    if found == worker.presence:
        return worker
    beat_at = None if worker.beat_at is None else format_timestamp(worker.beat_at)
    work.note(
        events.worker(
            f"worker.{found}", worker.id, previous=worker.presence, last_heartbeat_at=beat_at
        )
    )
    if found is Presence.DELETED:
        # Some profiles delete dead workers; such a worker still counts as dead.
        dead = worker.died and worker.deleted_at is not None
        worker = msgspec.structs.replace(worker, deleted_at=work.now, died=dead)
        unlink(work, [worker.id])
        for delete in _with_worker:
            delete(work, worker.id)
    return msgspec.structs.replace(worker, presence=found)


def seen(work: Work, worker: Worker, at: int) -> Worker:
    """Return the worker after a FETCH at a moment.

    A FETCH is a sign of life, except for a worker that has given no other, and if only BEATs count.
    """
    alive_at, deleted_at = worker.alive_at, worker.deleted_at
    if alive_at is None:
        deleted_at = None
    elif not work.rules.profile.gates_fetch:
        alive_at = max(alive_at, at)
    worker = msgspec.structs.replace(
        worker, seen_at=max(worker.seen_at, at), alive_at=alive_at, deleted_at=deleted_at
    )
    return noticed(work, worker)


def revived(work: Work, worker: Worker) -> Worker:
    """Revive a worker that was declared dead, and fetches again."""
    worker = _reborn(worker, work.now)
    work.note(arrival(worker, registered=False))
    return noticed(work, worker)


def _reborn(worker: Worker, now: int) -> Worker:
    """Return a new incarnation of a worker, which may fetch."""
    return msgspec.structs.replace(
        worker,
        state=WorkerState.RUNNING,
        draining=False,
        directive=None,
        incarnation=worker.incarnation + 1,
        alive_at=now,
        seen_at=now,
        gone_at=None,
        deleted_at=None,
        died=False,
    )


def _delete(work: Work, workers: Sequence[Worker], recovery: Recovery | None) -> list[Worker]:
    there = [worker for worker in workers if worker.gone_at is None]
    gone = [worker for worker in workers if worker.gone_at is not None]
    left = leave(work, there, _GOODBYE, recovery or work.rules.profile.on_delete) if there else []
    return [
        noticed(work, msgspec.structs.replace(worker, deleted_at=work.now, died=False))
        for worker in (*left, *gone)
    ]


def merge_profile(stored: bytes, given: Mapping[str, object]) -> bytes:
    """Merge newly reported members into a worker's profile."""
    return encode({**_profile.decode(stored), **given}) if given else stored
