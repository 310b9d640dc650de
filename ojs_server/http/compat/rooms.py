"""Rooms, their jobs and tasks, mapped to registration, enqueue, FETCH, ACK, FAIL and cancel."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.compat import room as rooms
from ojs_server.domain.compat.kind import Kind
from ojs_server.domain.errors import NotFound, invalid
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import Lease, StoredJob
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.tenants.tenant import scoped, unscoped
from ojs_server.http.access.roles import ENQUEUE, READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import holder_of, job_id_of, known_as
from ojs_server.http.jobs.lists import check_place
from ojs_server.http.jobs.read import load_job
from ojs_server.http.paging import page_of
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import Route
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import fetch_id_of, withheld_members
from ojs_server.http.workers.function_blocks import check_payload, checked_schema
from ojs_server.ops.compat.rooms import Begin, Join
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.base import Reader
from ojs_server.store.records import KindWorkers
from ojs_wire.calls import ClaimRequest, EmptyRequest, RoomJobRequest, TaskMove, TaskRequest
from ojs_wire.codec import decode
from ojs_wire.values import format_timestamp, in_seconds, kind_of

Shown = dict[str, Any]
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


async def put_job(call: Call) -> Answer:
    """Register a job of a room for a worker; without an id the server makes the worker."""
    request = await call.read(RoomJobRequest)
    room = rooms.parse_room(call.path_params["room"])
    schema = None if request.schema is None else checked_schema(request.schema, "schema")
    kind = rooms.parse_kind(room, request.name, request.category, schema, call.tenant)
    given = request.worker_id
    own = call.server.environment.new_id() if given is None else given
    worker_id = known_as(call, own)
    engine = call.server.engine
    await engine.run(Join(worker_id, kind, new=given is None, principal=call.principal or None))
    kind_workers = await engine.read(lambda reader: _named(reader, kind))
    interval = in_seconds(engine.rules.profile.heartbeat_interval_ms)
    shown = _shown_kind(call, kind_workers)
    return Answer({**shown, "worker_id": own, "heartbeat_interval": interval})


async def list_jobs(call: Call) -> Answer:
    """List the jobs of a room that a worker runs or that have waiting tasks."""
    room = rooms.parse_room(call.path_params["room"])
    found = await call.server.engine.read(lambda reader: reader.kinds_in(scoped(call.tenant, room)))
    page = page_of(call)
    shown, pagination = page.cut([_shown_kind(call, kind) for kind in found])
    return Answer({"jobs": shown, "pagination": pagination})


async def submit(call: Call) -> Answer:
    """Submit a task for a job of a room."""
    request = await call.read(TaskRequest)
    room = rooms.parse_room(call.path_params["room"])
    name = rooms.job_name(room, request.job)
    payload = request.payload
    if not isinstance(payload, dict):
        raise invalid("payload", f"must be an object, not {kind_of(payload)}")
    engine = call.server.engine
    kind = await engine.read(lambda reader: reader.kind_named(scoped(call.tenant, room), name))
    if kind is None:
        raise NotFound(
            f"there is no job {name} in the room {room}",
            details={"resource_type": "room_job", "resource_id": name},
            hint="a job is there once a worker has registered it",
        )
    if kind.schema is not None:
        check_payload(kind.schema, payload)
    body = {
        "type": kind.type,
        "args": [payload],
        "meta": {rooms.ROOM: room, rooms.JOB: name},
        "queue": kind.queue,
        # A failed task is not retried.
        "retry": {"max_attempts": 1},
        **({} if request.id is None else {"id": request.id}),
    }
    done = await engine.run(Enqueue((parse_draft(body, tenant=call.tenant),)))
    return Answer(_shown(done.jobs[0], None), 201 if done.created else 200)


async def list_tasks(call: Call) -> Answer:
    """List the tasks of a room, newest first."""
    room = rooms.parse_room(call.path_params["room"])
    query, page = call.query_params, page_of(call)
    word = query.get("status")
    states = () if word is None else rooms.STATES[rooms.parse_status(word, tuple(rooms.STATES))]
    check_place(page, query)

    def read(reader: Reader) -> tuple[list[tuple[StoredJob, Lease | None]], str | None]:
        job_filter = JobFilter(queue=rooms.queue_of(room), states=states, tenant=call.tenant)
        part = reader.find_jobs(job_filter, page.limit, page.cursor, page.offset)
        found = (reader.job(job_id) for job_id in part.ids)
        return [task for task in found if task is not None], part.after

    found, after = await call.server.engine.read(read)
    shown = [_shown(*task) for task in found]
    # Filtered after the read, since the store does not distinguish claimed from running; so a page
    # may be short.
    tasks = [task for task in shown if word is None or task["status"] == word]
    known = page.offset + len(found) + (after is not None)
    pagination = page.describe(known, after, total_is_exact=False)
    return Answer({"tasks": tasks, "pagination": pagination})


async def read_task(call: Call) -> Answer:
    """Show a task; with `wait`, wait until it has ended or the time is over."""
    stored, lease = await load_job(call)
    wait_s, headers = _wait(call)
    if wait_s > 0 and not rooms.is_over(stored.job):
        stored = await wait_for_end(call.server.engine, stored, wait_s)
        stored, lease = await load_job(call)
    return Answer(_shown(stored, lease), headers=headers)


async def claim(call: Call) -> Answer:
    """Claim the oldest task that waits for a job of a worker, if there is one."""
    request = await call.read(ClaimRequest)
    worker_id = known_as(call, request.worker_id)
    op = Claim(
        (),
        worker_id=worker_id,
        fetch_id=fetch_id_of(request.fetch_id),
        linked=True,
        known=True,
        tenant=call.tenant,
    )
    deliveries = await call.server.engine.run(op)
    if not deliveries:
        return Answer({"task": None, **withheld_members(deliveries)})
    claimed, lease = deliveries[0].claimed, deliveries[0].lease
    return Answer({"task": _shown(StoredJob(claimed.job, claimed.args, claimed.meta), lease)})


async def move_task(call: Call) -> Answer:
    """Set the status of a task to running, completed or failed, as its worker reports it."""
    request = await call.read(TaskMove)
    status = rooms.parse_status(request.status, rooms.MOVES)
    if request.error is not None and status != "failed":
        raise invalid("error", f"must not be given where `status` is {status}")
    job_id, worker_id = await job_id_of(call), holder_of(call, request.worker_id)
    engine = call.server.engine
    if status == "running":
        await engine.run(Begin(job_id, worker_id))
    elif status == "completed":
        result = result_of(request.result, call.server.settings.max_result_bytes)
        await engine.run(Ack(job_id, worker_id, result=result))
    else:
        given = request.error if isinstance(request.error, dict) else {"message": request.error}
        fault = parse_fault({**given, "retryable": False})
        await engine.run(Fail(job_id, fault, worker_id))
    return Answer(_shown(*await load_job(call)))


async def cancel_task(call: Call) -> Answer:
    """Cancel a task."""
    await call.read(EmptyRequest, optional=True)
    await call.server.engine.run(Cancel(await job_id_of(call)))
    return Answer(_shown(*await load_job(call)))


def _named(reader: Reader, kind: Kind) -> KindWorkers:
    # Its worker may be gone by now, and the kind with it.
    in_room = (other for other in reader.kinds_in(kind.room) if other.kind.name == kind.name)
    return next(in_room, KindWorkers(kind, ()))


def _shown_kind(call: Call, kind_workers: KindWorkers) -> Shown:
    kind = kind_workers.kind
    room = unscoped(call.tenant, kind.room)
    category, _, name = kind.name.rpartition(":")
    return {
        "room_id": room,
        "category": category or None,
        "name": name,
        "full_name": rooms.full_name(room, kind.name),
        "schema": None if kind.schema is None else decode(kind.schema),
        "workers": [unscoped(call.tenant, worker) for worker in kind_workers.workers],
        "queue": kind.queue,
        "job_type": kind.type,
    }


def _shown(stored: StoredJob, lease: Lease | None) -> Shown:
    job = stored.job
    names = rooms.names_of(job, stored.meta) or rooms.names_of_plain(job)
    worker_id = None if lease is None else lease.worker_id
    began = lease.running_at if lease is not None else job.started_at
    return {
        "id": job.id,
        "room_id": names.room,
        "job": names.job,
        "status": rooms.status_of(job, lease),
        "payload": rooms.payload_of(stored.args),
        "worker_id": worker_id and unscoped(job.tenant, worker_id),
        "result": None if stored.result is None else decode(stored.result),
        "error": rooms.error_of(job),
        "created_at": format_timestamp(job.created_at),
        "started_at": None if began is None else format_timestamp(began),
        "completed_at": None if job.finished_at is None else format_timestamp(job.finished_at),
    }


def _wait(call: Call) -> tuple[float, Mapping[str, str]]:
    """Return the seconds to wait, from the query or the Prefer header, and the headers for the
    latter."""
    most_ms = call.server.engine.rules.profile.max_wait_ms
    text = call.query_params.get("wait")
    if text is None:
        wait_ms = preference(call).wait_ms(most_ms)
        return (wait_ms or 0) / 1000, applied(wait_ms)
    if not _SECONDS.fullmatch(text):
        raise invalid("wait", "must be a number of seconds")
    return min(float(text), most_ms / 1000), {}


ROUTES: Final = (
    Route("POST", "/tasks/claim", claim, WORK, tenanted=True, produces=True),
    Route("GET", "/tasks/{id}", read_task, READ, waits=True, tenanted=True),
    Route("PATCH", "/tasks/{id}", move_task, WORK, tenanted=True, produces=True),
    Route("DELETE", "/tasks/{id}", cancel_task, ENQUEUE, tenanted=True),
    Route("PUT", "/rooms/{room}/jobs", put_job, WORK, tenanted=True, produces=True),
    Route("GET", "/rooms/{room}/jobs", list_jobs, READ, tenanted=True),
    Route("POST", "/rooms/{room}/tasks", submit, ENQUEUE, tenanted=True, produces=True),
    Route("GET", "/rooms/{room}/tasks", list_tasks, READ, tenanted=True),
)
