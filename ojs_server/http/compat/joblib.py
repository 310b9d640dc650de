"""The job manager of `/v1/joblib`: jobs and tasks, in the forms that its own clients read.

The calls are those of rooms (`rooms.py`); a task may be submitted in another room than the one in
which its job is registered.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ojs_server.domain.compat import joblib
from ojs_server.domain.compat import room as rooms
from ojs_server.domain.compat.joblib import GLOBAL, INTERNAL, FullName
from ojs_server.domain.compat.kind import Kind
from ojs_server.domain.compat.room import TaskNames
from ojs_server.domain.errors import Denied, NotFound, Unavailable, invalid
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State, StoredJob
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.workers.worker import Worker, is_deleted, parse_worker_id
from ojs_server.http.access.roles import ENQUEUE, READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.ids import job_id_in
from ojs_server.http.paging import Page, number
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import Route
from ojs_server.http.workers.function_blocks import check_payload, kept_schema
from ojs_server.ops.compat.rooms import Begin, Join
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.presence import unknown_worker
from ojs_server.store.base import Reader
from ojs_server.store.records import KindWorkers
from ojs_server.store.tables.job_lists import LOOK_AHEAD
from ojs_wire.calls import ClaimRequest, JoblibJobRequest, PayloadRequest, StatusRequest
from ojs_wire.codec import decode
from ojs_wire.values import format_timestamp, kind_of

Shown = dict[str, Any]
Item = TypeVar("Item")
LARGEST_PAGE: Final = 500
USUAL_PAGE: Final = 50
TASKS: Final = "/v1/joblib/tasks"
# Seconds after which a client should first ask for a new task.
LOOK_AGAIN: Final = "1"


async def put_job(call: Call) -> Answer:
    """Register a job of a room for a worker; without an id the server makes the worker."""
    request = await call.read(JoblibJobRequest)
    room = joblib.parse_room(call.path_params["room"])
    if room in (GLOBAL, INTERNAL):
        require_admin(call, f"jobs of {room} are registered by administrators only")
    category = joblib.parse_category(request.category, call.server.settings.job_categories)
    schema = request.schema if request.schema_ is None else request.schema_
    kind = rooms.parse_kind(room, request.name, category, kept_schema(schema or {}, "schema"))
    given = request.worker_id
    worker_id = call.server.environment.new_id() if given is None else given
    if given is not None:
        await require_worker(call, given)
    engine = call.server.engine
    joined = await engine.run(
        Join(
            worker_id,
            kind,
            new=given is None,
            principal=call.principal or None,
            same_schema=True,
        )
    )
    kind_workers = await engine.read(lambda reader: _kind_workers(reader, kind.room, kind.name))
    shown = {**_shown_job(kind_workers), "worker_id": worker_id}
    return Answer(shown, 201 if joined.is_new else 200)


async def list_jobs(call: Call) -> Answer:
    """List the jobs that are visible in a room, newest first."""
    room = joblib.parse_room(call.path_params["room"])
    found = await call.server.engine.read(jobs_seen_from(room))
    found.sort(key=lambda entry: (entry.kind.created_at, entry.kind.name), reverse=True)
    return page_of(call, [_summary(kind) for kind in found])


def jobs_seen_from(room: str) -> Callable[[Reader], list[KindWorkers]]:
    """Return the jobs that are visible in a room, each with its workers."""
    visible = joblib.visible_from(room)
    return lambda reader: [kind for seen in visible for kind in reader.kinds_in(seen)]


async def read_job(call: Call) -> Answer:
    """Show one job, by its full name."""
    joblib.parse_room(call.path_params["room"])
    return Answer({**_shown_job(await _job_named(call)), "worker_id": None})


async def submit(call: Call) -> Answer:
    """Submit a task for a job in a room."""
    request = await call.read(PayloadRequest)
    room = joblib.parse_room(call.path_params["room"])
    if not isinstance(request.payload, dict):
        raise invalid("payload", f"must be an object, not {kind_of(request.payload)}")
    name = joblib.parse_full_name(call.path_params["name"])
    kind = (await _job_named(call)).kind
    if name.room == INTERNAL:
        raise Unavailable(
            f"this server has no executor of its own for {name}",
            code=joblib.INTERNAL_JOB_NOT_CONFIGURED,
            hint=f"register the job in {GLOBAL} or in a room, with a worker that runs it",
        )
    if kind.schema is not None:
        check_payload(kind.schema, request.payload)
    meta = {rooms.ROOM: room, rooms.JOB: name.in_room}
    body = {
        "type": kind.type,
        "args": [request.payload],
        "meta": meta if name.room == room else {**meta, rooms.HOME: name.room},
        "queue": kind.queue,
        # A failed task is not retried.
        "retry": {"max_attempts": 1},
    }
    done = await call.server.engine.run(Enqueue((parse_draft(body),)))
    shown = await _shown_task(call, done.jobs[0].job.id)
    headers = {"Location": f"{TASKS}/{shown['id']}", "Retry-After": LOOK_AGAIN}
    return Answer(shown, 202, headers)


async def list_tasks(call: Call) -> Answer:
    """List the tasks that were submitted in a room, newest first."""
    room = joblib.parse_room(call.path_params["room"])
    return await _list(call, JobFilter(meta={rooms.ROOM: room}))


async def list_job_tasks(call: Call) -> Answer:
    """List the tasks of one job."""
    room = joblib.parse_room(call.path_params["room"])
    kind = (await _job_named(call)).kind
    return await _list(call, JobFilter(queue=kind.queue, type=kind.type, meta={rooms.ROOM: room}))


async def _list(call: Call, job_filter: JobFilter) -> Answer:
    word = call.query_params.get("status")
    states = () if word is None else rooms.STATES[rooms.parse_status(word, tuple(rooms.STATES))]
    job_filter = JobFilter(job_filter.queue, job_filter.type, states=states, meta=job_filter.meta)
    page = _page(call)

    def read(reader: Reader) -> tuple[list[Shown], int]:
        found = reader.find_jobs(job_filter, LOOK_AHEAD).ids
        if states == (State.ACTIVE,):
            # Only the lease distinguishes claimed from running.
            found = [job_id for job_id in found if _has_status(reader, job_id, word)]
        part = found[page.offset : page.offset + page.limit]
        shown = [task for job_id in part if (task := task_of(reader, job_id)) is not None]
        return shown, len(found)

    shown, total = await call.server.engine.read(read)
    return Answer(_paged(page, shown, total))


def _has_status(reader: Reader, job_id: str, word: str | None) -> bool:
    found = reader.job(job_id)
    return found is not None and rooms.status_of(found[0].job, found[1]) == word


async def claim(call: Call) -> Answer:
    """Claim the oldest task that waits for a job of a worker, if there is one."""
    request = await call.read(ClaimRequest)
    worker_id = await require_worker(call, request.worker_id)
    deliveries = await call.server.engine.run(
        Claim(
            (),
            worker_id=worker_id,
            linked=True,
            known=True,
            resume_after_ms=joblib.RESUME_AFTER_MS,
        )
    )
    if not deliveries:
        return Answer({"task": None})
    claimed, lease = deliveries[0].claimed, deliveries[0].lease
    stored = StoredJob(claimed.job, claimed.args, claimed.meta)
    names = rooms.names_of(claimed.job, claimed.meta)
    if names is None:
        names = await call.server.engine.read(lambda reader: _names(reader, claimed.job, worker_id))
    return Answer({"task": _shown(stored, lease, names, worker_id, None)})


async def read_task(call: Call) -> Answer:
    """Show a task; with `Prefer: wait`, wait until it has ended or the time is over."""
    engine = call.server.engine
    stored, _, _ = await _task(call)
    wait_ms = preference(call).wait_ms(engine.rules.profile.max_wait_ms)
    if wait_ms and not rooms.is_over(stored.job):
        await wait_for_end(engine, stored, wait_ms / 1000)
    return Answer(await _shown_task(call, stored.job.id), headers=applied(wait_ms))


async def move_task(call: Call) -> Answer:
    """Set the status of a task, as its worker reports it."""
    request = await call.read(StatusRequest)
    target = rooms.parse_status(request.status, joblib.WORDS)
    stored, lease, worker_id = await _task(call)
    await _require_task(call, worker_id)
    job = stored.job
    joblib.check_move(job, rooms.status_of(job, lease), target)
    engine = call.server.engine
    if target == "cancelled":
        await engine.run(Cancel(job.id))
    elif target == "running":
        await engine.run(Begin(job.id, worker_id))
    elif target == "completed":
        await engine.run(Ack(job.id, worker_id, attempt=job.attempt))
    else:
        fault = parse_fault({"message": request.error, "retryable": False})
        await engine.run(Fail(job.id, fault, worker_id, attempt=job.attempt))
    return Answer(await _shown_task(call, job.id))


def require_admin(call: Call, why: str) -> None:
    """Raise Denied unless the caller is an administrator."""
    if not call.server.settings.keys.is_admin(call.principal):
        raise Denied(why, hint="use a key of an administrator")


async def require_worker(call: Call, worker_id: str) -> str:
    """Return the id of a worker that exists and is the caller's; an administrator may use all."""
    parse_worker_id(worker_id)
    worker = await _worker(call, worker_id)
    if worker is None or is_deleted(worker):
        raise unknown_worker(worker_id)
    if worker.principal != (call.principal or None):
        require_admin(call, f"worker {worker_id} is another principal's")
    return worker_id


