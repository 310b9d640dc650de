"""Tasks: submission, lists, claims, and the reports of workers.

A task may be submitted in another room than the one in which its job is registered.
"""

from collections.abc import Sequence
from typing import Any, Final

from ojs_server.domain.errors import NotFound, Unavailable
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State, StoredJob
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.workers.kind import Kind
from ojs_server.http.access.roles import ENQUEUE, READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import Route
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import fetch_id_of
from ojs_server.http.workers.function_blocks import check_payload
from ojs_server.ops.jobs.begin import Begin
from ojs_server.ops.jobs.enqueue import Enqueue
from ojs_server.ops.jobs.settle import Ack, Cancel, Fail
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.base import Reader
from ojs_server.store.tables.job_lists import LOOK_AHEAD
from ojs_server.systems.jobmanager.claim import OldestTask
from ojs_server.systems.jobmanager.domain import names
from ojs_server.systems.jobmanager.domain import task as tasks
from ojs_server.systems.jobmanager.domain.names import GLOBAL, INTERNAL
from ojs_server.systems.jobmanager.domain.task import TaskNames
from ojs_server.systems.jobmanager.http.access import (
    require_admin,
    require_own_worker,
    worker_of,
)
from ojs_server.systems.jobmanager.http.input import parse_status, read_body, wrong
from ojs_server.systems.jobmanager.http.jobs import find_job
from ojs_server.systems.jobmanager.http.pages import paged, requested_page
from ojs_server.systems.jobmanager.requests import ClaimRequest, StatusRequest, TaskRequest
from ojs_wire.codec import decode
from ojs_wire.values import UUID7, format_timestamp, kind_of

Shown = dict[str, Any]
TASKS: Final = "/v1/joblib/tasks"
# Seconds after which a client should first ask for a new task.
LOOK_AGAIN: Final = "1"
# Workers that cannot name their claims get a task again that they have not begun.
UNNAMED: Final = OldestTask(tasks.RESUME_AFTER_MS)
NAMED: Final = OldestTask()


async def submit(call: Call) -> Answer:
    """Submit a task for a job in a room."""
    request = await read_body(call, TaskRequest)
    room = names.parse_room(call.path_params["room"])
    if not isinstance(request.payload, dict):
        raise wrong("payload", f"must be an object, not {kind_of(request.payload)}")
    name = names.parse_full_name(call.path_params["name"])
    kind = (await find_job(call)).kind
    if name.room == INTERNAL:
        raise Unavailable(
            f"this server has no executor of its own for {name}",
            code=tasks.INTERNAL_JOB_NOT_CONFIGURED,
            hint=f"register the job in {GLOBAL} or in a room, with a worker that runs it",
        )
    if kind.schema is not None:
        check_payload(kind.schema, request.payload)
    meta = {tasks.ROOM: room, tasks.JOB: name.in_room}
    body = {
        "type": kind.type,
        "args": [request.payload],
        "meta": meta if name.room == room else {**meta, tasks.HOME: name.room},
        "queue": kind.queue,
        # A failed task is not retried.
        "retry": {"max_attempts": 1},
        **({} if request.id is None else {"id": request.id}),
    }
    done = await call.server.engine.run(Enqueue((parse_draft(body),)))
    shown = await _shown_task(call, done.jobs[0].job.id)
    headers = {"Location": f"{TASKS}/{shown['id']}", "Retry-After": LOOK_AGAIN}
    return Answer(shown, 202, headers)


async def list_tasks(call: Call) -> Answer:
    """List the tasks that were submitted in a room, newest first."""
    room = names.parse_room(call.path_params["room"])
    return await _list(call, JobFilter(meta={tasks.ROOM: room}))


async def list_job_tasks(call: Call) -> Answer:
    """List the tasks of one job."""
    room = names.parse_room(call.path_params["room"])
    kind = (await find_job(call)).kind
    return await _list(call, JobFilter(queue=kind.queue, type=kind.type, meta={tasks.ROOM: room}))


async def _list(call: Call, job_filter: JobFilter) -> Answer:
    word = call.query_params.get("status")
    states = () if word is None else tasks.STATES[parse_status(word, tuple(tasks.STATES))]
    job_filter = JobFilter(job_filter.queue, job_filter.type, states=states, meta=job_filter.meta)
    page = requested_page(call)

    def read(reader: Reader) -> tuple[list[Shown], int]:
        found = reader.find_jobs(job_filter, LOOK_AHEAD).ids
        if states == (State.ACTIVE,):
            # Only the lease distinguishes claimed from running.
            found = [job_id for job_id in found if _has_status(reader, job_id, word)]
        part = found[page.offset : page.offset + page.limit]
        shown = [task for job_id in part if (task := task_of(reader, job_id)) is not None]
        return shown, len(found)

    shown, total = await call.server.engine.read(read)
    return Answer(paged(page, shown, total))


def _has_status(reader: Reader, job_id: str, word: str | None) -> bool:
    found = reader.job(job_id)
    return found is not None and tasks.status_of(found[0].job, found[1]) == word


