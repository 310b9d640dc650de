"""Rooms, jobs and tasks of the job manager API, mapped to queues, kinds of jobs, and jobs.

pending ──▶ claimed ──▶ running ──▶ completed | failed | cancelled
waits       active      active, and its worker has said that it began
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ojs_server.domain.compat.kind import Kind, type_of
from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.job import TERMINAL, Job, Lease, State
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.tenants.tenant import scoped
from ojs_wire.values import MAX_NAME, QUEUE

# Prefix of the queues of rooms whose names are not valid queue names.
_FOREIGN: Final = "room."
# Members of a job's `meta` that identify its task.
ROOM: Final = "room"
JOB: Final = "job"
# The room of its job, if it is another one.
HOME: Final = "job_room"

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": (State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE),
    "claimed": (State.ACTIVE,),
    "running": (State.ACTIVE,),
    "completed": (State.COMPLETED,),
    "failed": (State.DISCARDED,),
    "cancelled": (State.CANCELLED,),
}
# Longest room part and category, so that both together fit into a name.
MAX_PART: Final = MAX_NAME // 2
# The statuses that a worker may report for a task.
MOVES: Final = ("running", "completed", "failed")


_GONE: Final = ("worker_death", "shutdown")


class _Error(msgspec.Struct):
    type: str
    message: str


_named: Final = msgspec.json.Decoder(dict[str, Any])
_arguments: Final = msgspec.json.Decoder(list[Any])
_error: Final = msgspec.json.Decoder(_Error)


def parse_room(name: str) -> str:
    """Check the name of a room: any printable text without `/`."""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or "/" in name:
        raise invalid("room", f"must be 1 to {MAX_NAME} printable characters without `/`")
    return name


def queue_of(room: str) -> str:
    """Return the queue of a room: the room's name if that is a valid queue name, else a hash of
    it."""
    if QUEUE.fullmatch(room) and not room.startswith(_FOREIGN):
        return room
    return _FOREIGN + "x" + hashlib.sha256(room.encode()).hexdigest()[:32]


def _part(field: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PART:
        raise invalid(field, f"must be a text of 1 to {MAX_PART} characters")
    if ":" in value or not value.isprintable():
        raise invalid(field, "must be printable and without `:`")
    return value


def parse_kind(
    room: str, name: object, category: object, schema: bytes | None, tenant: str | None = None
) -> Kind:
    """Return the job that a worker registers in a room; each tenant has rooms of its own."""
    whole = _part("name", name)
    if category is not None:
        whole = f"{_part('category', category)}:{whole}"
    return Kind(
        scoped(tenant, room),
        whole,
        type_of(whole, "name"),
        queue=queue_of(room),
        schema=schema,
    )


def full_name(room: str, name: str) -> str:
    """Return the name of a room's job outside the room."""
    return f"{room}:{name}"


def job_name(room: str, given: object) -> str:
    """Return the job that a task names, by its short name or its full name."""
    if not isinstance(given, str):
        raise invalid("job", "must be the name of a job of the room")
    return given.removeprefix(f"{room}:")


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


def parse_status(word: str, allowed: tuple[str, ...]) -> str:
    """Parse a status that a request names."""
    if word not in allowed:
        raise invalid("status", f"must be one of {', '.join(allowed)}{nearest(word, allowed)}")
    return word


def is_over(job: Job) -> bool:
    """True if the task has ended for good."""
    return job.state in TERMINAL
