"""All jobs of a small server, in the order in which they came."""

from typing import Any

import msgspec

from ojs_worker.errors import refusal
from ojs_worker.job import Job
from ojs_worker.transport import Request, Transport

PAGE = 1000


class _Pages(msgspec.Struct):
    next_cursor: str | None = None


class _Jobs(msgspec.Struct):
    jobs: list[Job]
    pagination: _Pages


class _Event(msgspec.Struct):
    subject: str = ""


class _Events(msgspec.Struct):
    events: list[_Event]
    cursor: str | None = None
    has_more: bool = False


async def all_jobs(transport: Transport) -> list[Job]:
    """List all jobs that are stored, in any state, oldest first."""
    jobs: list[Job] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await _get(transport, f"/ojs/v1/jobs?limit={PAGE}&cursor={cursor}", _Jobs)
        jobs += page.jobs
        cursor = page.pagination.next_cursor
    places = await _places(transport)
    # Lists are sorted by id, and the order of ids within a millisecond is random.
    return sorted(jobs, key=lambda job: places.get(job.id, len(places)))


async def _places(transport: Transport) -> dict[str, int]:
    """Return the position of each subject of the event log, in the order of their first events."""
    places: dict[str, int] = {}
    after, more = "", True
    while more:
        page = await _get(transport, f"/ojs/v1/events?limit={PAGE}&after={after}", _Events)
        for event in page.events:
            places.setdefault(event.subject, len(places))
        after, more = page.cursor or "", page.has_more
    return places


async def _get(transport: Transport, path: str, shape: type[Any]) -> Any:
    reply = await transport.send(Request("GET", path))
    if not reply.well:
        raise refusal(reply.status, reply.body)
    return msgspec.json.decode(reply.body, type=shape)
