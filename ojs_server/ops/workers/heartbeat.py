"""BEAT: keep a worker and its leases alive, and answer with the state that it should take."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.deadlines import renewal
from ojs_server.domain.jobs.job import Lease, State
from ojs_server.domain.workers.fetch_policy import is_final
from ojs_server.domain.workers.worker import (
    Worker,
    WorkerState,
    directed_state,
    standing_directive,
)
from ojs_server.ops.operation import Locks, OnWorker, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.presence import arrival, merge_profile, noticed, unknown_worker


class Beaten(msgspec.Struct, frozen=True):
    """The answer to a BEAT."""

    worker: Worker
    state: WorkerState
    extended: tuple[str, ...]
    lost: tuple[str, ...]
    cancelled: tuple[str, ...]
    now: int
    registered: bool


class Beat(OnWorker[Beaten], frozen=True):
    """One heartbeat.

    `active_ids` is None if the worker did not list its jobs; without `extend` the leases are not
    extended.
    """

    stage = Stage.BEAT
    light = True
    tracks_workers = True

    reported: WorkerState
    draining: bool
    active_ids: tuple[str, ...] | None
    lease_ms: int | None = None
    extend: bool = True
    profile: Mapping[str, object] = {}
    # If true, refuse an unknown worker; otherwise the BEAT makes it known.
    known: bool = False

    @property
    def job_count(self) -> int:
        return max(1, len(self.active_ids or ()))

    def lock(self, locks: Locks) -> None:
        super().lock(locks)
        locks.leases.update(self.active_ids or ())
        if locks.rules.profile.renewal == "all":
            locks.leaving.add(self.worker_id)


@handles(Stage.BEAT, at_once=True)
def run(work: Work, ops: Sequence[Beat]) -> list[Beaten | OjsError]:
    """Answer many heartbeats; workers and leases are read and written once each."""
    workers = work.tx.load_workers(sorted({op.worker_id for op in ops}))
    listed = sorted({job_id for op in ops for job_id in op.active_ids or ()})
    leases = work.tx.load_leases(listed) if listed else {}
    renews = work.rules.profile.renewal
    if renews == "all":
        theirs = work.tx.load_held(sorted({op.worker_id for op in ops}))
        leases = {**leases, **{lease.job_id: lease for _, lease in theirs}}
    held = {op.worker_id: _held(op, leases, unlisted=renews == "all") for op in ops}
    cancelled = _cancelled(work, ops, held)
    tests = _test_directives(work, held)
    renewed: list[Lease] = []
    saved: list[Worker] = []
    answers: list[Beaten | OjsError] = []
    for op in ops:
        known = workers.get(op.worker_id)
        if op.known and not _may_ping(work, known):
            answers.append(unknown_worker(op.worker_id))
            continue
        mine = held[op.worker_id]
        if op.extend and renews != "none":
            renewed += _renewals(work, op, [leases[job_id] for job_id in mine])
        state = directed_state(
            op.reported, known.directive if known else None, tests.get(op.worker_id, ())
        )
        worker = _beaten(work, op, known)
        saved.append(worker)
        answers.append(
            Beaten(
                worker=worker,
                state=state,
                extended=mine if op.extend else (),
                lost=tuple(
                    job_id
                    for job_id in op.active_ids or ()
                    if job_id not in mine and job_id not in cancelled
                ),
                cancelled=tuple(job_id for job_id in op.active_ids or () if job_id in cancelled),
                now=work.now,
                registered=known is not None and known.gone_at is None and known.deleted_at is None,
            )
        )
    work.tx.save_workers(saved)
    if renewed:
        work.tx.extend_leases(renewed)
        for lease in renewed:
            work.note(events.extended(lease))
            work.expect(lease.expires_at)
    return answers


def _may_ping(work: Work, known: Worker | None) -> bool:
    if known is None or known.deleted_at is not None:
        return False
    return known.gone_at is None or work.rules.profile.ping_revives


def _held(op: Beat, leases: Mapping[str, Lease], *, unlisted: bool) -> tuple[str, ...]:
    ids = [*(op.active_ids or ())]
    if unlisted:
        ids += [lease.job_id for lease in leases.values() if lease.worker_id == op.worker_id]
    # An anonymous lease has no worker; any worker that lists the job renews it.
    return tuple(
        job_id
        for job_id in dict.fromkeys(ids)
        if (lease := leases.get(job_id)) and lease.worker_id in (None, op.worker_id)
    )


def _renewals(work: Work, op: Beat, held: Iterable[Lease]) -> list[Lease]:
    return [renewed for lease in held if (renewed := renewal(lease, op.lease_ms, work.now))]


def _cancelled(
    work: Work, ops: Sequence[Beat], held: Mapping[str, tuple[str, ...]]
) -> frozenset[str]:
    lost = sorted(
        {job for op in ops for job in op.active_ids or () if job not in held[op.worker_id]}
    )
    if not lost:
        return frozenset()
    # Read without a lock: these jobs are not this worker's, and another node may be settling them.
    return frozenset(
        job_id
        for job_id, stored in work.tx.load_whole(lost).items()
        if stored.job.state == State.CANCELLED
    )


def _test_directives(work: Work, held: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return `meta.test_directive` of held jobs; used in conformance runs only."""
    if not work.rules.conformance:
        return {}
    ids = [job_id for mine in held.values() for job_id in mine]
    jobs = work.tx.load_whole(ids) if ids else {}
    words = {job_id: _directive_of(stored.meta) for job_id, stored in jobs.items()}
    return {
        worker_id: tuple(word for job_id in mine if (word := words.get(job_id)))
        for worker_id, mine in held.items()
    }


class _TestMeta(msgspec.Struct):
    test_directive: object = None


def _directive_of(meta: bytes) -> str | None:
    word = msgspec.json.decode(meta, type=_TestMeta).test_directive
    return word if isinstance(word, str) else None


def _beaten(work: Work, op: Beat, known: Worker | None) -> Worker:
    known = known or Worker(id=op.worker_id, created_at=work.now)
    if is_final(known, work.rules.profile):
        return known
    returns = known.gone_at is not None
    # True for the first BEAT of a worker, even if it has fetched before, and for the first after
    # its end.
    starts = returns or known.alive_at is None
    if op.reported is WorkerState.QUIET and known.state == WorkerState.RUNNING:
        work.note(events.worker("worker.quiet", op.worker_id, active_jobs=len(op.active_ids or ())))
    worker = msgspec.structs.replace(
        known,
        state=op.reported,
        draining=op.draining,
        directive=None if returns else standing_directive(known.directive, op.reported),
        incarnation=known.incarnation + returns,
        alive_at=work.now,
        beat_at=work.now,
        seen_at=work.now,
        gone_at=None,
        deleted_at=None,
        died=False,
        profile=merge_profile(known.profile, op.profile),
    )
    if starts:
        work.note(arrival(worker, registered=False))
    return noticed(work, worker)
