"""Tasks of the job manager: their states, and how they are jobs here.

pending ──▶ claimed ──▶ running ──▶ completed
   │           ├───────────┴──────▶ failed
   └───────────┴──────────────────▶ cancelled

A task waits while it is pending; claimed and running it is active, and its worker has said that it
began once it runs.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State
from ojs_server.systems.jobmanager.domain.names import full_name, queue_of
from ojs_wire.codes import Code

# Members of a job's `meta` that identify its task.
ROOM: Final = "room"
JOB: Final = "job"
# The room of its job, if it is another one.
HOME: Final = "job_room"
# A task claimed longer ago than this and not begun is handed to its worker again: the answer was
# lost.
RESUME_AFTER_MS: Final = 5_000
# Positions in a queue are counted up to this one.
LAST_POSITION: Final = 1_000

# Not a code of OJS: only the job manager API answers it.
INTERNAL_JOB_NOT_CONFIGURED: Final = Code(
    "internal_job_not_configured", 503, False, "internal_job_not_configured"
)

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": (State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE),
    "claimed": (State.ACTIVE,),
    "running": (State.ACTIVE,),
    "completed": (State.COMPLETED,),
    "failed": (State.DISCARDED,),
    "cancelled": (State.CANCELLED,),
}
MOVES: Final[Mapping[str, frozenset[str]]] = {
    "pending": frozenset({"cancelled"}),
    "claimed": frozenset({"running", "failed", "cancelled"}),
    "running": frozenset({"completed", "failed", "cancelled"}),
}
# The states that the worker of a task reports.
REPORTS: Final = frozenset({"running", "completed", "failed"})

# The event for changed jobs of a room, and the events of tasks with the status that is announced.
JOBS_CHANGED: Final = "job_types.changed"
ANNOUNCED_STATUS: Final[Mapping[str, str]] = {
    "job.enqueued": "pending",
    "job.released": "pending",
    "dead_letter.retried": "pending",
    "job.started": "claimed",
    "task.running": "running",
    "job.completed": "completed",
    "job.discarded": "failed",
    "job.cancelled": "cancelled",
}

_GONE: Final = ("worker_death", "shutdown")


class _Error(msgspec.Struct):
    type: str
    message: str


_named: Final = msgspec.json.Decoder(dict[str, Any])
_arguments: Final = msgspec.json.Decoder(list[Any])
_error: Final = msgspec.json.Decoder(_Error)


class TaskNames(NamedTuple):
    """The room that a task was submitted in, and the full name of its job."""

    room: str
    job: str


def names_of(job: Job, meta: bytes) -> TaskNames | None:
    """Return the room and the job name of a task; None if it was enqueued as a plain job."""
    found = _named.decode(meta)
    room, name, home = found.get(ROOM), found.get(JOB), found.get(HOME, found.get(ROOM))
    if (
        isinstance(room, str)
        and isinstance(name, str)
        and isinstance(home, str)
        and queue_of(home) == job.queue
    ):
        return TaskNames(room, full_name(home, name))
    return None


def names_of_plain(job: Job) -> TaskNames:
    """Return the name of a plain job as a task: its queue and type."""
    return TaskNames(job.queue, full_name(job.queue, job.type))


def payload_of(args: bytes) -> dict[str, Any]:
    """Return the payload of a task; arguments that are not one object become `args`."""
    given = _arguments.decode(args)
    if len(given) == 1 and isinstance(given[0], dict):
        return given[0]
    return {"args": given} if given else {}


def status_of(job: Job, lease: Lease | None) -> str:
    """Return the status of a task."""
    if job.state == State.ACTIVE:
        began = lease is not None and lease.running_at is not None
        return "running" if began else "claimed"
    return next(name for name, states in STATES.items() if job.state in states)


def error_of(job: Job) -> str | None:
    """Return the error of a failed task; for a lost worker, the text that job managers use."""
    if job.error is None:
        return None
    error = _error.decode(job.error)
    return "Worker disconnected" if error.type in _GONE else error.message


def is_over(job: Job) -> bool:
    """True if the task has ended for good."""
    return job.state in TERMINAL


def check_move(job: Job, status: str, target: str) -> None:
    """Raise Conflict unless a task may change from one state to another."""
    if target not in MOVES.get(status, ()):
        raise Conflict(
            f"the task is {status} and cannot become {target}",
            details={"resource_type": "task", "resource_id": job.id, "status": status},
        )


def announced_task(task: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Return the status of a task for an event; the task itself may have moved on since."""
    ended = status in ("completed", "failed", "cancelled")
    waits = status == "pending"
    return {
        "id": task["id"],
        "name": task["job_name"],
        "room_id": task["room_id"],
        "status": status,
        "created_at": task["created_at"],
        "started_at": task["started_at"] if ended or status == "running" else None,
        "completed_at": task["completed_at"] if ended else None,
        "queue_position": task["queue_position"] if waits else None,
        "worker_id": None if waits else task["worker_id"],
        "error": task["error"] if ended else None,
    }
