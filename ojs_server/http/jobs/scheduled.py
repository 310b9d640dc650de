"""Scheduled jobs in the order of their time, as `sort=scheduled_at` asks for."""

from collections.abc import Mapping

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.filter import from_query, parse_filter
from ojs_server.domain.jobs.job import State, StoredJob
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.lists import FILTERS, check_offset, jobs_answer, known_total
from ojs_server.http.jobs.views import envelope
from ojs_server.http.paging import Page, cursor_at, place_of
from ojs_server.store.base import Reader
from ojs_server.store.records import ScheduledIds

_SCHEDULED = (State.SCHEDULED,)


async def list_scheduled(
    call: Call, name: str, page: Page, query: Mapping[str, str], *, latest_first: bool
) -> Answer:
    """Return a page of the scheduled jobs, under a name; jobs in other states have no time to sort
    by."""
    given = from_query(query, FILTERS)
    after = place_of(query["cursor"]) if query.get("cursor") else None
    check_offset(page)

    def read(reader: Reader) -> tuple[ScheduledIds, list[StoredJob], int | None]:
        job_filter = parse_filter(
            given,
            reader.now(),
            where="",
            states=_SCHEDULED,
            tenant=call.tenant,
            any_type=call.any_type,
        )
        if job_filter.states != _SCHEDULED:
            raise invalid("state", f"must be {State.SCHEDULED} with sort=scheduled_at")
        part = reader.find_scheduled(
            job_filter, page.limit, after, page.offset, latest_first=latest_first
        )
        found = {stored.job.id: stored for stored in reader.whole_jobs(part.ids)}
        jobs = [found[job_id] for job_id in part.ids if job_id in found]
        return part, jobs, known_total(reader, job_filter)

    part, jobs, total = await call.server.engine.read(read)
    following = None if part.after is None else cursor_at(part.after)
    return jobs_answer(name, page, map(envelope, jobs), len(part.ids), total, following)
