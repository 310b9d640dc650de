"""Workers of the job manager."""

from typing import Any, Final

from ojs_server.domain.workers.worker import Worker, WorkerState, is_deleted
from ojs_server.http.access.roles import READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.responses import NO_CONTENT
from ojs_server.http.route import Route
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.presence import Delete, Register
from ojs_server.store.base import Reader
from ojs_server.systems.jobmanager.domain import names
from ojs_server.systems.jobmanager.http.access import require_own_worker, require_worker
from ojs_server.systems.jobmanager.http.input import read_body
from ojs_server.systems.jobmanager.http.jobs import jobs_seen_from
from ojs_server.systems.jobmanager.http.pages import page_of
from ojs_wire.calls import EmptyRequest
from ojs_wire.values import format_timestamp


async def create(call: Call) -> Answer:
    """Create a worker, which belongs to its caller."""
    await read_body(call, EmptyRequest, optional=True)
    worker_id = call.server.environment.new_id()
    known = await call.server.engine.run(Register(worker_id, {}, call.principal or None))
    return Answer(_sign_of_life(worker_id, known.now), 201)


async def beat(call: Call) -> Answer:
    """Extend the leases of all tasks of a worker."""
    await read_body(call, EmptyRequest, optional=True)
    worker_id = await require_own_worker(call, call.path_params["id"])
    done = await call.server.engine.run(
        Beat(worker_id, WorkerState.RUNNING, draining=False, active_ids=None, known=True)
    )
    return Answer(_sign_of_life(worker_id, done.now))


async def delete(call: Call) -> Answer:
    """Deregister a worker: its tasks fail, and jobs without another worker are removed."""
    await read_body(call, EmptyRequest, optional=True)
    worker_id = await require_worker(call, call.path_params["id"])
    await call.server.engine.run(Delete(worker_id))
    return Answer(b"", NO_CONTENT)


async def listing(call: Call) -> Answer:
    """List all workers, newest first."""
    return page_of(call, await call.server.engine.read(_workers))


async def of_room(call: Call) -> Answer:
    """List the workers that run jobs that are visible in a room."""
    seen = jobs_seen_from(names.parse_room(call.path_params["room"]))

    def read(reader: Reader) -> list[dict[str, Any]]:
        there = {worker_id for job in seen(reader) for worker_id in job.workers}
        return [worker for worker in _workers(reader) if worker["id"] in there]

    return page_of(call, await call.server.engine.read(read))


def _workers(reader: Reader) -> list[dict[str, Any]]:
    there = [worker.worker for worker in reader.workers() if not is_deleted(worker.worker)]
    there.sort(key=lambda worker: (worker.created_at, worker.id), reverse=True)
    counts = reader.kind_counts([worker.id for worker in there])
    return [
        {**_sign_of_life(worker.id, _alive_at(worker)), "job_count": counts.get(worker.id, 0)}
        for worker in there
    ]


def _alive_at(worker: Worker) -> int:
    return worker.seen_at if worker.alive_at is None else worker.alive_at


def _sign_of_life(worker_id: str, at: int) -> dict[str, Any]:
    return {"id": worker_id, "last_heartbeat": format_timestamp(at)}


ROUTES: Final = (
    Route("POST", "/workers", create, WORK),
    Route("GET", "/workers", listing, READ),
    Route("PATCH", "/workers/{id}", beat, WORK),
    Route("DELETE", "/workers/{id}", delete, WORK),
    Route("GET", "/rooms/{room}/workers", of_room, READ),
)
