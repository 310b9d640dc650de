"""Registered kinds of jobs: the function blocks and room jobs of the compatible APIs."""

import hashlib

import msgspec

from ojs_server.domain.errors import invalid
from ojs_wire.codec import Json
from ojs_wire.values import JOB_TYPE, MAX_NAME

# Function blocks belong to no room.
BLOCKS = ""
# Prefix of the types made for names that are not valid job types.
_FOREIGN = "kind."


class Kind(msgspec.Struct, frozen=True):
    """A kind of job in another system, and its OJS job type; the schemas are JSON."""

    room: str
    name: str
    type: str
    queue: str | None = None
    schema: Json | None = None
    result_schema: Json | None = None
    created_at: int = 0
    updated_at: int = 0
    deleted_at: int | None = None


def type_of(name: str, field: str = "functionBlockId") -> str:
    """Return the job type for a name; the name itself if it is a valid type.

    Other names, of any characters, are hashed; they are found by their records only.
    """
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise invalid(field, f"must be 1 to {MAX_NAME} printable characters")
    if JOB_TYPE.fullmatch(name) and not name.startswith(_FOREIGN):
        return name
    return _FOREIGN + "x" + hashlib.sha256(name.encode()).hexdigest()[:32]
