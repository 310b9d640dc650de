"""Workers coming, going, being told, and being found dead."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ojs_server.domain import events, lifecycle
from ojs_server.domain.errors import Conflict, NotFound, OjsError
from ojs_server.domain.faults import Fault
from ojs_server.domain.job import Event
from ojs_server.domain.workers import Directive, Worker, WorkerState, is_stale, profile_of
from ojs_server.ops.work import Work
from ojs_wire.codec import encode

_profile = msgspec.json.Decoder(dict[str, Any])


class Register(msgspec.Struct, frozen=True):
    """A worker introduces itself; a known id is refreshed and starts a new incarnation."""

    worker_id: str
    profile: Mapping[str, object]

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("worker", self.worker_id),)


class Deregister(msgspec.Struct, frozen=True):
    """A worker says goodbye, or is sent away; what it still holds goes back to its queues.

    With `silent` only one that was not heard of for as long as a dead one is sent away.
    """

    worker_id: str
    silent: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("worker", self.worker_id),)


class Direct(msgspec.Struct, frozen=True):
    """An operator's word to one worker, or to all; its next BEAT delivers it."""

    directive: Directive
    worker_id: str | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """What may not be touched twice in one transaction."""
        return (("direct", self.worker_id),)


Coming = Register | Deregister | Direct


class Known(msgspec.Struct, frozen=True):
    """The worker after the call, or how many were told."""

    now: int
    worker: Worker | None = None
    updated: int = 0


def run(work: Work, ops: Sequence[Coming]) -> list[Known | OjsError]:
    """Rare calls, one after the other."""
    return [_one(work, op) for op in ops]


def _one(work: Work, op: Coming) -> Known | OjsError:
    if isinstance(op, Direct) and op.worker_id is None:
        return _direct_all(work, op.directive)
    assert op.worker_id is not None
    known = work.tx.load_workers([op.worker_id]).get(op.worker_id)
    if isinstance(op, Register):
        worker = _registered(work, op, known)
    elif known is None or (isinstance(op, Direct) and known.gone_at is not None):
        return unknown_worker(op.worker_id)
    elif isinstance(op, Direct):
        worker = msgspec.structs.replace(known, directive=op.directive)
    elif (
        op.silent
        and known.gone_at is None
        and not is_stale(known, work.now, work.rules.profile.dead_after_ms)
    ):
        return Conflict(
            f"worker {op.worker_id} is there",
            details={"resource_type": "worker", "resource_id": op.worker_id},
            hint="only a worker whose heartbeat is overdue can be removed; tell this one to end",
        )
    else:
        worker = known if known.gone_at is not None else leave(work, [known], _GOODBYE)[0]
    work.tx.save_workers([worker])
    return Known(work.now, worker, updated=1)


def unknown_worker(worker_id: str) -> NotFound:
    """The answer for a worker id that is not there."""
    return NotFound(
        f"there is no worker {worker_id}",
        details={"resource_type": "worker", "resource_id": worker_id},
        hint="workers appear with their first register, BEAT or FETCH",
    )


def _registered(work: Work, op: Register, known: Worker | None) -> Worker:
    if work.rules.profile.dead_after_ms is not None:
        work.expect(work.now + work.rules.profile.dead_after_ms)
    known = known or Worker(id=op.worker_id, created_at=work.now, incarnation=0)
    worker = msgspec.structs.replace(
        known,
        state=WorkerState.RUNNING,
        draining=False,
        directive=None,
        incarnation=known.incarnation + 1,
        alive_at=work.now,
        seen_at=work.now,
        gone_at=None,
        profile=encode(op.profile),
    )
    work.note(arrival(worker, registered=True))
    return worker


def arrival(worker: Worker, *, registered: bool) -> Event:
    """`worker.started`: what the worker has said of itself so far."""
    profile = profile_of(worker)
    return events.worker(
        "worker.started",
        worker.id,
        queues=profile.get("queues", []),
        concurrency=profile.get("concurrency"),
        incarnation=worker.incarnation,
        registered=registered,
    )


def _direct_all(work: Work, directive: Directive) -> Known:
    workers = [
        msgspec.structs.replace(worker, directive=directive)
        for worker in work.tx.load_all_workers()
    ]
    work.tx.save_workers(workers)
    return Known(work.now, updated=len(workers))


class Farewell(msgspec.Struct, frozen=True):
    """Why a worker goes, and what its jobs are told."""

    reason: str
    fault: Fault


_GOODBYE = Farewell(
    "shutdown",
    Fault(code="shutdown", type="shutdown", message="the worker left while it held the job"),
)
DEATH = Farewell(
    "error",
    Fault(
        code="worker_death",
        type="worker_death",
        message="the worker holding the job stopped sending heartbeats",
    ),
)


def leave(work: Work, workers: Sequence[Worker], why: Farewell) -> list[Worker]:
    """Mark workers as terminated and return everything they hold."""
    held = work.tx.load_held(sorted(worker.id for worker in workers))
    work.apply(
        [
            lifecycle.lapse(
                job,
                lease,
                why.fault,
                backoff=False,
                now=work.now,
                dice=work.luck.dice(),
                keep=work.keep(job.queue),
            )
            for job, lease in held
        ]
    )
    for worker in workers:
        jobs = sum(lease.worker_id == worker.id for _, lease in held)
        work.note(events.worker("worker.stopped", worker.id, reason=why.reason, jobs_returned=jobs))
    return [
        msgspec.structs.replace(
            worker, state=WorkerState.TERMINATED, directive=None, gone_at=work.now
        )
        for worker in workers
    ]


def merge_profile(stored: bytes, given: Mapping[str, object]) -> bytes:
    """What the worker says of itself, newest word last."""
    return encode({**_profile.decode(stored), **given}) if given else stored
