"""Jobs by the keys of Zeebe's clients, and the errors that tell of their states."""

from typing import Any, Final

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.job import State, StoredJob
from ojs_server.http.access.authorization import require_own
from ojs_server.http.any_call import AnyCall
from ojs_server.ops.operation import OnJob
from ojs_server.store.base import Reader

# Of the largest key.
_DIGITS: Final = 19


def parse_key(text: str) -> int:
    """Return a key that REST has as text; raises NotFound for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise NotFound(f"there is no job with the key {text[:100]}")
    return min(int(text), 2**63 - 1)


async def id_of(call: AnyCall, key: int) -> str:
    """Return the id of the job with this key, if the caller may see it."""

    def look(reader: Reader) -> str | None:
        # Keys are 64-bit numbers from 1 on.
        return reader.job_numbered(key) if key > 0 else None

    job_id = await call.server.engine.read(look)
    if job_id is None:
        raise missing(key)
    try:
        await require_own(call, job_id)
    except NotFound:
        raise missing(key) from None
    return job_id


async def load(call: AnyCall, key: int, job_id: str) -> StoredJob:
    """Return a job that was there before."""
    found = await call.server.engine.read(lambda reader: reader.job(job_id))
    if found is None:
        raise missing(key)
    return found[0]


async def settle(call: AnyCall, key: int, op: OnJob[Any]) -> None:
    """Run an operation on a job; raises NotFound if it has ended."""
    try:
        await call.server.engine.run(op)
    except NotFound:
        raise missing(key) from None
    except Conflict as error:
        state = (error.details or {}).get("current_state")
        if state in (State.COMPLETED, State.CANCELLED):
            raise missing(key) from None
        if state == State.DISCARDED:
            raise Conflict(
                f"an incident is open on job {key}; resolve it first", details=error.details
            ) from None
        raise Conflict(
            f"job {key} is not activated any more, it is {state}", details=error.details
        ) from None


def missing(key: int) -> NotFound:
    """Return the error for a key that no job has, or one that has ended."""
    return NotFound(
        f"there is no job with the key {key}, or it has ended",
        details={"resource_type": "job", "resource_id": str(key)},
    )
