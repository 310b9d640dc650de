"""Enqueue one job or many: all new jobs of a request are stored, or none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Duplicate, NotFound, OjsError
from ojs_server.domain.jobs.job import Change, Event, State, StoredJob
from ojs_server.domain.jobs.uniform_batch import UniformDrafts
from ojs_server.domain.jobs.uniform_jobs import UniformJobs, uniform_runs
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.queues.config import NO_CONFIG, configured, require_type
from ojs_server.ops.jobs.unique import Accepted, check_unique
from ojs_server.ops.limits.backpressure import BoundedQueues, Newcomers, Pressure
from ojs_server.ops.operation import Locks, Operation, Stage, handles
from ojs_server.ops.schemas.registry import Complaint, hold
from ojs_server.ops.tenants.quotas import Quotas
from ojs_server.ops.unit_of_work import Work, outcome_of
from ojs_server.store.records import Receipt

ReceiptKey = tuple[str, str, str]

# Least number of uniform jobs for which a separate statement pays off.
MANY: Final = 25


class Enqueued(msgspec.Struct, frozen=True):
    """The jobs of a request, and which of them had been stored before."""

    jobs: Sequence[StoredJob]
    earlier: tuple[bool, ...]
    pressure: Pressure | None = None
    # Jobs that violate a schema which only warns.
    complaints: tuple[Complaint, ...] = ()

    @property
    def created(self) -> bool:
        """True if any job is new."""
        return not all(self.earlier)


class Enqueue(Operation[Enqueued], frozen=True):
    """The jobs of one request. `receipt` is (principal, operation, idempotency key).

    A bulk call has an event of its own.
    """

    stage = Stage.ENQUEUE
    light = True

    drafts: Sequence[Draft]
    receipt: ReceiptKey | None = None
    body_hash: bytes = b""
    bulk_event: bool = False

    @property
    def keys(self) -> tuple[object, ...]:
        if isinstance(self.drafts, UniformDrafts):
            return (self.receipt,) if self.receipt else ()
        found: list[object] = [self.receipt] if self.receipt else []
        for draft in self.drafts:
            if draft.id:
                found.append(draft.id)
            if draft.unique:
                found.append(("unique", draft.unique.key))
        return tuple(found)

    @property
    def job_count(self) -> int:
        return len(self.drafts)

    def lock(self, locks: Locks) -> None:
        locks.drafts.append(self.drafts)

    def can_preload(self) -> bool:
        # New ids need no lock, but fingerprints are locked before workers.
        return not self.keys


# Jobs of an earlier request are represented by their ids, and read later.
_Verdict = Accepted | OjsError


@handles(Stage.ENQUEUE, at_once=True)
def run(work: Work, ops: Sequence[Enqueue]) -> list[Enqueued | OjsError]:
    """Store the jobs of many requests with one insert."""
    if _meets_nothing(work, ops):
        return _run_plain(work, ops)
    verdicts: dict[int, _Verdict] = {}
    ids = [draft.id for op in ops for draft in op.drafts if draft.id]
    known = work.tx.load_requests(ids) if ids else {}
    for index, op in enumerate(ops):
        if (verdict := _known_id(op, known)) is not None:
            verdicts[index] = verdict
    ops, refused = _configured(work, ops)
    complaints = _held(work, ops, refused)
    made = {
        index: tuple(work.build_job(draft) for draft in op.drafts)
        for index, op in enumerate(ops)
        if index not in verdicts
    }
    verdicts.update(_known_receipt(work, ops, made))
    new = [index for index in made if index not in verdicts]
    fresh = {index: (ops[index].drafts, made[index]) for index in new if index not in refused}
    # Only new requests: repeated ones were checked under the settings of their time.
    checked = check_unique(work, fresh) | {
        index: refused[index] for index in new if index in refused
    }
    pressures = _bounded(work, checked)
    _mend_receipts(work, ops, checked)
    verdicts.update(checked)
    accepted = {index: one for index, one in checked.items() if isinstance(one, Accepted)}
    stored = [stored for one in accepted.values() for stored in one.stored]
    taken = _store(work, stored, new=not ids)
    replaced: list[Change] = []
    for index, one in accepted.items():
        if lost := [stored.job.id for stored in one.stored if stored.job.id in taken]:
            verdicts[index] = _take_back(work, ops[index], one.stored, lost)
        else:
            replaced += one.replaced
            _note_bulk(work, ops[index])
    work.apply(replaced)
    answers = _answers(work, [verdicts[index] for index in range(len(ops))])
    for index in pressures.keys() | complaints.keys():
        if isinstance(answer := answers[index], Enqueued):
            answers[index] = msgspec.structs.replace(
                answer, pressure=pressures.get(index), complaints=complaints.get(index, ())
            )
    return answers


def _meets_nothing(work: Work, ops: Sequence[Enqueue]) -> bool:
    """True if the requests need no checks against stored jobs or configuration."""
    tx = work.tx
    if tx.configs or tx.routings or tx.schemas or tx.sharing.tenants:
        return False
    return not any(op.keys for op in ops)


def _run_plain(work: Work, ops: Sequence[Enqueue]) -> list[Enqueued | OjsError]:
    if len(ops) == 1 and len(ops[0].drafts) == 1:
        job = (work.build_job(ops[0].drafts[0]),)
        work.add_new(job, entered(job))
        _note_bulk(work, ops[0])
        return [Enqueued(job, (False,))]
    groups = list(map(work.uniform_jobs, uniform_runs([op.drafts for op in ops])))
    for jobs in _together(groups):
        work.add_new(jobs, entered(jobs))
    for op in ops:
        _note_bulk(work, op)
    shares = _shares(groups, [len(op.drafts) for op in ops])
    return [Enqueued(jobs, (False,) * len(jobs)) for jobs in shares]


def _together(groups: Sequence[UniformJobs]) -> Iterator[Sequence[StoredJob]]:
    """Return the groups as they are stored: large ones by themselves, small ones joined."""
    few: list[StoredJob] = []
    for jobs in groups:
        if len(jobs) < MANY and len(groups) > 1:
            few += jobs
            continue
        if few:
            yield few
            few = []
        yield jobs
    if few:
        yield few


def _shares(groups: Iterable[UniformJobs], counts: Iterable[int]) -> Iterator[Sequence[StoredJob]]:
    """Return the new jobs of each request: columns if they come from one group, else a list."""
    jobs: Sequence[StoredJob] = ()
    start, rest = 0, iter(groups)
    for count in counts:
        mixed: list[StoredJob] = []
        while count > len(jobs) - start:
            mixed += jobs[start:]
            count -= len(jobs) - start
            start, jobs = 0, next(rest)
        share = (jobs[start],) if count == 1 else jobs[start : start + count]
        start += count
        yield [*mixed, *share] if mixed else share


def _note_bulk(work: Work, op: Enqueue) -> None:
    if op.bulk_event:
        count = len(op.drafts)
        work.note(events.bulk("enqueue", total=count, succeeded=count, failed=0))


def _held(
    work: Work, ops: Sequence[Enqueue], refused: dict[int, OjsError]
) -> dict[int, tuple[Complaint, ...]]:
    """Validate arguments against schemas; note the requests that strict schemas refuse."""
    found: dict[int, tuple[Complaint, ...]] = {}
    for index, op in enumerate(ops) if work.tx.schemas else ():
        verdict = outcome_of(hold, work, op.drafts)
        if isinstance(verdict, OjsError):
            refused.setdefault(index, verdict)
        elif verdict:
            found[index] = verdict
    return found


def _configured(
    work: Work, ops: Sequence[Enqueue]
) -> tuple[Sequence[Enqueue], dict[int, OjsError]]:
    """Return the requests with the settings of routing and queues, and those that the queues
    refuse."""
    if work.tx.routings:
        ops = [msgspec.structs.replace(op, drafts=tuple(map(work.routed, op.drafts))) for op in ops]
    configs = work.tx.configs
    refused: dict[int, OjsError] = {}
    if not configs:
        return ops, refused
    mended: list[Enqueue] = []
    for index, op in enumerate(ops):
        if not any(draft.queue in configs for draft in op.drafts):
            mended.append(op)
            continue
        drafts = []
        for draft in op.drafts:
            config = configs.get(draft.queue, NO_CONFIG)
            try:
                require_type(config, draft.queue, draft.type)
            except OjsError as error:
                refused.setdefault(index, error)
            drafts.append(configured(draft, config))
        mended.append(msgspec.structs.replace(op, drafts=tuple(drafts)))
    return mended, refused


def _bounded(work: Work, checked: dict[int, Accepted | OjsError]) -> dict[int, Pressure]:
    """Refuse requests beyond bounds and quotas; return the fill levels of bounded queues."""
    if not work.tx.configs and not work.tx.sharing.tenants:
        return {}
    newcomers = {
        index: Newcomers(one.stored, one.replaced)
        for index, one in checked.items()
        if isinstance(one, Accepted)
    }
    queues = {stored.job.queue for new in newcomers.values() for stored in new.jobs}
    bounded = BoundedQueues(work, sorted(queues))
    quotas = Quotas(work, newcomers.values())
    pressures: dict[int, Pressure] = {}
    for index, new in newcomers.items():
        verdict = quotas.refusal(new) or bounded.take(new)
        if isinstance(verdict, OjsError):
            checked[index] = verdict
            continue
        quotas.add(new)
        if verdict is not None:
            pressures[index] = verdict
    bounded.close()
    quotas.close()
    return pressures


def _store(work: Work, jobs: list[StoredJob], *, new: bool) -> set[str]:
    """Store jobs; returns the ids that were taken, which those of `new` jobs are not."""
    if not jobs:
        return set()
    if new:
        work.add_new(jobs, entered(jobs))
        return set()
    return work.add(jobs, entered(jobs))


def entered(jobs: Sequence[StoredJob]) -> Sequence[Event]:
    """Return the events of new jobs."""
    if isinstance(jobs, UniformJobs) and jobs.template.state == State.AVAILABLE:
        return events.enqueued_uniform(jobs.template, jobs.ids)
    return [
        events.enqueued(stored.job, stored.unique_key)
        if stored.job.state == State.AVAILABLE
        else events.scheduled(stored.job)
        for stored in jobs
        if stored.job.state in (State.AVAILABLE, State.SCHEDULED)
    ]


def _known_id(op: Enqueue, known: Mapping[str, bytes | None]) -> _Verdict | None:
    """Return the verdict on a request with job ids of its own, some of which exist."""
    ids = [draft.id for draft in op.drafts if draft.id and draft.id in known]
    if not ids:
        return None
    equal = len(ids) == len(op.drafts) and all(
        known[draft.id] == draft.request_hash for draft in op.drafts if draft.id
    )
    if equal:
        return Accepted(tuple(ids))
    return Duplicate(
        f"a job with id {ids[0]} exists already, made by a different request",
        details={"existing_job_id": ids[0]},
    )


def _known_receipt(
    work: Work, ops: Sequence[Enqueue], made: Mapping[int, tuple[StoredJob, ...]]
) -> dict[int, _Verdict]:
    """Claim the idempotency keys; returns the requests whose key was used before."""
    keyed = {key: index for index in made if (key := ops[index].receipt)}
    if not keyed:
        return {}
    known = work.tx.insert_receipts(
        {
            key: Receipt(ops[index].body_hash, tuple(stored.job.id for stored in made[index]))
            for key, index in sorted(keyed.items())
        }
    )
    return {
        keyed[key]: Accepted(receipt.job_ids)
        if receipt.body_hash == ops[keyed[key]].body_hash
        else Duplicate(
            "this Idempotency-Key was used for a different request",
            details={"existing_job_ids": receipt.job_ids},
        )
        for key, receipt in known.items()
    }


def _mend_receipts(
    work: Work, ops: Sequence[Enqueue], checked: Mapping[int, Accepted | OjsError]
) -> None:
    """Release the keys of refused requests; a key whose request met an earlier job refers to that
    job."""
    mended: dict[ReceiptKey, Receipt | None] = {}
    for index, one in checked.items():
        op = ops[index]
        if op.receipt and isinstance(one, OjsError):
            mended[op.receipt] = None
        elif op.receipt and isinstance(one, Accepted) and len(one.stored) < len(op.drafts):
            mended[op.receipt] = Receipt(op.body_hash, one.ids)
    if mended:
        work.tx.delete_receipts(sorted(mended))
        work.tx.insert_receipts({key: receipt for key, receipt in mended.items() if receipt})


def _take_back(work: Work, op: Enqueue, jobs: Sequence[StoredJob], lost: list[str]) -> _Verdict:
    """Undo a request of which another node has stored an id meanwhile."""
    work.unstore([stored.job for stored in jobs if stored.job.id not in lost])
    if op.receipt:
        work.tx.delete_receipts([op.receipt])
    verdict = _known_id(op, work.tx.load_requests(lost))
    return verdict or Duplicate(
        f"a job with id {lost[0]} was removed while this was stored; repeat the request"
    )


def _answers(work: Work, verdicts: list[_Verdict]) -> list[Enqueued | OjsError]:
    ids = {
        one
        for verdict in verdicts
        if isinstance(verdict, Accepted)
        for one in verdict.answer
        if isinstance(one, str)
    }
    earlier = work.tx.load_whole(sorted(ids)) if ids else {}
    answers: list[Enqueued | OjsError] = []
    for one in verdicts:
        if not isinstance(one, Accepted):
            answers.append(one)
        elif all(job in earlier for job in one.answer if isinstance(job, str)):
            jobs = tuple(earlier[job] if isinstance(job, str) else job for job in one.answer)
            answers.append(Enqueued(jobs, tuple(isinstance(job, str) for job in one.answer)))
        else:
            answers.append(NotFound("the job that this request created has been removed"))
    return answers
