"""Progress of a job, as its worker reports it.

Within one attempt the value never falls. A new attempt starts without any; what the last one
reported stays until then, and the handler's `checkpoint` stays for good.
"""

from typing import Final

import msgspec

from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.attachments import Progress
from ojs_server.domain.jobs.job import Job, Lease, State

MAX_DATA: Final = 16 * 1024
MAX_CHECKPOINT: Final = 1024 * 1024
# Least time between two progress events of a job, as reports may be frequent.
EVENT_EVERY_MS: Final = 1000


class ProgressReport(msgspec.Struct, frozen=True):
    """A progress report; members left out keep their values. All but `value` is JSON."""

    value: float | None = None
    message: bytes | None = None
    data: bytes | None = None
    checkpoint: bytes | None = None


class Shown(msgspec.Struct, frozen=True):
    """Progress as a reader sees it."""

    value: float | None = None
    message: bytes | None = None
    data: bytes | None = None
    updated_at: int | None = None


def advance(
    job: Job,
    lease: Lease | None,
    before: Progress | None,
    report: ProgressReport,
    *,
    worker_id: str | None,
    attempt: int | None,
    now: int,
) -> Progress | None:
    """Return the progress after a report; None if the report comes too late to count."""
    if job.state != State.ACTIVE:
        return None
    lifecycle.require_holder(job, lease, worker_id, attempt)
    known = before if before is not None and before.attempt == job.attempt else None
    value = None if report.value is None else min(1.0, max(0.0, report.value))
    if known is not None and known.value is not None:
        value = known.value if value is None else max(value, known.value)
    announced = known is not None and now - known.told_at < EVENT_EVERY_MS and value != 1.0
    return Progress(
        job_id=job.id,
        attempt=job.attempt,
        value=value,
        message=report.message or (known.message if known else None),
        data=report.data or (known.data if known else None),
        checkpoint=report.checkpoint or (before.checkpoint if before else None),
        updated_at=now,
        told_at=known.told_at if announced and known is not None else now,
    )


def restarted(before: Progress) -> Progress:
    """Return the progress of a job whose attempts are counted anew: none has reported yet."""
    return msgspec.structs.replace(before, attempt=0, value=None, message=None, data=None)


def shown(job: Job, known: Progress | None) -> Shown:
    """Return the progress to show: none of an earlier attempt; 1.0 if a job that reported
    completed."""
    if known is None:
        return Shown()
    if job.state == State.COMPLETED:
        mine = known if known.attempt == job.attempt else restarted(known)
        return Shown(1.0, mine.message, mine.data, job.finished_at)
    if known.attempt != job.attempt or known.attempt == 0:
        return Shown()
    return Shown(known.value, known.message, known.data, known.updated_at)
