"""Lists of jobs by filter, newest first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.filter import MEMBERS, JobFilter, from_query, parse_filter
from ojs_server.domain.jobs.job import Lease, StoredJob
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.views import array, envelope
from ojs_server.http.paging import Page, page_of
from ojs_server.http.route import Route
from ojs_server.store.base import Reader
from ojs_server.store.records import JobIds
from ojs_wire.values import UUID7

# Leases by job.
Leases = Mapping[str, Lease]
# The filters of a query; `meta` is only for bodies.
FILTERS: Final = MEMBERS - {"meta"}
# Farther pages need a cursor: each page by offset reads all jobs before it.
MAX_OFFSET: Final = 10_000


async def listing(call: Call) -> Answer:
    """List jobs of any state, with filters."""
    return await list_jobs(call, "jobs", page_of(call), call.query_params, call.tenant)


async def list_jobs(
    call: Call,
    name: str,
    page: Page,
    query: Mapping[str, str],
    tenant: str | None,
    *,
    unique: bool = False,
    show: Callable[[StoredJob, Lease | None], bytes] = envelope,
) -> Answer:
    """Return a page of jobs under a name: of all, of a tenant's, or of those that hold a unique
    key."""
    given = from_query(query, FILTERS)
    check_place(page, query)

    def read(reader: Reader) -> tuple[JobIds, list[StoredJob], Leases, int | None]:
        job_filter = parse_filter(
            given,
            reader.now(),
            where="",
            tenant=tenant,
            unique=unique,
            any_type=call.any_type,
        )
        part = reader.find_jobs(job_filter, page.limit, page.cursor, page.offset)
        jobs = reader.whole_jobs(part.ids)
        return part, jobs, reader.leases_of(jobs), known_total(reader, job_filter)

    part, jobs, leases, total = await call.server.engine.read(read)
    shown = [show(stored, leases.get(stored.job.id)) for stored in jobs]
    return jobs_answer(name, page, shown, len(part.ids), total, part.after)


def jobs_answer(
    name: str,
    page: Page,
    jobs: Iterable[bytes],
    found: int,
    total: int | None,
    next_cursor: str | None,
) -> Answer:
    """Return the answer for a page of encoded jobs; if the total is not known, it is given as a
    lower bound."""
    least = page.offset + found + (next_cursor is not None)
    pagination = page.describe(
        least if total is None else total, next_cursor, total_is_exact=total is not None
    )
    return Answer(array(name, jobs, **dialects.job_page(name, pagination)))


def check_place(page: Page, query: Mapping[str, str]) -> None:
    """Raise for cursors that no list of jobs has."""
    # Unlike in other lists a number is not a cursor, since offsets are bounded.
    if (cursor := query.get("cursor")) and not UUID7.fullmatch(cursor):
        raise invalid("cursor", "must be the next_cursor of an earlier page")
    check_offset(page)


def check_offset(page: Page) -> None:
    """Raise for an offset: these pages are reached by cursor only."""
    if page.offset > MAX_OFFSET:
        raise invalid("offset", f"must be at most {MAX_OFFSET}; go on with next_cursor")


def known_total(reader: Reader, job_filter: JobFilter) -> int | None:
    """Return the number of jobs that match, from counters; None if they would have to be
    counted."""
    if not job_filter.simple:
        return None
    if job_filter.queue is None and job_filter.tenant is None:
        queues = reader.queues()
    else:
        queues = reader.queues([scoped(job_filter.tenant, job_filter.queue or "")])
    return sum(
        count
        for queue in queues
        for state, count in queue.counts.items()
        if not job_filter.states or state in job_filter.states
    )


ROUTES: Final = (Route("GET", "/jobs", listing, LOOK, tenanted=True),)
