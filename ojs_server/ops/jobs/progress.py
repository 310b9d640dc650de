"""Progress reports of workers; each is also a sign of life."""

from collections.abc import Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs import progress
from ojs_server.domain.jobs.attachments import PROGRESS, Progress
from ojs_server.domain.jobs.deadlines import renewal
from ojs_server.domain.jobs.job import Job, Lease, State
from ojs_server.domain.jobs.progress import ProgressReport, Shown
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work


class Advanced(msgspec.Struct, frozen=True):
    """The job, and its progress after the report."""

    job: Job
    shown: Shown


class Advance(OnJob[Advanced], frozen=True):
    """A progress report of a job's holder."""

    stage = Stage.PROGRESS
    tracks_workers = True

    report: ProgressReport
    worker_id: str | None = None
    attempt: int | None = None


@handles(Stage.PROGRESS, at_once=True)
def run(work: Work, ops: Sequence[Advance]) -> list[Advanced | OjsError]:
    """Apply many reports; a report that is not from the job's holder changes nothing."""
    jobs = {
        job_id: job for job_id, (job, _) in work.tx.load_jobs({op.job_id for op in ops}).items()
    }
    # After the jobs, in the general order of locks.
    held = sorted(job.id for job in jobs.values() if job.state == State.ACTIVE)
    leases = work.tx.load_leases(held) if held else {}
    known = work.tx.load_progress([job.id for job in jobs.values() if job.attached & PROGRESS])
    saved: list[Progress] = []
    answers: list[Advanced | OjsError] = []
    for op in ops:
        job = jobs.get(op.job_id)
        if job is None:
            answers.append(missing(op.job_id))
            continue
        before, lease = known.get(job.id), leases.get(job.id)
        try:
            after = progress.advance(
                job,
                lease,
                before,
                op.report,
                worker_id=op.worker_id,
                attempt=op.attempt,
                now=work.now,
            )
        except OjsError as error:
            answers.append(error)
            continue
        if after is not None:
            saved.append(after)
            _note_progress(work, job, lease, after)
        answers.append(Advanced(job, progress.shown(job, after or before)))
    work.tx.save_progress(saved)
    work.tx.mark_attached(
        [
            (job.id, job.attached, job.attached | PROGRESS)
            for job in (jobs[report.job_id] for report in saved)
            if not job.attached & PROGRESS
        ]
    )
    _extend(work, [leases[report.job_id] for report in saved if report.job_id in leases])
    return answers


def _note_progress(work: Work, job: Job, lease: Lease | None, after: Progress) -> None:
    if after.told_at == work.now:
        for event in events.progressed(job, lease, after):
            work.note(event)


def _extend(work: Work, held: Sequence[Lease]) -> None:
    renewed = [renewed_lease for lease in held if (renewed_lease := renewal(lease, None, work.now))]
    work.tx.extend_leases(renewed)
    for lease in renewed:
        work.expect(lease.expires_at)
