"""FETCH: hand out available jobs, each to one worker."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import msgspec

from ojs_server.domain import events
from ojs_server.domain.compat.room import queue_of
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import deadlines
from ojs_server.domain.jobs.job import Job, Lease, StoredJob
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.profile import LateAck
from ojs_server.domain.queues.config import NO_CONFIG
from ojs_server.domain.tenants.tenant import OF_TENANT, split_name
from ojs_server.domain.workers.fetch_policy import Withheld
from ojs_server.domain.workers.next_types import FEW, choose_types, most_types
from ojs_server.ops.fairness.fair_claim import ClaimCriteria, ServingOrder, criteria_of
from ojs_server.ops.jobs.attachments import NOTHING_LEFT, Left, left_for
from ojs_server.ops.jobs.numeric_ids import numbers_of
from ojs_server.ops.limits.claim_limits import LimitedClaims
from ojs_server.ops.operation import Locks, Operation, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers.eligibility import load_fetching
from ojs_server.ops.workers.promotion import promote
from ojs_server.ops.workflows.advance import advance
from ojs_server.store.records import Claimed


class FetchedJob(msgspec.Struct, frozen=True):
    """A job handed to a worker; `again` if the same FETCH got it before."""

    claimed: Claimed
    lease: Lease
    left: Left = NOTHING_LEFT
    again: bool = False
    number: int | None = None


class FetchedJobs(tuple[FetchedJob, ...]):
    """The jobs of a FETCH; `withheld` is the reason why its worker gets none at all."""

    withheld: Withheld | None = None

    @classmethod
    def none(cls, withheld: Withheld) -> "FetchedJobs":
        """Return no jobs, and the reason."""
        nothing = cls()
        nothing.withheld = withheld
        return nothing


class Claim(Operation[FetchedJobs], frozen=True):
    """One FETCH. `fetch_id` identifies it, so that a repetition gets the same jobs.

    Without `queues` it takes from all queues; such a FETCH names job types.
    """

    stage = Stage.CLAIM
    light = True
    tracks_workers = True

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str | None = None
    job_types: tuple[str, ...] | None = None
    lease_ms: int | None = None
    fetch_id: str | None = None
    late_ack: LateAck | None = None
    tenant: str | None = None
    # If true, claim the oldest job of the types the worker is linked to; `queues` and `job_types`
    # are then empty.
    linked: bool = False
    # For workers that cannot name their claims: a job claimed longer ago than this and not begun is
    # handed out again; None: never.
    resume_after_ms: int | None = None
    serving: ServingOrder | None = None
    # If true, refuse an unknown worker; otherwise the FETCH makes it known.
    known: bool = False
    # The runtime tags that the FETCH names; None without any.
    tags: tuple[str, ...] | None = None
    # If true, hand out the jobs with their numbers.
    numbered: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        return (("fetch", self.worker_id, self.fetch_id),) if self.fetch_id else ()

    @property
    def job_count(self) -> int:
        return self.count

    def lock(self, locks: Locks) -> None:
        if self.worker_id:
            locks.workers.add(self.worker_id)
            if self.resume_after_ms is not None:
                locks.leaving.add(self.worker_id)
        locks.queues.update(self.queues)
        locks.all_tenants = locks.all_pools = True

    def may_meet(self, limits: Collection[str]) -> bool:
        if self.tenant is not None and OF_TENANT + self.tenant in limits:
            return True
        named = ((OF_QUEUE,) if self.queues else ()) + ((OF_TENANT,) if self.tenant else ())
        return any(name.startswith("#") and not name.startswith(named) for name in limits)

    def can_preload(self) -> bool:
        # A claim skips locked jobs, unless it looks for those that its worker holds.
        return self.resume_after_ms is None


@handles(Stage.CLAIM, at_once=True)
def run(work: Work, ops: Sequence[Claim]) -> list[FetchedJobs | OjsError]:
    """Answer many fetches; those with equal filters share one claim."""
    # Claims lock limits, which come after workflows in the order of locks.
    if work.ended_members:
        advance(work)
    # Workers first: their locks keep two nodes from answering the same fetch_id at once.
    fetching = load_fetching(
        work,
        {op.worker_id for op in ops if op.worker_id},
        {op.worker_id for op in ops if op.worker_id and not op.known},
    )
    answers: dict[int, FetchedJobs] = {**_unbegun(work, ops), **_repeated(work, ops)}
    everywhere = tuple(work.tx.queue_names()) if any(map(_is_everywhere, ops)) else ()
    reasons = [fetching.reason(op.worker_id, op.known) for op in ops]
    served = [index for index in range(len(ops)) if index not in answers and reasons[index] is None]
    promote(work, [name for index in served for name in _queues_of(work, ops[index], everywhere)])
    shared_claims: dict[ClaimCriteria, list[int]] = {}
    lanes: dict[int, list[ClaimCriteria]] = {}
    for index in served if work.tx.maintenance is None else ():
        op = ops[index]
        ability = fetching.ability(op.worker_id, op.tags)
        if op.linked and op.worker_id is not None:
            found = work.tx.oldest_lanes(op.worker_id, op.tenant)
            lanes[index] = [
                ClaimCriteria((queue,), (kind,), op.tenant, ability) for queue, kind in found
            ]
        else:
            criteria = criteria_of(
                work.tx.sharing,
                ClaimCriteria(
                    op.queues or everywhere, op.job_types, op.tenant, ability, op.serving
                ),
                fetching.workers.get(op.worker_id or ""),
            )
            shared_claims.setdefault(criteria, []).append(index)
    limited = LimitedClaims(work, [*shared_claims, *chain.from_iterable(lanes.values())])
    handed: list[FetchedJob] = []
    for index, claims in lanes.items():
        answers[index] = _oldest(work, limited, ops[index], claims)
        handed += answers[index]
    for criteria, indexes in shared_claims.items():
        narrowed, limit = _narrowed(work, criteria, sum(ops[index].count for index in indexes))
        claimed = deque(_taken(work, limited, narrowed, limit) if limit else ())
        pool = None if criteria.serving is None else criteria.serving.pool
        for index in indexes:
            share = [claimed.popleft() for _ in range(min(ops[index].count, len(claimed)))]
            answers[index] = FetchedJobs([_hand_over(work, one, ops[index], pool) for one in share])
            handed += answers[index]
    if handed:
        _note(work, [one.lease for one in handed])
    given = [answers.get(index) or FetchedJobs() for index in range(len(ops))]
    return [
        _answered(jobs, reason)
        for jobs, reason in zip(_numbered(work, ops, _with_left(work, given)), reasons, strict=True)
    ]


def _answered(jobs: FetchedJobs, reason: OjsError | Withheld | None) -> FetchedJobs | OjsError:
    """Return the outcome of a FETCH that gets no new jobs: its earlier jobs, or the reason."""
    if reason is None or (jobs and isinstance(reason, Withheld)):
        return jobs
    return FetchedJobs.none(reason) if isinstance(reason, Withheld) else reason


def _queues_of(work: Work, op: Claim, everywhere: Sequence[str]) -> Iterable[str]:
    if op.linked and op.worker_id is not None:
        return sorted({queue_of(split_name(room)[1]) for room, _ in work.tx.linked([op.worker_id])})
    return op.queues or everywhere


def _is_everywhere(op: Claim) -> bool:
    return not (op.queues or op.linked)


def _oldest(
    work: Work, limited: LimitedClaims, op: Claim, lanes: Sequence[ClaimCriteria]
) -> FetchedJobs:
    """Claim the oldest job that the worker is linked to and no limit holds back."""
    for criteria in lanes:
        if claimed := _taken(work, limited, criteria, 1):
            return FetchedJobs(_hand_over(work, one, op) for one in claimed)
    return FetchedJobs()


def _narrowed(work: Work, criteria: ClaimCriteria, limit: int) -> tuple[ClaimCriteria, int]:
    """Return the claim with the next of its job types alone where it names many, and the number of
    jobs that it may then take in the order of the queues."""
    if len(criteria.job_types or ()) <= FEW:
        return criteria, limit
    most = most_types(limit)
    found = work.tx.next_types(criteria.queues, criteria.job_types or (), most)
    job_types = choose_types(found, most, in_turn=criteria.serving is not None)
    most_jobs = limit if len(job_types) < most else min(limit, most)
    return msgspec.structs.replace(criteria, job_types=job_types), most_jobs if job_types else 0


def _taken(
    work: Work, limited: LimitedClaims, criteria: ClaimCriteria, limit: int
) -> Sequence[Claimed]:
    claimed = limited.take(criteria, limit)
    work.handed_out([one.job for one in claimed])
    return claimed


def _hand_over(work: Work, claimed: Claimed, op: Claim, pool: str | None = None) -> FetchedJob:
    job = claimed.job
    config = work.tx.configs.get(job.queue, NO_CONFIG)
    duration, deadline_at, stall_ms = deadlines.delivery(
        job,
        op.lease_ms or job.lease_ms or config.lease_ms or work.rules.profile.lease_ms,
        job.run_ms or config.run_ms or work.rules.run_ms,
        work.now,
        work.rules.profile.stuck_ms,
    )
    lease = Lease(
        job_id=job.id,
        queue=job.queue,
        job_type=job.type,
        worker_id=op.worker_id,
        attempt=job.attempt,
        duration_ms=duration,
        expires_at=work.now + duration,
        deadline_at=deadline_at,
        fetch_id=op.fetch_id,
        stall_ms=stall_ms,
        trace_id=job.trace_id,
        late_ack=(op.late_ack or work.rules.profile.late_ack) == "accept_unfinished",
    )
    work.note(events.started(job, op.worker_id, pool))
    return FetchedJob(claimed, lease)


def _note(work: Work, leases: Sequence[Lease]) -> None:
    """Store the leases of claimed jobs, and schedule the look at their expiry."""
    work.tx.insert_leases(leases)
    work.expect(min([lease.expires_at for lease in leases]))
    deadlines_at = [lease.deadline_at for lease in leases if lease.deadline_at is not None]
    work.expect(min(deadlines_at, default=None))


def _with_left(work: Work, answers: list[FetchedJobs]) -> list[FetchedJobs]:
    """Add the checkpoints and progress of earlier attempts."""
    marked = [one.claimed.job for answer in answers for one in answer if one.claimed.job.attached]
    if not marked:
        return answers
    left = left_for(work.tx, marked)
    return [
        FetchedJobs(
            msgspec.structs.replace(one, left=left.get(one.claimed.job.id, NOTHING_LEFT))
            for one in answer
        )
        for answer in answers
    ]


def _numbered(
    work: Work, ops: Sequence[Claim], answers: Sequence[FetchedJobs]
) -> Sequence[FetchedJobs]:
    """Return the outcomes with numeric ids of jobs, where requested."""
    indexes = [index for index, op in enumerate(ops) if op.numbered and answers[index]]
    if not indexes:
        return answers
    jobs = {one.claimed.job.id: one.claimed.job for index in indexes for one in answers[index]}
    numbers = numbers_of(work, list(jobs.values()))
    numbered = list(answers)
    for index in indexes:
        numbered[index] = FetchedJobs(
            msgspec.structs.replace(one, number=numbers[one.claimed.job.id])
            for one in answers[index]
        )
    return numbered


def _repeated(work: Work, ops: Sequence[Claim]) -> dict[int, FetchedJobs]:
    """Return the fetches that repeat a `fetch_id`, with the jobs that they got and still hold."""
    fetch_ids = {op.fetch_id for op in ops if op.fetch_id}
    leases = work.tx.load_fetches(sorted(fetch_ids)) if fetch_ids else []
    if not leases:
        return {}
    stored = work.tx.load_whole([lease.job_id for lease in leases])
    answers: dict[int, FetchedJobs] = {}
    for index, op in enumerate(ops):
        mine = [
            _again(job, lease)
            for lease in leases
            if lease.fetch_id == op.fetch_id and lease.worker_id == op.worker_id
            if (job := stored.get(lease.job_id))
        ]
        if op.fetch_id and mine:
            answers[index] = FetchedJobs(sorted(mine, key=lambda one: _rank(op, one.claimed.job)))
    return answers


def _unbegun(work: Work, ops: Sequence[Claim]) -> dict[int, FetchedJobs]:
    """Return the claims whose worker got a job some time ago and never began it: its answer was
    lost."""
    resuming = {
        op.worker_id: (index, op.resume_after_ms)
        for index, op in enumerate(ops)
        if op.worker_id is not None and op.resume_after_ms is not None
    }
    if not resuming:
        return {}
    found: dict[int, tuple[Job, Lease]] = {}
    for job, lease in work.tx.load_held(sorted(resuming)):
        index, age_ms = resuming[lease.worker_id or ""]
        began = lease.running_at is not None or (job.started_at or 0) > work.now - age_ms
        if not began and (index not in found or job.seq < found[index][0].seq):
            found[index] = (job, lease)
    stored = work.tx.load_whole([job.id for job, _ in found.values()]) if found else {}
    return {
        index: FetchedJobs([_again(stored[job.id], lease)]) for index, (job, lease) in found.items()
    }


def _again(stored: StoredJob, lease: Lease) -> FetchedJob:
    claimed = Claimed(stored.job, stored.args, stored.meta, stored.parent_results)
    return FetchedJob(claimed, lease, again=True)


def _rank(op: Claim, job: Job) -> tuple[int, int, int]:
    """Return the sort key of a job among those of a repeated FETCH: queue, priority, position."""
    lane = op.queues.index(job.queue) if job.queue in op.queues else len(op.queues)
    return (lane, -job.priority, job.seq)
