"""Progress of jobs: reported by their holders, and read by clients."""

from email.utils import formatdate
from typing import Any, Final

from msgspec import Raw

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.jobs.attachments import PROGRESS, Progress
from ojs_server.domain.jobs.job import Job, Lease, StoredJob
from ojs_server.domain.jobs.progress import MAX_CHECKPOINT, MAX_DATA, ProgressReport, Shown, shown
from ojs_server.http.access.roles import READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import holder_of, job_id_of
from ojs_server.http.route import Route
from ojs_server.ops.jobs.progress import Advance
from ojs_server.ops.jobs.settle import missing
from ojs_server.store.base import Reader
from ojs_wire.calls import ProgressRequest
from ojs_wire.codec import encode
from ojs_wire.values import timestamp

# A job, its lease, and its progress.
Found = tuple[StoredJob, Lease | None, Progress | None]


async def report(call: Call) -> Answer:
    """Store the progress of a job, reported by its holder; reports of others change nothing."""
    request = await call.read(ProgressRequest)
    done = await call.server.engine.run(
        Advance(
            await job_id_of(call, request.job_id),
            _report(request),
            worker_id=holder_of(call, request.worker_id),
            attempt=request.attempt,
        )
    )
    return Answer(described(done.job, done.shown))


async def read(call: Call) -> Answer:
    """Show the progress of a job; its values are null if none was reported."""
    job_id = await job_id_of(call)
    found = await call.server.engine.read(lambda reader: with_progress(reader, job_id))
    if found is None:
        raise missing(job_id)
    stored, _, known = found
    job = stored.job
    seen = shown(job, known)
    headers = {"Cache-Control": "no-cache"}
    if seen.value is not None:
        headers["X-OJS-Progress"] = f"{seen.value:g}"
    if seen.updated_at is not None:
        headers["Last-Modified"] = formatdate(seen.updated_at / 1000, usegmt=True)
    return Answer(described(job, seen), headers=headers)


def with_progress(reader: Reader, job_id: str) -> Found | None:
    """Return a job with its progress, which is read only if the job has reported any."""
    found = reader.job(job_id)
    if found is None:
        return None
    reported = found[0].job.attached & PROGRESS
    return (*found, reader.progress(job_id) if reported else None)


def _report(request: ProgressRequest) -> ProgressReport:
    value = request.progress
    if value is None and request.percentage is not None:
        value = request.percentage / 100
    if value is None and request.data is None:
        raise invalid("progress", "is missing: give `progress` from 0 to 1, `percentage` or `data`")
    return ProgressReport(
        value=value,
        message=_json("message", request.message, None),
        data=_json("data", request.data, MAX_DATA),
        checkpoint=_json("checkpoint", request.checkpoint, MAX_CHECKPOINT),
    )


def _json(field: str, value: Any, limit: int | None) -> bytes | None:
    if value is None:
        return None
    text = encode(value)
    if limit is not None and len(text) > limit:
        raise TooLarge(
            f"`{field}` has {len(text)} bytes; at most {limit} are allowed",
            details={"field": field, "size": len(text), "limit": limit},
        )
    return text


def described(job: Job, seen: Shown) -> dict[str, Any]:
    """Return the progress of a job as the body of an answer."""
    return {
        "job_id": job.id,
        "state": job.state,
        "progress": seen.value,
        "percentage": None if seen.value is None else round(seen.value * 100, 2),
        "data": None if seen.data is None else Raw(seen.data),
        "message": None if seen.message is None else Raw(seen.message),
        "updated_at": timestamp(seen.updated_at),
    }


ROUTES: Final = (
    Route("PUT", "/jobs/{id}/progress", report, WORK, tenanted=True, produces=True),
    Route("GET", "/jobs/{id}/progress", read, READ, tenanted=True),
)