async def _require_task(call: Call, worker_id: str | None) -> None:
    worker = None if worker_id is None else await _worker(call, worker_id)
    if worker is None or worker.principal != (call.principal or None):
        require_admin(call, "no worker of this principal has claimed the task")


async def _worker(call: Call, worker_id: str) -> Worker | None:
    return await call.server.engine.read(lambda reader: reader.worker(worker_id))


async def _job_named(call: Call) -> KindWorkers:
    name = joblib.parse_full_name(call.path_params["name"])
    found = await call.server.engine.read(
        lambda reader: _find_kind_workers(reader, name.room, name.in_room)
    )
    if found is None:
        raise joblib.unknown_job(str(name))
    return found


def _find_kind_workers(reader: Reader, room: str, name: str) -> KindWorkers | None:
    return next((kind for kind in reader.kinds_in(room) if kind.kind.name == name), None)


def _kind_workers(reader: Reader, room: str, name: str) -> KindWorkers:
    found = _find_kind_workers(reader, room, name)
    if found is None:
        # Its worker has left in the meantime.
        raise joblib.unknown_job(rooms.full_name(room, name))
    return found


async def _task(call: Call) -> tuple[StoredJob, Lease | None, str | None]:
    """Return the task that the path names, its lease, and its present or last worker."""
    job_id = job_id_in(call, None)

    def read(reader: Reader) -> tuple[StoredJob, Lease | None, str | None] | None:
        found = reader.job(job_id)
        return None if found is None else (*found, _worker_of(reader, *found))

    found = await call.server.engine.read(read)
    if found is None:
        raise _missing(job_id)
    return found


