"""Jobs of rooms, which workers register."""

from collections.abc import Callable
from typing import Any, Final

from ojs_server.http.access.roles import READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.http.workers.function_blocks import kept_schema
from ojs_server.ops.workers.join import Join
from ojs_server.store.base import Reader
from ojs_server.store.records import KindWorkers
from ojs_server.systems.jobmanager.domain import names
from ojs_server.systems.jobmanager.domain.names import GLOBAL, INTERNAL
from ojs_server.systems.jobmanager.http.access import require_admin, require_worker
from ojs_server.systems.jobmanager.http.input import read_body
from ojs_server.systems.jobmanager.http.pages import page_of
from ojs_server.systems.jobmanager.requests import JobRequest
from ojs_wire.codec import decode

Shown = dict[str, Any]


async def put_job(call: Call) -> Answer:
    """Register a job of a room for a worker; without an id the server makes the worker."""
    request = await read_body(call, JobRequest)
    room = names.parse_room(call.path_params["room"])
    if room in (GLOBAL, INTERNAL):
        require_admin(call, f"jobs of {room} are registered by administrators only")
    category = names.parse_category(request.category, call.server.settings.job_categories)
    schema = kept_schema(request.offered_schema, "schema")
    kind = names.parse_kind(room, request.name, category, schema)
    given = request.worker_id
    worker_id = call.server.environment.new_id() if given is None else given
    if given is not None:
        await require_worker(call, given)
    engine = call.server.engine
    joined = await engine.run(
        Join(worker_id, kind, new=given is None, principal=call.principal or None)
    )
    kind_workers = await engine.read(lambda reader: _kind_workers(reader, kind.room, kind.name))
    shown = {**_shown_job(kind_workers), "worker_id": worker_id}
    return Answer(shown, 201 if joined.is_new else 200)


async def list_jobs(call: Call) -> Answer:
    """List the jobs that are visible in a room, newest first."""
    room = names.parse_room(call.path_params["room"])
    found = await call.server.engine.read(jobs_seen_from(room))
    found.sort(key=lambda entry: (entry.kind.created_at, entry.kind.name), reverse=True)
    return page_of(call, [_summary(kind) for kind in found])


def jobs_seen_from(room: str) -> Callable[[Reader], list[KindWorkers]]:
    """Return the jobs that are visible in a room, each with its workers."""
    visible = names.visible_from(room)
    return lambda reader: [kind for seen in visible for kind in reader.kinds_in(seen)]


async def read_job(call: Call) -> Answer:
    """Show one job, by its full name."""
    names.parse_room(call.path_params["room"])
    return Answer({**_shown_job(await find_job(call)), "worker_id": None})


async def find_job(call: Call) -> KindWorkers:
    """Return the job that the path names, with its workers."""
    name = names.parse_full_name(call.path_params["name"])
    found = await call.server.engine.read(
        lambda reader: _find_kind_workers(reader, name.room, name.in_room)
    )
    if found is None:
        raise names.unknown_job(str(name))
    return found


def _find_kind_workers(reader: Reader, room: str, name: str) -> KindWorkers | None:
    return next((kind for kind in reader.kinds_in(room) if kind.kind.name == name), None)


def _kind_workers(reader: Reader, room: str, name: str) -> KindWorkers:
    found = _find_kind_workers(reader, room, name)
    if found is None:
        # Its worker has left in the meantime.
        raise names.unknown_job(names.full_name(room, name))
    return found


def _shown_job(kind_workers: KindWorkers) -> Shown:
    kind = kind_workers.kind
    return {
        "id": names.id_of(names.full_name(kind.room, kind.name)),
        "room_id": kind.room,
        **_summary(kind_workers),
        "schema": {} if kind.schema is None else decode(kind.schema),
        "queue": kind.queue,
        "job_type": kind.type,
    }


def _summary(kind_workers: KindWorkers) -> Shown:
    kind = kind_workers.kind
    category, _, name = kind.name.rpartition(":")
    return {
        "full_name": names.full_name(kind.room, kind.name),
        "category": category,
        "name": name,
        "workers": list(kind_workers.workers),
    }


ROUTES: Final = (
    Route("PUT", "/rooms/{room}/jobs", put_job, WORK),
    Route("GET", "/rooms/{room}/jobs", list_jobs, READ),
    Route("GET", "/rooms/{room}/jobs/{name}", read_job, READ),
)
