"""Cancel, retry or delete many jobs; each step is one transaction, with an outcome for each job."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Conflict, Duplicate, OjsError
from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import Change, Job, Lease
from ojs_server.domain.workflows.lifecycle import hands_on
from ojs_server.domain.workflows.record import plan_of, progress_in
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import Locks, Operation, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import Receipt
from ojs_wire import codec

Action = Literal["cancel", "retry", "delete"]
ReceiptKey = tuple[str, str, str]

# Jobs changed per transaction, so that other operations get their turn in between.
STEP: Final = 500


class Item(msgspec.Struct, frozen=True):
    """The outcome for one job; without an error it succeeded."""

    job_id: str
    error: OjsError | None = None


class BulkOutcome(msgspec.Struct, frozen=True):
    """The outcomes for all jobs, in the order of the request."""

    items: tuple[Item, ...]
    has_more: bool = False

    @property
    def failed(self) -> int:
        """Return the number of jobs that failed."""
        return sum(item.error is not None for item in self.items)


class Bulk(Operation[BulkOutcome], frozen=True):
    """One step. `job_filter` is checked again, as a job may have changed since it was found.

    With `atomic` nothing is done unless everything can be, with `dry_run` nothing at all. `emit`
    emits the event of the call, with the totals of earlier steps; `has_more` says that it leaves
    some jobs for another call.
    """

    stage = Stage.BULK

    action: Action
    ids: tuple[str, ...]
    job_filter: JobFilter | None = None
    atomic: bool = False
    dry_run: bool = False
    receipt: ReceiptKey | None = None
    body_hash: bytes = b""
    emit: bool = True
    done_before: int = 0
    failed_before: int = 0
    has_more: bool = False

    @property
    def is_action(self) -> bool:
        return not self.dry_run

    @property
    def keys(self) -> tuple[object, ...]:
        return (*self.ids, self.receipt) if self.receipt else self.ids

    @property
    def job_count(self) -> int:
        return len(self.ids)

    def lock(self, locks: Locks) -> None:
        locks.jobs.update(self.ids)


@handles(Stage.BULK)
def run(work: Work, ops: Sequence[Bulk]) -> list[BulkOutcome | OjsError]:
    """Decide on all jobs with one read, and write the changes together."""
    # Jobs before keys, the order of locks if an enqueue is in the same batch.
    stored = work.tx.load_jobs(sorted({job_id for op in ops for job_id in op.ids}))
    return [_run(work, op, stored) for op in ops]


def _run(
    work: Work, op: Bulk, stored: Mapping[str, tuple[Job, Lease | None]]
) -> BulkOutcome | OjsError:
    if op.receipt and (known := work.tx.insert_receipts({op.receipt: _receipt(op, ())})):
        return _repeated(op, known[op.receipt])
    decided: dict[str, Change | OjsError] = {}
    jobs = {job_id: stored[job_id][0] for job_id in op.ids if job_id in stored}
    if op.job_filter is not None and op.job_filter.tenant is not None:
        # Jobs of other tenants are reported as missing.
        jobs = {job_id: job for job_id, job in jobs.items() if job.tenant == op.job_filter.tenant}
    needed = _needed(work, jobs.values()) if op.action == "delete" else frozenset[str]()
    for job_id in op.ids:
        job = jobs.get(job_id)
        if job is None:
            decided[job_id] = missing(job_id)
        elif job_id not in decided:
            decided[job_id] = _decide(work, op, job, stored[job_id][1], needed)
    items = tuple(Item(job_id, _error(decided[job_id])) for job_id in op.ids)
    done = BulkOutcome(items, op.has_more)
    if not op.dry_run and not (op.atomic and done.failed):
        _write(
            work, op, [decision for decision in decided.values() if isinstance(decision, Change)]
        )
        if op.emit:
            failed = op.failed_before + done.failed
            succeeded = op.done_before + len(items) - done.failed
            total = failed + succeeded
            work.note(events.bulk(op.action, total=total, succeeded=succeeded, failed=failed))
    if op.receipt:
        work.tx.delete_receipts([op.receipt])
        work.tx.insert_receipts({op.receipt: _receipt(op, items)})
    return done


def _needed(work: Work, jobs: Iterable[Job]) -> frozenset[str]:
    """Return the workflows of these jobs in which results are still needed."""
    members = sorted({job.workflow_id for job in jobs if job.workflow_id is not None})
    known = work.tx.look_at_workflows(members) if members else {}
    return frozenset(
        workflow.id
        for workflow in known.values()
        if hands_on(plan_of(workflow), progress_in(workflow))
    )


def _decide(
    work: Work, op: Bulk, job: Job, lease: Lease | None, needed: frozenset[str]
) -> Change | OjsError:
    try:
        if op.job_filter is not None and not (
            op.job_filter.matches(job) and _is_held(lease, op.job_filter.worker_id)
        ):
            raise Conflict(
                f"job {job.id} does not match this call; it is {job.state}",
                details={"job_id": job.id, "current_state": job.state},
            )
        match op.action:
            case "cancel":
                return lifecycle.cancel(job, work.now, work.rules.keep, lease)
            case "retry":
                return lifecycle.rerun(job, work.now, work.places(job))
            case "delete":
                lifecycle.require(job, "delete")
                _require_unneeded(job, needed)
                return Change(job, job, (events.removed(job),))
    except OjsError as error:
        return error


def _is_held(lease: Lease | None, worker_id: str | None) -> bool:
    """Return True if a worker holds a job, or if no worker is asked for."""
    return worker_id is None or (lease is not None and lease.worker_id == worker_id)


def _require_unneeded(job: Job, needed: frozenset[str]) -> None:
    if job.workflow_id in needed:
        raise Conflict(
            f"a later step of workflow {job.workflow_id} may still need the result of job {job.id}",
            details={
                "job_id": job.id,
                "current_state": job.state,
                "workflow_id": job.workflow_id,
            },
            hint="delete it when the workflow has ended, or cancel the workflow first",
        )


def _write(work: Work, op: Bulk, changes: Sequence[Change]) -> None:
    if op.action != "delete":
        work.apply(changes)
        return
    work.remove([change.before for change in changes])
    for change in changes:
        for event in change.events:
            work.note(event)


def _error(outcome: Change | OjsError) -> OjsError | None:
    return None if isinstance(outcome, Change) else outcome


def _receipt(op: Bulk, items: Sequence[Item]) -> Receipt:
    """Return the record by which a repeated call gets the same answer."""
    remembered = tuple(_remembered(item) for item in items)
    return Receipt(op.body_hash, (*remembered, _MORE) if op.has_more else remembered)


class _Memory(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    id: str
    message: str | None = None
    missing: bool = False
    details: dict[str, str] | None = None


# The last item of a receipt if the call left some jobs for another.
_MORE: Final = "+"
_memory = msgspec.json.Decoder(_Memory)


def _remembered(item: Item) -> str:
    error = item.error
    memory = (
        _Memory(item.job_id)
        if error is None
        else _Memory(
            item.job_id,
            error.message,
            not isinstance(error, Conflict),
            {name: str(value) for name, value in (error.details or {}).items()},
        )
    )
    return codec.encode(memory).decode()


def _repeated(op: Bulk, receipt: Receipt) -> BulkOutcome | OjsError:
    if receipt.body_hash != op.body_hash:
        return Duplicate("this Idempotency-Key was used for a different request")
    texts = [text for text in receipt.job_ids if text != _MORE]
    return BulkOutcome(tuple(map(_recalled, texts)), len(texts) < len(receipt.job_ids))


def _recalled(text: str) -> Item:
    memory = _memory.decode(text)
    if memory.message is None:
        return Item(memory.id)
    if memory.missing:
        return Item(memory.id, missing(memory.id))
    return Item(memory.id, Conflict(memory.message, details=memory.details))