def _missing(task_id: str) -> NotFound:
    return NotFound(
        f"there is no task {task_id}",
        details={"resource_type": "task", "resource_id": task_id},
    )


async def _shown_task(call: Call, job_id: str) -> Shown:
    shown = await call.server.engine.read(lambda reader: task_of(reader, job_id))
    if shown is None:
        raise _missing(job_id)
    return shown


def task_of(reader: Reader, job_id: str) -> Shown | None:
    """Return a task as it is shown; None if it was removed."""
    found = reader.job(job_id)
    if found is None:
        return None
    stored, lease = found
    worker_id = _worker_of(reader, stored, lease)
    names = rooms.names_of(stored.job, stored.meta) or _names(reader, stored.job, worker_id)
    return _shown(stored, lease, names, worker_id, _position(reader, stored.job))


def _worker_of(reader: Reader, stored: StoredJob, lease: Lease | None) -> str | None:
    if lease is not None:
        return lease.worker_id
    return reader.ended_by(stored.job.id) if stored.job.state in TERMINAL else None


def _names(reader: Reader, job: Job, worker_id: str | None) -> TaskNames:
    """Return the names of a plain job: those of the job kind under which its worker runs it."""
    kinds: Sequence[Kind] = () if worker_id is None else reader.kinds_of(worker_id)
    for kind in kinds:
        if (kind.queue, kind.type) == (job.queue, job.type):
            return TaskNames(kind.room, rooms.full_name(kind.room, kind.name))
    return rooms.names_of_plain(job)


