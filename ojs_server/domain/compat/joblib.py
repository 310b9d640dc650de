"""The job manager API under `/v1/joblib`: names of rooms, jobs and tasks, and the states of a
task.

pending ──▶ claimed ──▶ running ──▶ completed
   │           ├───────────┴──────▶ failed
   └───────────┴──────────────────▶ cancelled
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from ojs_server.domain.compat import room as rooms
from ojs_server.domain.errors import Conflict, NotFound, invalid
from ojs_server.domain.jobs.job import Job
from ojs_wire.codes import Code

# Rooms visible to every other room; only administrators register jobs there.
GLOBAL: Final = "@global"
INTERNAL: Final = "@internal"
CATEGORIES: Final = ("modifiers", "selections", "analysis")
# A job claimed longer ago than this and not begun is handed to its worker again: the answer was
# lost.
RESUME_AFTER_MS: Final = 5_000
# Positions in a queue are counted up to this one.
LAST_POSITION: Final = 1_000
# The namespace of the ids that are derived from names of jobs and providers.
_NAMES: Final = UUID("6f6a7300-6a6f-5d6c-8962-000000000034")

# Not a code of OJS: only the job manager API answers it.
INTERNAL_JOB_NOT_CONFIGURED: Final = Code(
    "internal_job_not_configured", 503, False, "internal_job_not_configured"
)

MOVES: Final[Mapping[str, frozenset[str]]] = {
    "pending": frozenset({"cancelled"}),
    "claimed": frozenset({"running", "failed", "cancelled"}),
    "running": frozenset({"completed", "failed", "cancelled"}),
}
WORDS: Final = ("running", "completed", "failed", "cancelled")

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


class FullName(NamedTuple):
    """The name of a job or provider: the room it is registered in, its category, and its name."""

    room: str
    category: str
    name: str

    @property
    def in_room(self) -> str:
        """The name under which the room stores the kind of job."""
        return f"{self.category}:{self.name}"

    def __str__(self) -> str:
        return f"{self.room}:{self.category}:{self.name}"


def parse_room(name: str) -> str:
    """Check the name of a room; those with `@` are the server's own."""
    room = rooms.parse_room(name)
    if room not in (GLOBAL, INTERNAL) and ("@" in room or ":" in room):
        raise invalid("room", f"must be without `@` and `:`, or {GLOBAL} or {INTERNAL}")
    return room


def parse_category(value: str, allowed: tuple[str, ...]) -> str:
    """Check the category of a job."""
    if value not in allowed:
        raise invalid("category", f"must be one of {', '.join(allowed)}")
    return value


def parse_full_name(text: str) -> FullName:
    """Split a full name into its parts; an invalid one names no job."""
    parts = text.split(":", 2)
    if len(parts) != 3:
        raise unknown_job(text)
    return FullName(*parts)


def unknown_job(name: str) -> NotFound:
    """Return the error for a job that no worker has registered."""
    return NotFound(
        f"there is no job {name[:300]}",
        details={"resource_type": "room_job", "resource_id": name[:300]},
        hint="a job is there once a worker has registered it",
    )


def visible_from(room: str) -> tuple[str, ...]:
    """Return the rooms whose jobs are visible in a room."""
    return (room,) if room in (GLOBAL, INTERNAL) else (room, GLOBAL, INTERNAL)


def id_of(name: str) -> str:
    """Return the id of a job; equal names have equal ids."""
    return str(uuid5(_NAMES, name))


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
