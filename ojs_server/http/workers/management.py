"""Management of workers for an engine: presence, capabilities, held jobs and clean-ups."""

from collections.abc import Sequence
from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import TERMINAL, State
from ojs_server.domain.jobs.poll_state import states_of
from ojs_server.domain.profile import RECOVERIES, Recovery
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import WorkerState, parse_worker_id
from ojs_server.http.access.roles import ADMINISTER, LOOK, OPERATE, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import known_as
from ojs_server.http.jobs.views import array, envelope
from ojs_server.http.paging import page_of
from ojs_server.http.route import Route
from ojs_server.http.workers.function_blocks import parse_blocks
from ojs_server.http.workers.registry import known_worker, page_of_workers
from ojs_server.ops.workers.presence import Cleanup, Delete, Describe
from ojs_server.store.base import Reader
from ojs_server.store.records import WorkerLoad
from ojs_wire.calls import CapabilitiesRequest, EmptyRequest
from ojs_wire.values import format_timestamp

# States in a worker's list of jobs, unless others are requested.
HAD: Final = TERMINAL | {State.ACTIVE}
# Most jobs of each kind in a worker's list.
MOST: Final = 1000


async def online(call: Call) -> Answer:
    """List the workers that are online."""
    shown, pagination = await page_of_workers(call, page_of(call), presence="online")
    return Answer({"workers": shown, "pagination": pagination})


async def capabilities(call: Call) -> Answer:
    """List the job kinds that a worker runs."""
    load, _ = await known_worker(call)
    kinds = await call.server.engine.read(lambda reader: reader.kinds_of(load.worker.id))
    return Answer(_described(load.worker.id, kinds))


async def describe(call: Call) -> Answer:
    """Replace the description of what a worker runs."""
    request = await call.read(CapabilitiesRequest)
    worker_id = parse_worker_id(call.path_params["id"])
    kinds = parse_blocks(request.functionBlocks)
    await call.server.engine.run(Describe(worker_id, kinds))
    kept = await call.server.engine.read(lambda reader: reader.kinds_of(worker_id))
    return Answer(_described(worker_id, kept))


async def jobs(call: Call) -> Answer:
    """List the jobs that a worker holds or held; with `status`, those in these states, waiting ones
    included."""
    word = call.query_params.get("status")
    states = HAD if word is None else states_of(word)
    load, _ = await known_worker(call)
    found = await call.server.engine.read(lambda reader: _jobs(reader, load, states))
    return Answer(array("jobs", found))


def _jobs(reader: Reader, load: WorkerLoad, states: frozenset[str]) -> list[bytes]:
    shown: list[bytes] = []
    if State.ACTIVE in states:
        held = (reader.job(job_id) for job_id in load.job_ids[:MOST])
        shown += [envelope(*job) for job in held if job is not None]
    ids: list[str] = []
    if ended := states & TERMINAL:
        ids += reader.jobs_ended_by(load.worker.id, ended, MOST)
    if waiting := states - TERMINAL - {State.ACTIVE}:
        for kind in reader.kinds_of(load.worker.id):
            job_filter = JobFilter(type=kind.type, states=tuple(sorted(waiting)))
            ids += reader.find_jobs(job_filter, MOST).ids
    return [*shown, *(envelope(stored) for stored in reader.whole_jobs(ids[:MOST]))]


async def delete(call: Call) -> Answer:
    """Delete a worker, even if it holds jobs."""
    await call.read(EmptyRequest, optional=True)
    worker_id = call.path_params["id"]
    known = await call.server.engine.run(Delete(known_as(call, worker_id), _recovery(call)))
    return Answer(
        {
            "ok": True,
            "deleted": True,
            "worker_id": worker_id,
            "state": WorkerState.TERMINATED,
            "server_time": format_timestamp(known.now),
        }
    )


async def cleanup(call: Call) -> Answer:
    """Delete the workers that have been offline for long enough."""
    return await _clean_up(call, Cleanup())


async def cleanup_offline(call: Call) -> Answer:
    """Delete all workers that are offline now."""
    return await _clean_up(call, Cleanup(now=True))


async def _clean_up(call: Call, order: Cleanup) -> Answer:
    await call.read(EmptyRequest, optional=True)
    done = await call.server.engine.run(order)
    return Answer(
        {"deleted": len(done.worker_ids), "worker_ids": done.worker_ids, "has_more": done.more}
    )


def _described(worker_id: str, kinds: Sequence[Kind]) -> dict[str, Any]:
    blocks = [{"id": kind.name, "room": kind.room, "job_type": kind.type} for kind in kinds]
    return {"worker_id": worker_id, "functionBlocks": blocks}


def _recovery(call: Call) -> Recovery | None:
    word = call.query_params.get("action")
    if word is not None and word not in RECOVERIES:
        allowed = ", ".join(RECOVERIES)
        raise invalid("action", f"must be one of {allowed}{nearest(word, RECOVERIES)}")
    return RECOVERIES.get(word or "")


ROUTES: Final = (
    Route("GET", "/workers/online", online, LOOK),
    Route("POST", "/workers/cleanup", cleanup, ADMINISTER),
    Route("POST", "/workers/cleanup-offline", cleanup_offline, ADMINISTER),
    Route("DELETE", "/workers/{id}", delete, OPERATE | WORK, tenanted=True),
    Route("GET", "/workers/{id}/capabilities", capabilities, LOOK | WORK),
    Route("PUT", "/workers/{id}/capabilities", describe, WORK, produces=True),
    Route("GET", "/workers/{id}/jobs", jobs, LOOK | WORK),
)
