"""Checkpoints, progress and other records attached to jobs: load, reset and remove them.

They change only under the lock of their job's row.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ojs_server.domain import events
from ojs_server.domain.jobs import progress
from ojs_server.domain.jobs.attachments import CHECKPOINT, HOLDERS, PROGRESS, Checkpoint
from ojs_server.domain.jobs.job import Change, Event, Job
from ojs_server.store.base import Tx


class Left(msgspec.Struct, frozen=True):
    """The checkpoint and progress that earlier attempts left for the next one."""

    checkpoint: Checkpoint | None = None
    last_checkpoint: bytes | None = None


NOTHING_LEFT = Left()


def left_for(tx: Tx, marked: Sequence[Job]) -> dict[str, Left]:
    """Load the attached records that are handed out with jobs."""
    checkpoints = tx.load_checkpoints([job.id for job in marked if job.attached & CHECKPOINT])
    reports = tx.load_progress([job.id for job in marked if job.attached & PROGRESS])
    return {
        job.id: Left(
            checkpoints.get(job.id), report.checkpoint if (report := reports.get(job.id)) else None
        )
        for job in marked
    }


def start_over(tx: Tx, changes: Sequence[Change]) -> None:
    """Reset the progress and previous holders of jobs whose attempts are counted anew."""
    again = [
        change.before.id for change in changes if change.after.attempt == 0 < change.before.attempt
    ]
    if again:
        reports = tx.load_progress(again).values()
        tx.save_progress([progress.restarted(report) for report in reports])
        tx.drop_earlier(again)


def note_lost(tx: Tx, changes: Sequence[Change]) -> None:
    """Store the previous holders of lost jobs, who may still complete them."""
    tx.insert_earlier([change.lost for change in changes if change.lost is not None])
    marks = [
        (job.id, job.attached, job.attached | HOLDERS)
        for job in (change.before for change in changes)
        if not job.attached & HOLDERS
    ]
    if marks:
        tx.mark_attached(marks)


def stalled(tx: Tx, changes: Sequence[Change]) -> list[Event]:
    """Return the events of jobs that reported progress and then fell silent."""
    silent = {
        change.before.id: change.before
        for change in changes
        if change.before.attached & PROGRESS and any(e.type == "job.stalled" for e in change.events)
    }
    if not silent:
        return []
    reports = tx.load_progress(silent).values()
    return [events.progress_stalled(silent[report.job_id], report) for report in reports]


def remove(tx: Tx, jobs: Iterable[Job]) -> None:
    """Delete the records attached to jobs that are deleted."""
    marked = [job.id for job in jobs if job.attached]
    if marked:
        tx.drop_checkpoints(marked)
        tx.drop_progress(marked)
        tx.drop_earlier(marked)
        tx.drop_numbers(marked)
