"""Names of the job manager: rooms, jobs in them, and the queues and types that these are here."""

import hashlib
from typing import Final, NamedTuple
from uuid import UUID, uuid5

from ojs_server.domain.errors import NotFound, invalid
from ojs_server.domain.workers.kind import Kind, type_of
from ojs_wire.values import MAX_NAME, QUEUE

# Rooms visible to every other room; only administrators register jobs there.
GLOBAL: Final = "@global"
INTERNAL: Final = "@internal"
# Longest name and category, so that both together fit into the name of a kind.
MAX_PART: Final = MAX_NAME // 2
# Prefix of the queues of rooms whose names are not valid queue names.
_FOREIGN: Final = "room."
# The namespace of the ids that are derived from names of jobs.
_NAMES: Final = UUID("6f6a7300-6a6f-5d6c-8962-000000000034")


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
    """Check the name of a room: printable text without `/`; those with `@` are the server's own."""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or "/" in name:
        raise invalid("room", f"must be 1 to {MAX_NAME} printable characters without `/`")
    if name not in (GLOBAL, INTERNAL) and ("@" in name or ":" in name):
        raise invalid(
            "room", f"has invalid characters: `@` and `:` are only in {GLOBAL} and {INTERNAL}"
        )
    return name


def queue_of(room: str) -> str:
    """Return the queue of a room: the room's name if that is a valid queue name, else a hash of
    it."""
    if QUEUE.fullmatch(room) and not room.startswith(_FOREIGN):
        return room
    return _FOREIGN + "x" + hashlib.sha256(room.encode()).hexdigest()[:32]


def parse_category(value: str, allowed: tuple[str, ...]) -> str:
    """Check the category of a job."""
    if value not in allowed:
        raise invalid("category", f"must be one of {', '.join(allowed)}")
    return _part("category", value)


def parse_kind(room: str, name: str, category: str, schema: bytes) -> Kind:
    """Return the kind of job that a worker registers in a room."""
    whole = f"{category}:{_part('name', name)}"
    return Kind(room, whole, type_of(whole, "name"), queue=queue_of(room), schema=schema)


def _part(field: str, value: str) -> str:
    if not 0 < len(value) <= MAX_PART:
        raise invalid(field, f"must be a text of 1 to {MAX_PART} characters")
    if ":" in value or not value.isprintable():
        raise invalid(field, "must be printable and without `:`")
    return value


def full_name(room: str, name: str) -> str:
    """Return the name of a room's job outside the room."""
    return f"{room}:{name}"


def parse_full_name(text: str) -> FullName:
    """Split a full name into its parts; an invalid one names no job."""
    parts = text.split(":", 2)
    if len(parts) != 3:
        raise NotFound(
            f"Invalid job name format: {text[:300]} names no job",
            details={"resource_type": "room_job", "resource_id": text[:300]},
            hint="write it as room:category:name",
        )
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
