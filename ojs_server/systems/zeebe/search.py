"""Searches for jobs, incidents and process instances: all are jobs here, newest first."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import NotFound
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import Lease, State, StoredJob
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.store.base import Reader
from ojs_server.systems.zeebe.items import incident, instance, job
from ojs_server.systems.zeebe.requests import SearchRequest
from ojs_server.systems.zeebe.search_query import (
    INCIDENTS,
    INSTANCES,
    JOBS,
    MOST_FOUND,
    Kind,
    Query,
    cursor_of,
    parse_query,
    too_many,
)

Item = Callable[[int, StoredJob, Lease | None], Mapping[str, Any]]


class _Found(msgspec.Struct, frozen=True):
    """The jobs of a page, how many were found, whether there are more than were counted, and the
    job after which the next page begins."""

    jobs: Sequence[tuple[StoredJob, Lease | None]]
    total: int
    more: bool = False
    end: str | None = None


async def jobs(call: Call) -> Answer:
    """Search for jobs."""
    return await _search(call, JOBS, job)


async def incidents(call: Call) -> Answer:
    """Search for incidents that are open."""
    return await _search(call, INCIDENTS, incident)


async def instances(call: Call) -> Answer:
    """Search for process instances."""
    return await _search(call, INSTANCES, instance)


async def _search(call: Call, kind: Kind, item: Item) -> Answer:
    request = await call.read(SearchRequest, optional=True)
    query = parse_query(request, kind, call.tenant)
    found = await call.server.engine.read(lambda reader: _read(reader, query))
    keys = await _keys(call, [stored.job.id for stored, _ in found.jobs])
    page: dict[str, Any] = {"totalItems": found.total, "hasMoreTotalItems": found.more}
    if found.jobs:
        page["startCursor"] = cursor_of(found.jobs[0][0].job.id)
    if found.end is not None:
        page["endCursor"] = cursor_of(found.end)
    items = [
        item(keys[stored.job.id], stored, lease)
        for stored, lease in found.jobs
        if stored.job.id in keys
    ]
    return Answer({"items": items, "page": page})


async def _keys(call: Call, ids: Sequence[str]) -> Mapping[str, int]:
    """Return the keys of jobs, which get them in the order of their creation; those that were
    removed meanwhile have none."""

    async def key(job_id: str) -> int | None:
        try:
            return await call.server.engine.run(Number(job_id))
        except NotFound:
            return None

    rising = sorted(ids)
    keys = await asyncio.gather(*map(key, rising))
    return {job_id: number for job_id, number in zip(rising, keys, strict=True) if number}


def _read(reader: Reader, query: Query) -> _Found:
    if query.filter is None:
        return _Found((), 0)
    if query.key is not None:
        job_id = reader.job_numbered(query.key) if query.key else None
        found = None if job_id is None else reader.job(job_id)
        if found is None or not _is_found(query.filter, found[0]):
            return _Found((), 0)
        return _Found((found,) if query.start == 0 else (), 1, end=found[0].job.id)
    matching = reader.find_jobs(query.filter, MOST_FOUND)
    ids, more = list(matching.ids), matching.after is not None
    if query.oldest_first:
        if more:
            raise too_many()
        ids.reverse()
    part, end = _part(reader, query, ids, matching.after)
    whole = {stored.job.id: stored for stored in reader.whole_jobs(part)}
    there = [whole[one] for one in part if one in whole]
    end = end or (part[-1] if part else None)
    return _Found([(one, _lease(reader, one)) for one in there], len(ids), more, end)


def _part(
    reader: Reader, query: Query, ids: list[str], after: str | None
) -> tuple[list[str], str | None]:
    """Return the ids of the page, and the place up to which was looked if it is behind them.
    Cursors lead beyond the jobs that are counted."""
    assert query.filter is not None
    if query.before is not None:
        before = [one for one in ids if _precedes(query, one, query.before)]
        return before[-query.limit :], None
    if query.after is None:
        behind = query.start + query.limit
        return ids[query.start : behind], after if behind >= len(ids) else None
    if not query.oldest_first:
        found = reader.find_jobs(query.filter, query.limit, query.after)
        return list(found.ids), found.after
    return [one for one in ids if _precedes(query, query.after, one)][: query.limit], None


def _precedes(query: Query, one: str, other: str) -> bool:
    return one < other if query.oldest_first else one > other


def _is_found(job_filter: JobFilter, stored: StoredJob) -> bool:
    own = job_filter.tenant in (None, stored.job.tenant)
    return own and job_filter.matches(stored.job)


def _lease(reader: Reader, stored: StoredJob) -> Lease | None:
    if stored.job.state != State.ACTIVE:
        return None
    found = reader.job(stored.job.id)
    return None if found is None else found[1]


ROUTES: Final = (
    Route("POST", "/jobs/search", jobs, LOOK),
    Route("POST", "/incidents/search", incidents, LOOK),
    Route("POST", "/process-instances/search", instances, LOOK),
)
