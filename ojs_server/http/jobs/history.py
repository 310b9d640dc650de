"""The history of a job, step by step."""

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ojs_server.domain.jobs.history import Happening, History, history_of
from ojs_server.domain.jobs.job import Job
from ojs_server.http.access.roles import READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import job_id_of
from ojs_server.http.route import Route
from ojs_server.ops.jobs.settle import missing
from ojs_server.store.base import Reader
from ojs_wire.values import format_timestamp, timestamp


class _Item(msgspec.Struct):
    type: str
    time: str
    # The name that the command line uses.
    timestamp: str
    attempt: int | UnsetType = UNSET
    worker_id: str | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


async def read(call: Call) -> Answer:
    """Show the history of one job, oldest first."""
    job_id = await job_id_of(call)

    def look(reader: Reader) -> tuple[Job, History] | None:
        if (found := reader.job(job_id)) is None:
            return None
        job, lease = found[0].job, found[1]
        return job, history_of(job, lease, reader.ended_by(job_id))

    if (found := await call.server.engine.read(look)) is None:
        raise missing(job_id)
    job, history = found
    return Answer(
        {
            "job_id": job_id,
            "state": job.state,
            "scheduled_at": timestamp(job.scheduled_at),
            "complete": history.complete,
            "events": [_shown(happening) for happening in history.happenings],
        }
    )


def _shown(happening: Happening) -> _Item:
    moment = format_timestamp(happening.at)
    item = _Item(happening.type, moment, moment)
    if happening.attempt is not None:
        item.attempt = happening.attempt
    if happening.worker_id is not None:
        item.worker_id = happening.worker_id
    if happening.error is not None:
        item.error = Raw(happening.error)
    return item


ROUTES: Final = (Route("GET", "/jobs/{id}/history", read, READ, tenanted=True),)
