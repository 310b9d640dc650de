"""Save and delete the checkpoints of jobs."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import checkpoint
from ojs_server.domain.jobs.attachments import CHECKPOINT, Checkpoint
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work


class Cleared(msgspec.Struct, frozen=True):
    """The job whose checkpoint was deleted."""

    job_id: str


class Save(OnJob[Checkpoint], frozen=True):
    """Store a checkpoint, JSON as it was sent, in place of the last one."""

    stage = Stage.CHECKPOINT
    tracks_workers = True

    state: bytes
    sequence: int | None = None
    worker_id: str | None = None
    attempt: int | None = None
    step_index: int | None = None
    metadata: bytes | None = None


class Clear(OnJob[Cleared], frozen=True):
    """Delete the checkpoint, if there is one."""

    stage = Stage.CHECKPOINT


@handles(Stage.CHECKPOINT, at_once=True)
def run(work: Work, ops: Sequence[Save | Clear]) -> list[Checkpoint | Cleared | OjsError]:
    """Save and delete the checkpoints of many jobs."""
    jobs = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    known = work.tx.load_checkpoints(
        [job_id for job_id, (job, _) in jobs.items() if job.attached & CHECKPOINT]
    )
    saved: list[Checkpoint] = []
    cleared: list[str] = []
    marks: list[tuple[str, int, int]] = []
    answers: list[Checkpoint | Cleared | OjsError] = []
    for op in ops:
        if op.job_id not in jobs:
            answers.append(missing(op.job_id))
            continue
        job, lease = jobs[op.job_id]
        if isinstance(op, Clear):
            answers.append(Cleared(job.id))
            if job.attached & CHECKPOINT:
                cleared.append(job.id)
                marks.append((job.id, job.attached, job.attached & ~CHECKPOINT))
            continue
        try:
            new = checkpoint.save(
                job,
                lease,
                known.get(job.id),
                op.state,
                sequence=op.sequence,
                worker_id=op.worker_id,
                attempt=op.attempt,
                now=work.now,
                step_index=op.step_index,
                metadata=op.metadata,
            )
        except OjsError as error:
            answers.append(error)
            continue
        answers.append(new)
        saved.append(new)
        work.note(events.checkpointed(job, lease, new))
        if not job.attached & CHECKPOINT:
            marks.append((job.id, job.attached, job.attached | CHECKPOINT))
    work.tx.save_checkpoints(saved)
    work.tx.drop_checkpoints(cleared)
    work.tx.mark_attached(marks)
    return answers