async def claim(call: Call) -> Answer:
    """Claim the oldest task that waits for a job of a worker, if there is one."""
    request = await read_body(call, ClaimRequest)
    worker_id = await require_own_worker(call, request.worker_id)
    deliveries = await call.server.engine.run(
        Claim(
            (),
            worker_id=worker_id,
            fetch_id=fetch_id_of(request.fetch_id),
            known=True,
            policy=NAMED if request.fetch_id else UNNAMED,
        )
    )
    if not deliveries:
        return Answer({"task": None})
    claimed, lease = deliveries[0].claimed, deliveries[0].lease
    stored = StoredJob(claimed.job, claimed.args, claimed.meta)
    own = tasks.names_of(claimed.job, claimed.meta)
    if own is None:
        own = await call.server.engine.read(lambda reader: _names(reader, claimed.job, worker_id))
    return Answer({"task": _shown(stored, lease, own, worker_id, None)})


async def read_task(call: Call) -> Answer:
    """Show a task; with `Prefer: wait`, wait until it has ended or the time is over."""
    engine = call.server.engine
    stored, _, _ = await _task(call)
    wait_ms = preference(call).wait_ms(engine.rules.profile.max_wait_ms)
    if not wait_ms or tasks.is_over(stored.job):
        return Answer(await _shown_task(call, stored.job.id))
    await wait_for_end(engine, stored, wait_ms / 1000)
    return Answer(await _shown_task(call, stored.job.id), headers=applied(wait_ms))


async def move_task(call: Call) -> Answer:
    """Set the status of a task, as its worker reports it."""
    request = await read_body(call, StatusRequest)
    target = parse_status(request.status, tuple(tasks.STATES))
    stored, lease, holder = await _task(call)
    await _require_task(call, holder)
    job, engine = stored.job, call.server.engine
    worker_id, attempt = request.worker_id, None
    if worker_id is None or target not in tasks.REPORTS:
        tasks.check_move(job, tasks.status_of(job, lease), target)
        worker_id, attempt = holder, job.attempt
    if target == "cancelled":
        await engine.run(Cancel(job.id))
    elif target == "running":
        await engine.run(Begin(job.id, worker_id))
    elif target == "completed":
        result = result_of(request.result, call.server.settings.max_result_bytes)
        await engine.run(Ack(job.id, worker_id, attempt=attempt, result=result))
    else:
        fault = parse_fault({"message": request.error, "retryable": False})
        await engine.run(Fail(job.id, fault, worker_id, attempt=attempt))
    return Answer(await _shown_task(call, job.id))


async def _require_task(call: Call, worker_id: str | None) -> None:
    worker = None if worker_id is None else await worker_of(call, worker_id)
    if worker is None or worker.principal != (call.principal or None):
        require_admin(call, "no worker of this principal has claimed the task")


async def _task(call: Call) -> tuple[StoredJob, Lease | None, str | None]:
    """Return the task that the path names, its lease, and its present or last worker."""
    job_id = call.path_params["id"]
    # Not an id of this server, so there is no such task.
    if not UUID7.fullmatch(job_id):
        raise _missing(job_id[:100])

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
    own = tasks.names_of(stored.job, stored.meta) or _names(reader, stored.job, worker_id)
    return _shown(stored, lease, own, worker_id, _position(reader, stored.job))


def _worker_of(reader: Reader, stored: StoredJob, lease: Lease | None) -> str | None:
    if lease is not None:
        return lease.worker_id
    return reader.ended_by(stored.job.id) if stored.job.state in TERMINAL else None


def _names(reader: Reader, job: Job, worker_id: str | None) -> TaskNames:
    """Return the names of a plain job: those of the job kind under which its worker runs it."""
    kinds: Sequence[Kind] = () if worker_id is None else reader.kinds_of(worker_id)
    for kind in kinds:
        if (kind.queue, kind.type) == (job.queue, job.type):
            return TaskNames(kind.room, names.full_name(kind.room, kind.name))
    return tasks.names_of_plain(job)


def _position(reader: Reader, job: Job) -> int | None:
    if job.state != State.AVAILABLE:
        return None
    before = reader.waiting_before(job, tasks.LAST_POSITION)
    return None if before == tasks.LAST_POSITION else before + 1


def _shown(
    stored: StoredJob,
    lease: Lease | None,
    own: TaskNames,
    worker_id: str | None,
    position: int | None,
) -> Shown:
    job = stored.job
    began = lease.running_at if lease is not None else job.started_at
    return {
        "id": job.id,
        "job_name": own.job,
        "room_id": own.room,
        "status": tasks.status_of(job, lease),
        "created_at": format_timestamp(job.created_at),
        "started_at": None if began is None else format_timestamp(began),
        "completed_at": None if job.finished_at is None else format_timestamp(job.finished_at),
        "worker_id": worker_id,
        "error": tasks.error_of(job),
        "payload": tasks.payload_of(stored.args),
        "queue_position": position,
        **({} if stored.result is None else {"result": decode(stored.result)}),
    }


ROUTES: Final = (
    Route("POST", "/tasks/claim", claim, WORK),
    Route("GET", "/tasks/{id}", read_task, READ, waits=True),
    Route("PATCH", "/tasks/{id}", move_task, WORK),
    Route("GET", "/rooms/{room}/jobs/{name}/tasks", list_job_tasks, READ),
    Route("GET", "/rooms/{room}/tasks", list_tasks, READ),
    Route("POST", "/rooms/{room}/tasks/{name}", submit, ENQUEUE, produces=True),
)
