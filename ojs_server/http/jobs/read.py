"""A job as it is now, and its failed attempts."""

from typing import Any, Final

from ojs_server.domain.jobs.job import Lease, StoredJob
from ojs_server.domain.jobs.lifecycle import policy_of
from ojs_server.domain.jobs.progress import shown
from ojs_server.http import dialects
from ojs_server.http.access.roles import READ
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import job_id_of
from ojs_server.http.jobs.progress import Found, with_progress
from ojs_server.http.jobs.views import job_answer, progress_members
from ojs_server.http.route import Route
from ojs_server.ops.jobs.settle import missing
from ojs_server.ops.jobs.staged import missing_staged
from ojs_server.store.base import Reader
from ojs_server.store.records import StagedOutcome
from ojs_wire.codec import decode


async def read(call: Call) -> Answer:
    """The whole job as it is now, and how far it has come."""
    job_id = await job_id_of(call)
    found = await call.server.engine.read(lambda reader: _look(reader, job_id))
    if found is None:
        raise missing(job_id)
    if isinstance(found, StagedOutcome):
        raise missing_staged(found)
    stored, lease, known = found
    members = progress_members(shown(stored.job, known))
    return Answer(job_answer(stored, lease, members))


def _look(reader: Reader, job_id: str) -> Found | StagedOutcome | None:
    return with_progress(reader, job_id) or reader.staged_outcome(job_id)


async def retries(call: Call) -> Answer:
    """The attempts that failed so far, and how many there may be."""
    stored, _ = await load_job(call)
    job = stored.job
    failures: list[dict[str, Any]] = decode(job.errors or b"[]")
    counts = {"job_id": job.id, "attempt": job.attempt, "max_attempts": job.max_attempts}
    return Answer(dialects.failed_attempts(failures, policy_of(job).as_wire()) | counts)


async def load_job(call: AnyCall, given: str | None = None) -> tuple[StoredJob, Lease | None]:
    """Return the job that a call is about, and its holder."""
    job_id = await job_id_of(call, given)
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None:
        raise missing(job_id)
    return found


ROUTES: Final = (
    Route("GET", "/jobs/{id}", read, READ, tenanted=True),
    Route("GET", "/jobs/{id}/retries", retries, READ, tenanted=True),
)
