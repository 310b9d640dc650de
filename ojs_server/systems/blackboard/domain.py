"""The blackboard's view of jobs: three phases, and the results that workers push."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.job import Job, State
from ojs_server.domain.jobs.poll_state import place_of
from ojs_server.domain.jobs.reported_error import Fault, parse_fault
from ojs_server.domain.suggestions import nearest
from ojs_wire import codec
from ojs_wire.values import kind_of

# The queue of jobs that are created on the blackboard itself.
QUEUE: Final = "blackboard"
# Limit for `acquires`, and for `dbUpdates` where it is a list.
MAX_ITEMS: Final = 1000
UPDATES: Final = ("create", "patch", "delete")


class Phase(StrEnum):
    """The hook of its function block that a job runs."""

    ACQUIRE = "ACQUIRE"
    EXECUTE = "EXECUTE"
    ROLLBACK = "ROLLBACK"


_SUCCESS: Final = frozenset({"success", "completed"})
_STATUSES: Final = ("success", "completed", "failure", "failed")


class Push(msgspec.Struct, frozen=True):
    """A checked result: the outcome of the job, and the data to keep."""

    data: Any
    acquires: list[Any] | dict[str, Any] | None
    db_updates: list[Any] | dict[str, Any] | None
    fault: Fault | None

    def stored(self) -> bytes:
        """Return the JSON that the job keeps as its result."""
        kept = {"acquires": self.acquires, "db_updates": self.db_updates}
        return codec.encode({"result": self.data, **{k: v for k, v in kept.items() if v}})


class _Meta(msgspec.Struct):
    phase: object = None


def phase_of(meta: bytes) -> Phase:
    """Return the phase of a job; EXECUTE if it names none."""
    phase = msgspec.json.decode(meta, type=_Meta).phase
    return (
        Phase(phase.upper())
        if isinstance(phase, str) and phase.upper() in Phase.__members__
        else Phase.EXECUTE
    )


def parse_phase(word: str | None) -> Phase:
    """Parse the phase that a request names."""
    if word is None:
        return Phase.EXECUTE
    if word.upper() not in Phase.__members__:
        raise invalid("jobType", f"must be one of {', '.join(Phase)}{nearest(word.upper(), Phase)}")
    return Phase(word.upper())


def view(job: Job) -> dict[str, Any]:
    """Return the status of a job as the blackboard API shows it."""
    error: Mapping[str, Any] = {} if job.error is None else codec.decode(job.error)
    return {
        "jobId": job.id,
        "blackboard_status": place_of(job.state),
        "outcome": _OUTCOMES.get(job.state),
        "failure_reason": error.get("type") if job.state == State.DISCARDED else None,
    }


_OUTCOMES: Final[Mapping[str, str]] = {
    State.COMPLETED: "success",
    State.DISCARDED: "failure",
    State.CANCELLED: "cancelled",
}


def parse_push(
    phase: Phase, status: str, result: object, error: object, acquires: object, updates: object
) -> Push:
    """Check a worker's result in all but the schema of its block; None for members not sent."""
    word = status.lower()
    if word not in _STATUSES:
        allowed = ", ".join(_STATUSES)
        raise invalid("status", f"must be one of {allowed}{nearest(word, _STATUSES)}")
    if error is not None and (result is not None or word in _SUCCESS):
        raise invalid("error", "must not be combined with a result or a success")
    for field, given, required in (
        ("acquires", acquires, Phase.ACQUIRE),
        ("dbUpdates", updates, Phase.EXECUTE),
    ):
        if given is not None and phase is not required:
            raise invalid(field, f"belongs to {required} jobs; this one is for {phase}")
    if word in _SUCCESS:
        return Push(result, _acquires(acquires), _updates(updates), None)
    # Workers that do not know `error` report the failure in `result`.
    fault = error if error is not None else result if isinstance(result, str | dict) else None
    return Push(None, None, None, parse_fault(fault))


def _acquires(given: object) -> list[Any] | dict[str, Any] | None:
    if given is None or (isinstance(given, list | dict) and len(given) <= MAX_ITEMS):
        return given
    raise invalid("acquires", f"must be a list or an object of at most {MAX_ITEMS} entities")


def _updates(given: object) -> list[Any] | dict[str, Any] | None:
    if given is None:
        return None
    if isinstance(given, list):
        if len(given) > MAX_ITEMS or not all(isinstance(item, dict) for item in given):
            raise invalid("dbUpdates", f"as a list must hold objects, {MAX_ITEMS} at most")
        return given
    if not isinstance(given, dict):
        raise invalid("dbUpdates", f"must be an object or a list, not {kind_of(given)}")
    for name, items in given.items():
        if name not in UPDATES:
            raise invalid("dbUpdates", f"may hold {', '.join(UPDATES)}{nearest(name, UPDATES)}")
        if not isinstance(items, list):
            raise invalid(f"dbUpdates.{name}", f"must be a list, not {kind_of(items)}")
    return given
