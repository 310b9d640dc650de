"""Dead letters: list, retry and delete discarded jobs, one or many."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.jobs.dead_letter import parse_override
from ojs_server.domain.jobs.filter import MEMBERS, from_query, parse_filter
from ojs_server.domain.jobs.job import State, StoredJob
from ojs_server.http import dialects
from ojs_server.http.access.authorization import require_own
from ojs_server.http.access.roles import LOOK, OPERATE
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs import bulk
from ojs_server.http.jobs.transitions import changed
from ojs_server.http.jobs.views import (
    array,
    enqueued_at,
    envelope,
    job_answer,
)
from ojs_server.http.paging import cursor_at, page_in, place_of
from ojs_server.http.route import Route
from ojs_server.ops.jobs.settle import Remove, Revive, missing
from ojs_server.store.records import JobPage, ListPosition
from ojs_wire.calls import ReviveRequest
from ojs_wire.values import UUID7, format_duration, timestamp

# The filters of the list. It counts all matches, so filters that need a search are left out.
_FILTERS: Final = MEMBERS - {"state", "states", "meta", "id_prefix", "tag", "text", "worker_id"}


async def listing(call: Call) -> Answer:
    """List dead letters, newest first."""
    return await _listing(call, "jobs")


async def admin_listing(call: Call) -> Answer:
    """List the dead letters in the form of the admin API."""
    return await _listing(call, "items")


async def detail(call: Call) -> Answer:
    """Show one dead letter."""
    job_id = await _job_id(call)
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None or found[0].job.state != State.DISCARDED:
        raise missing(job_id, "dead_letter_job")
    return Answer(job_answer(found[0]))


async def stats(call: Call) -> Answer:
    """Count the dead letters by queue and by error, and describe how long they are kept."""
    found = await call.server.engine.read(lambda reader: reader.dead_letter_stats())
    keep = call.server.settings.keep
    return Answer(
        {
            "total": sum(found.by_queue.values()),
            "by_queue": found.by_queue,
            "by_error_type": {
                "unknown" if name is None else name: count
                for name, count in found.by_error_type.items()
            },
            "groups": [
                {
                    "type": group.type,
                    "error_type": "unknown" if group.error_type is None else group.error_type,
                    "count": group.count,
                    "newest_at": timestamp(group.newest_at),
                    "newest_id": group.newest_id,
                }
                for group in found.groups
            ],
            "oldest_at": timestamp(found.oldest_at),
            "newest_at": timestamp(found.newest_at),
            "retention": {
                "max_age": format_duration(keep.dead_letter_ms),
                "max_count": keep.dead_letters,
                "next_prune_at": timestamp(call.server.prunes_at()),
            },
        }
    )


async def retry(call: Call) -> Answer:
    """Retry a dead letter with new attempts; its history stays."""
    request = await call.read(ReviveRequest, optional=True)
    override = parse_override(request.override)
    change = await call.server.engine.run(Revive(await _job_id(call), override))
    return await changed(call, change, re_enqueued_at=enqueued_at(change))


async def delete(call: Call) -> Answer:
    """Delete a dead letter."""
    change = await call.server.engine.run(Remove(await _job_id(call)))
    return Answer({"deleted": True, "job_id": change.before.id})


async def admin_delete(call: Call) -> Answer:
    """Remove a dead letter and answer without a body, in the form of the admin API."""
    await call.server.engine.run(Remove(await _job_id(call)))
    return Answer(b"", 204)


async def retry_many(call: Call) -> Answer:
    """Retry all dead letters that are named or that match the filter."""
    return await bulk.act(call, "retry", bulk.DEAD)


async def purge(call: Call) -> Answer:
    """Delete all dead letters that are named or that match the filter."""
    return await bulk.act(call, "delete", bulk.DEAD)


async def _listing(call: Call, name: str) -> Answer:
    jobs, pagination = await page_of_jobs(call, call.query_params)
    return Answer(array(name, map(envelope, jobs), **dialects.job_page(name, pagination)))


async def page_of_jobs(
    call: AnyCall, query: Mapping[str, str]
) -> tuple[Sequence[StoredJob], dict[str, Any]]:
    """Return the dead letters of the page that a query asks for, and its `pagination`."""
    page = page_in(query)
    after = None if page.cursor is None else place_of(page.cursor)
    given = from_query(query, _FILTERS)
    found = await call.server.engine.read(
        lambda reader: reader.dead_letters(
            parse_filter(
                given,
                reader.now(),
                where="",
                ended=True,
                tenant=call.tenant,
                any_type=call.any_type,
            ),
            page.limit,
            page.offset,
            after,
        )
    )
    return found.jobs, page.describe(found.total, _cursor_of(found))


def _cursor_of(found: JobPage) -> str | None:
    if not found.has_more:
        return None
    last = found.jobs[-1].job
    return cursor_at(ListPosition(last.finished_at or 0, last.id))


async def _job_id(call: Call) -> str:
    return await own_id(call, call.path_params["id"])


async def own_id(call: AnyCall, job_id: str) -> str:
    """Return the id of a dead letter, if the caller may see it."""
    if not UUID7.fullmatch(job_id):
        raise missing(job_id[:100], "dead_letter_job")
    await require_own(call, job_id, "dead_letter_job")
    return job_id


ROUTES: Final = (
    Route("GET", "/dead-letter", listing, LOOK, tenanted=True),
    Route("DELETE", "/dead-letter", purge, OPERATE, tenanted=True),
    Route("GET", "/dead-letter/stats", stats, LOOK),
    Route("POST", "/dead-letter/retry", retry_many, OPERATE, tenanted=True),
    Route("GET", "/dead-letter/{id}", detail, LOOK, tenanted=True),
    Route("POST", "/dead-letter/{id}/retry", retry, OPERATE, tenanted=True),
    Route("DELETE", "/dead-letter/{id}", delete, OPERATE, tenanted=True),
    Route("GET", "/admin/dead-letter", admin_listing, LOOK, tenanted=True),
    Route("DELETE", "/admin/dead-letter/{id}", admin_delete, OPERATE, tenanted=True),
)
