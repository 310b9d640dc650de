"""Jobs in the admin form: the list, one job, a retry, another priority."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.domain.errors import ValidationError, invalid
from ojs_server.domain.fields import priority
from ojs_server.domain.jobs.job import Job
from ojs_server.domain.jobs.lifecycle import policy_of
from ojs_server.domain.jobs.retry import RetryPolicy
from ojs_server.domain.suggestions import nearest
from ojs_server.http.access.roles import LOOK, OPERATE
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import job_id_of
from ojs_server.http.jobs.lists import FILTERS, list_jobs
from ojs_server.http.jobs.read import load_job
from ojs_server.http.jobs.scheduled import list_scheduled
from ojs_server.http.jobs.transitions import changed
from ojs_server.http.jobs.views import enqueued_at, envelope, job_answer, times
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_server.ops.jobs.priority import Prioritize
from ojs_server.ops.jobs.settle import Rerun
from ojs_wire.calls import EmptyRequest
from ojs_wire.codec import encode

# Sort members with the orders that an index supports: by id, and so by creation, and by time.
_SORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "created_at": ("desc",),
    "scheduled_at": ("desc", "asc"),
}


async def listing(call: Call) -> Answer:
    """Jobs of any state, newest first, or scheduled ones by their time, with filters."""
    page, query = admin_page(call, FILTERS | {"sort", "order"})
    sort = _word(query, "sort", tuple(_SORTS))
    order = _word(query, "order", _SORTS[sort])
    if sort == "scheduled_at":
        return await list_scheduled(call, "items", page, query, latest_first=order == "desc")
    return await list_jobs(call, "items", page, query, call.tenant)


async def detail(call: Call) -> Answer:
    """Show one job in the admin form: its members at the top level, with its times, its errors and
    the retry policy that counts for it."""
    stored, lease = await load_job(call)
    members = b'"metadata":' + times(stored.job)
    members += b',"retry_policy":' + encode(_policy(stored.job).as_wire())
    if stored.job.errors is None:
        members += b',"errors":[]'
    return Answer(envelope(stored, lease, members))


def _policy(job: Job) -> RetryPolicy:
    # Under some profiles a job without a policy has other attempts than the default one.
    return msgspec.structs.replace(policy_of(job), max_attempts=job.max_attempts)


def _word(query: Mapping[str, str], name: str, words: Sequence[str]) -> str:
    """Return the value of a query parameter, which must be one of these; by default the first."""
    word = query.get(name) or words[0]
    if word not in words:
        raise invalid(name, f"must be {' or '.join(words)}{nearest(word, words)}")
    return word


async def retry(call: Call) -> Answer:
    """Retry a discarded job with new attempts, or start one that waits for its retry at once."""
    await call.read(EmptyRequest, optional=True)
    change = await call.server.engine.run(Rerun(await job_id_of(call)))
    return await changed(call, change, re_enqueued_at=enqueued_at(change))


async def amend(call: Call) -> Answer:
    """Change the priority of a job that has not started; its other members cannot be changed."""
    body = await call.json()
    for name in body:
        if name != "priority":
            raise ValidationError(
                f"`{name[:100]}` cannot be changed; allowed: priority",
                details={"field": name[:100], "allowed": ["priority"]},
            )
    if body.get("priority") is None:
        raise invalid("priority", "is missing")
    await call.server.engine.run(Prioritize(await job_id_of(call), priority(body["priority"])))
    stored, lease = await load_job(call)
    return Answer(job_answer(stored, lease))


ROUTES: Final = (
    Route("GET", "/admin/jobs", listing, LOOK, tenanted=True),
    Route("GET", "/admin/jobs/{id}", detail, LOOK, tenanted=True),
    Route("PATCH", "/admin/jobs/{id}", amend, OPERATE, tenanted=True),
    Route("POST", "/admin/jobs/{id}/retry", retry, OPERATE, tenanted=True),
)
