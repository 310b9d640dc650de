"""FETCH: hand out available jobs, each to one worker."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import ClassVar, Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import deadlines
from ojs_server.domain.jobs.job import Job, Lease, StoredJob
from ojs_server.domain.limits.rate_limit import OF_QUEUE
from ojs_server.domain.profile import LateAck
from ojs_server.domain.queues.config import NO_CONFIG
from ojs_server.domain.tenants.tenant import OF_TENANT
from ojs_server.domain.workers.fetch_policy import Withheld
from ojs_server.domain.workers.next_types import FEW, choose_types, most_types
from ojs_server.ops.fairness.fair_claim import ClaimCriteria, ServingOrder, criteria_of
from ojs_server.ops.jobs.attachments import NOTHING_LEFT, Left, left_for
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


class FetchedJobs(tuple[FetchedJob, ...]):
    """The jobs of a FETCH; `withheld` is the reason why its worker gets none at all."""

    withheld: Withheld | None = None

    @classmethod
    def none(cls, withheld: Withheld) -> "FetchedJobs":
        """Return no jobs, and the reason."""
        nothing = cls()
        nothing.withheld = withheld
        return nothing


class ClaimPolicy(msgspec.Struct, frozen=True):
    """The differences of a FETCH of another system: in what it locks, which jobs it gets again,
    where it looks for new ones, and in what form it gets them.

    Equal policies of a batch are asked together.
    """

    # True if it chooses the queues, and types, by itself.
    chooses: ClassVar[bool] = False

    @property
    def locks_held(self) -> bool:
        """True if a FETCH locks the jobs that its worker holds."""
        return False

    def again(self, work: Work, ops: "Mapping[int, Claim]") -> dict[int, FetchedJobs]:
        """Return those of the FETCHes, by index, that get jobs again which they hold already."""
        return {}

    def queues(self, work: Work, op: "Claim") -> Iterable[str]:
        """Return the queues of a FETCH, if the policy chooses them."""
        raise NotImplementedError

    def lanes(self, work: Work, op: "Claim") -> Iterable[tuple[str, str]]:
        """Return the queues and types of a FETCH, if the policy chooses them: it gets one job, of
        the first of them that has one."""
        raise NotImplementedError

    def finished(self, work: Work, answers: Mapping[int, FetchedJobs]) -> Mapping[int, FetchedJobs]:
        """Return the jobs of FETCHes, by index, in the form in which their callers need them."""
        return answers


# The policy of FETCH itself.
_USUAL: Final = ClaimPolicy()


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
    policy: ClaimPolicy = _USUAL
    serving: ServingOrder | None = None
    # If true, refuse an unknown worker; otherwise the FETCH makes it known.
    known: bool = False
    # The runtime tags that the FETCH names; None without any.
    tags: tuple[str, ...] | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        return (("fetch", self.worker_id, self.fetch_id),) if self.fetch_id else ()

    @property
    def job_count(self) -> int:
        return self.count

    def lock(self, locks: Locks) -> None:
        if self.worker_id:
            locks.workers.add(self.worker_id)
            if self.policy.locks_held:
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
        return not self.policy.locks_held


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
    policies = _by_policy(ops)
    answers: dict[int, FetchedJobs] = {}
    for policy, indexes in policies.items():
        answers |= policy.again(work, {index: ops[index] for index in indexes})
    answers |= _repeated(work, ops)
    everywhere = tuple(work.tx.queue_names()) if any(map(_is_everywhere, ops)) else ()
    reasons = [fetching.reason(op.worker_id, op.known) for op in ops]
    served = [index for index in range(len(ops)) if index not in answers and reasons[index] is None]
    promote(work, [name for index in served for name in _queues_of(work, ops[index], everywhere)])
    shared_claims: dict[ClaimCriteria, list[int]] = {}
    lanes: dict[int, list[ClaimCriteria]] = {}
    for index in served if work.tx.maintenance is None else ():
        op = ops[index]
        ability = fetching.ability(op.worker_id, op.tags)
        if op.policy.chooses:
            lanes[index] = [
                ClaimCriteria((queue,), (kind,), op.tenant, ability)
                for queue, kind in op.policy.lanes(work, op)
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
        answers[index] = _first(work, limited, ops[index], claims)
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
    given = _with_left(work, [answers.get(index) or FetchedJobs() for index in range(len(ops))])
    for policy, indexes in policies.items():
        for index, jobs in policy.finished(
            work, {index: given[index] for index in indexes}
        ).items():
            given[index] = jobs
    return [_answered(jobs, reason) for jobs, reason in zip(given, reasons, strict=True)]


def _by_policy(ops: Sequence[Claim]) -> dict[ClaimPolicy, list[int]]:
    """Return the indexes of the FETCHes of other systems, by their policy."""
    found: dict[ClaimPolicy, list[int]] = {}
    for index, op in enumerate(ops):
        if op.policy is not _USUAL:
            found.setdefault(op.policy, []).append(index)
    return found


def _answered(jobs: FetchedJobs, reason: OjsError | Withheld | None) -> FetchedJobs | OjsError:
    """Return the outcome of a FETCH that gets no new jobs: its earlier jobs, or the reason."""
    if reason is None or (jobs and isinstance(reason, Withheld)):
        return jobs
    return FetchedJobs.none(reason) if isinstance(reason, Withheld) else reason


def _queues_of(work: Work, op: Claim, everywhere: Sequence[str]) -> Iterable[str]:
    if op.policy.chooses:
        return op.policy.queues(work, op)
    return op.queues or everywhere


def _is_everywhere(op: Claim) -> bool:
    return not (op.queues or op.policy.chooses)


def _first(
    work: Work, limited: LimitedClaims, op: Claim, lanes: Sequence[ClaimCriteria]
) -> FetchedJobs:
    """Claim one job, of the first lane that has one which no limit holds back."""
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
            held_again(job, lease)
            for lease in leases
            if lease.fetch_id == op.fetch_id and lease.worker_id == op.worker_id
            if (job := stored.get(lease.job_id))
        ]
        if op.fetch_id and mine:
            answers[index] = FetchedJobs(sorted(mine, key=lambda one: _rank(op, one.claimed.job)))
    return answers


def held_again(stored: StoredJob, lease: Lease) -> FetchedJob:
    """Return a job that its worker holds already, as it is handed out once more."""
    claimed = Claimed(stored.job, stored.args, stored.meta, stored.parent_results)
    return FetchedJob(claimed, lease, again=True)


def _rank(op: Claim, job: Job) -> tuple[int, int, int]:
    """Return the sort key of a job among those of a repeated FETCH: queue, priority, position."""
    lane = op.queues.index(job.queue) if job.queue in op.queues else len(op.queues)
    return (lane, -job.priority, job.seq)
