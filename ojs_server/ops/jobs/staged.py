"""Store the jobs that programs have staged in transactions of their own.

staged ──▶ taken ──▶ stored, as if it had just been enqueued
                └──▶ refused, or an earlier job stands for it: its outcome is kept
"""

from collections.abc import Sequence

from ojs_server.domain import events
from ojs_server.domain.errors import NotFound, OjsError
from ojs_server.ops.jobs import enqueue
from ojs_server.ops.jobs.enqueue import Enqueue, Enqueued
from ojs_server.ops.operation import Operation, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import StagedOutcome
from ojs_wire.codec import decode, encode


class EnqueueStaged(Enqueue, frozen=True):
    """Store one staged job; its draft has the id by which it was staged."""

    stage = Stage.STAGED

    staged_id: str = ""


class RefuseStaged(Operation[None], frozen=True):
    """Refuse a staged job that is no job."""

    stage = Stage.STAGED

    staged_id: str
    error: OjsError

    @property
    def keys(self) -> tuple[object, ...]:
        return (self.staged_id,)


Verdict = Enqueued | OjsError | None


@handles(Stage.STAGED, at_once=True)
def run(work: Work, ops: Sequence[EnqueueStaged | RefuseStaged]) -> list[Verdict]:
    """Take jobs, store them, and keep the outcome of those that are not stored as they are."""
    taken = work.tx.take_staged([op.staged_id for op in ops])
    mine = [op for op in ops if op.staged_id in taken]
    stored = [op for op in mine if isinstance(op, EnqueueStaged)]
    verdicts: dict[str, Verdict] = {
        op.staged_id: op.error for op in mine if isinstance(op, RefuseStaged)
    }
    if stored:
        for op, verdict in zip(stored, enqueue.run(work, stored), strict=True):
            verdicts[op.staged_id] = verdict
    work.tx.insert_staged_outcomes(
        [kept for op in mine if (kept := _outcome(work, op, verdicts[op.staged_id])) is not None]
    )
    return [_answer(op, verdicts) for op in ops]


def _outcome(
    work: Work, op: EnqueueStaged | RefuseStaged, verdict: Verdict
) -> StagedOutcome | None:
    """Return what a program is to be told, unless the job is there; a refusal is an event, too."""
    if isinstance(verdict, OjsError):
        draft = op.drafts[0] if isinstance(op, EnqueueStaged) else None
        queue, job_type = (None, None) if draft is None else (draft.queue, draft.type)
        work.note(events.refused(op.staged_id, queue, job_type, verdict))
        return StagedOutcome(
            op.staged_id,
            work.now,
            code=verdict.answer_code.name,
            message=verdict.message,
            details=None if verdict.details is None else encode(verdict.details),
        )
    if verdict is not None and verdict.jobs[0].job.id != op.staged_id:
        return StagedOutcome(op.staged_id, work.now, job_id=verdict.jobs[0].job.id)
    return None


def missing_staged(outcome: StagedOutcome) -> NotFound:
    """Return the error for a job that was staged, and not stored."""
    details: dict[str, object] = {"resource_type": "job", "resource_id": outcome.id}
    if outcome.code is None:
        details["job_id"] = outcome.job_id
        why = f"job {outcome.job_id} was there before and stands for it"
    else:
        refused = {"code": outcome.code, "message": outcome.message}
        details["refused"] = refused | (
            {} if outcome.details is None else {"details": decode(outcome.details)}
        )
        why = f"it was refused after its transaction was committed: {outcome.message}"
    return NotFound(f"there is no job {outcome.id}: {why}", details=details)


def _answer(op: EnqueueStaged | RefuseStaged, verdicts: dict[str, Verdict]) -> Verdict:
    if op.staged_id not in verdicts:
        return NotFound("another server has stored this job")
    return None if isinstance(op, RefuseStaged) else verdicts[op.staged_id]