def _position(reader: Reader, job: Job) -> int | None:
    if job.state != State.AVAILABLE:
        return None
    before = reader.waiting_before(job, joblib.LAST_POSITION)
    return None if before == joblib.LAST_POSITION else before + 1


def _shown(
    stored: StoredJob,
    lease: Lease | None,
    names: TaskNames,
    worker_id: str | None,
    position: int | None,
) -> Shown:
    job = stored.job
    began = lease.running_at if lease is not None else job.started_at
    return {
        "id": job.id,
        "job_name": names.job,
        "room_id": names.room,
        "status": rooms.status_of(job, lease),
        "created_at": format_timestamp(job.created_at),
        "started_at": None if began is None else format_timestamp(began),
        "completed_at": None if job.finished_at is None else format_timestamp(job.finished_at),
        "worker_id": worker_id,
        "error": rooms.error_of(job),
        "payload": rooms.payload_of(stored.args),
        "queue_position": position,
    }


def _shown_job(kind_workers: KindWorkers) -> Shown:
    kind = kind_workers.kind
    return {
        "id": joblib.id_of(rooms.full_name(kind.room, kind.name)),
        "room_id": kind.room,
        **_summary(kind_workers),
        "schema": {} if kind.schema is None else decode(kind.schema),
    }


def _summary(kind_workers: KindWorkers) -> Shown:
    kind = kind_workers.kind
    name = FullName(kind.room, *kind.name.rpartition(":")[::2])
    return {
        "full_name": str(name) if name.category else rooms.full_name(kind.room, kind.name),
        "category": name.category,
        "name": name.name,
        "workers": list(kind_workers.workers),
    }


def page_of(call: Call, items: Sequence[Item]) -> Answer:
    """Return a page of a list that is complete in memory."""
    page = _page(call)
    return Answer(_paged(page, items[page.offset : page.offset + page.limit], len(items)))


def _page(call: Call) -> Page:
    query = call.query_params
    limit = number(query, "limit", USUAL_PAGE, 0, LARGEST_PAGE)
    return Page(limit, number(query, "offset", 0, 0, 2**53))


def _paged(page: Page, items: Sequence[Any], total: int) -> Shown:
    return {"items": items, "total": total, "limit": page.limit, "offset": page.offset}


ROUTES: Final = (
    Route("POST", "/tasks/claim", claim, WORK),
    Route("GET", "/tasks/{id}", read_task, READ, waits=True),
    Route("PATCH", "/tasks/{id}", move_task, WORK),
    Route("PUT", "/rooms/{room}/jobs", put_job, WORK),
    Route("GET", "/rooms/{room}/jobs", list_jobs, READ),
    Route("GET", "/rooms/{room}/jobs/{name}", read_job, READ),
    Route("GET", "/rooms/{room}/jobs/{name}/tasks", list_job_tasks, READ),
    Route("GET", "/rooms/{room}/tasks", list_tasks, READ),
    Route("POST", "/rooms/{room}/tasks/{name}", submit, ENQUEUE, produces=True),
)
