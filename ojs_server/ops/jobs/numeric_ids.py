"""Numeric ids of jobs, for clients that cannot use the text ids."""

from collections.abc import Mapping, Sequence

from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.attachments import NUMBER
from ojs_server.domain.jobs.job import Job
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.operation import OnJob, Stage, handles
from ojs_server.ops.unit_of_work import Work


class Number(OnJob[int], frozen=True):
    """Give a job a number; returns the existing one if it has one."""

    stage = Stage.NUMBER


@handles(Stage.NUMBER, at_once=True)
def run(work: Work, ops: Sequence[Number]) -> list[int | OjsError]:
    """Handle all of a batch with one read and one write."""
    found = work.tx.load_jobs(sorted({op.job_id for op in ops}))
    numbers = numbers_of(work, [job for job, _ in found.values()])
    return [numbers[op.job_id] if op.job_id in numbers else missing(op.job_id) for op in ops]


def numbers_of(work: Work, jobs: Sequence[Job]) -> Mapping[str, int]:
    """Return the numeric ids of locked jobs; new ones are positions, so ascending and unique."""
    known = [job.id for job in jobs if job.attached & NUMBER]
    numbers = work.tx.load_numbers(known) if known else {}
    new = {job.id: work.tx.position() for job in jobs if not job.attached & NUMBER}
    if new:
        work.tx.insert_numbers(new)
        work.tx.mark_attached(
            [(job.id, job.attached, job.attached | NUMBER) for job in jobs if job.id in new]
        )
    return {**numbers, **new}
