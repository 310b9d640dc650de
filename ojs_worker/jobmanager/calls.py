"""Every call of a job manager: its request, and how its answer is read."""

from math import ceil
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from ojs_worker.client.calls import V1, Call, Json, answer_as, encoded, no_answer
from ojs_worker.transport import Request
from ojs_worker.transport.streams import stream_of

BASE: Final = "/v1/joblib"
# The category of jobs that name none.
USUAL_CATEGORY: Final = "modifiers"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task: pending, claimed, running, and then completed, failed or cancelled."""

    # Its id.
    id: str
    # The room that it belongs to.
    room_id: str
    # The full name of its job.
    job: str = msgspec.field(name="job_name")
    # `pending`, `claimed`, `running`, `completed`, `failed` or `cancelled`.
    status: str
    # The parameters.
    payload: dict[str, Any] = {}
    # The worker that holds it.
    worker_id: str | None = None
    # The result that its worker reported.
    result: Any = None
    # The message of its failure.
    error: str | None = None
    # The moment of its submission.
    created_at: str | None = None
    # The start of its run.
    started_at: str | None = None
    # The moment of its end.
    completed_at: str | None = None

    @property
    def ended(self) -> bool:
        """True if the task is in a final state."""
        return self.status in ("completed", "failed", "cancelled")


class RoomJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job of a room, and the workers that run it."""

    name: str
    full_name: str
    category: str | None = None
    workers: list[str] = []
    # Set in the answer to a registration, as are those that follow.
    schema: dict[str, Any] | None = None
    queue: str = ""
    job_type: str = ""
    worker_id: str | None = None

    @property
    def room_id(self) -> str:
        """The room that it is registered in."""
        return self.full_name.partition(":")[0]


class _Tasks(msgspec.Struct):
    items: list[Task]


class _Jobs(msgspec.Struct):
    items: list[RoomJob]


class _Claimed(msgspec.Struct):
    task: Task | None = None


_task = msgspec.json.Decoder(Task)
_tasks = msgspec.json.Decoder(_Tasks)
_job = msgspec.json.Decoder(RoomJob)
_jobs = msgspec.json.Decoder(_Jobs)
_claimed = msgspec.json.Decoder(_Claimed)


def put_job(
    room: str, name: str, category: str | None, schema: Json | None, worker_id: str | None
) -> Call[RoomJob]:
    """Register a job of a room for a worker; without an id the server makes the worker."""
    body = {
        "name": name,
        "category": category or USUAL_CATEGORY,
        "schema": schema,
        "worker_id": worker_id,
    }
    return Call(
        Request("PUT", f"{_room(room)}/jobs", encoded(body, "the job")),
        lambda reply: answer_as(reply, _job),
        # Without an id, each call would make another worker.
        repeatable=worker_id is not None,
    )


def list_jobs(room: str) -> Call[list[RoomJob]]:
    """List the jobs that a room sees."""
    return Call(Request("GET", f"{_room(room)}/jobs"), lambda reply: answer_as(reply, _jobs).items)


def submit(room: str, job: str, payload: Json, task_id: str) -> Call[Task]:
    """Submit a task for a job; its id is the client's, so that it may be sent again.

    The job may be named without its room, or without its room and its category.
    """
    parts = job.count(":")
    name = job if parts > 1 else f"{room}:{job}" if parts else f"{room}:{USUAL_CATEGORY}:{job}"
    body = encoded({"payload": payload, "id": task_id}, "the payload")
    path = f"{_room(room)}/tasks/{quote(name, safe='')}"
    return Call(Request("POST", path, body), lambda reply: answer_as(reply, _task))


def list_tasks(room: str, status: str | None) -> Call[list[Task]]:
    """List the tasks of a room, newest first."""
    query = "" if status is None else "?" + urlencode({"status": status})
    return Call(
        Request("GET", f"{_room(room)}/tasks{query}"), lambda reply: answer_as(reply, _tasks).items
    )


def get_task(task_id: str, wait_s: float = 0.0) -> Call[Task]:
    """Return a task; with `wait_s`, wait until it has ended or the time is over."""
    headers = {"Prefer": f"wait={ceil(wait_s)}"} if wait_s else None
    return Call(
        Request("GET", _task_path(task_id), headers=headers), lambda reply: answer_as(reply, _task)
    )


def claim(worker_id: str, fetch_id: str) -> Call[Task | None]:
    """Claim the oldest task that waits for any of a worker's jobs; repeated under the id of a claim
    whose answer was lost, it returns the task of that claim."""
    body = encoded({"worker_id": worker_id, "fetch_id": fetch_id}, "the claim")
    return Call(
        Request("POST", f"{BASE}/tasks/claim", body), lambda reply: answer_as(reply, _claimed).task
    )


def move(
    task_id: str, status: str, worker_id: str, *, result: Any = None, error: str | None = None
) -> Call[Task]:
    """Set the status of a task to running, completed or failed."""
    body = {"status": status, "worker_id": worker_id}
    if result is not None:
        body["result"] = result
    if error is not None:
        body["error"] = error
    return Call(
        Request("PATCH", _task_path(task_id), encoded(body, "the result")),
        lambda reply: answer_as(reply, _task),
        repeatable=False,
    )


def beat(worker_id: str) -> Call[None]:
    """Send a heartbeat; 404 if the server does not know the worker any more."""
    return Call(Request("PATCH", _worker_path(worker_id), b"{}"), no_answer)


def session(worker_id: str) -> Request:
    """Return the request of the session stream, whose end tells the server that the worker is
    gone."""
    return stream_of(f"{V1}/workers/{quote(worker_id, safe='')}/session")


def leave(worker_id: str) -> Call[None]:
    """Deregister a worker; its tasks fail."""
    return Call(Request("DELETE", _worker_path(worker_id)), no_answer, repeatable=False)


def _room(room: str) -> str:
    return f"{BASE}/rooms/{quote(room, safe='')}"


def _task_path(task_id: str) -> str:
    return f"{BASE}/tasks/{quote(task_id, safe='')}"


def _worker_path(worker_id: str) -> str:
    return f"{BASE}/workers/{quote(worker_id, safe='')}"
