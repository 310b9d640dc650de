"""Makers of columns, and the columns of jobs, which several nouns list.

The names of columns never change, new ones only join.
"""

from typing import Any, Final

import msgspec

from ojs_cli.output import Column, column
from ojs_cli.text import age, between, cell, elided, moment_ms, span
from ojs_wire.values import parse_duration

Json = dict[str, Any]


def age_of(member: str, head: str = "AGE", *, wide: bool = False) -> Column:
    """Make a column of how long ago a timestamp was."""
    return Column(
        head,
        lambda item, now: age(item.get(member), now),
        lambda item: item.get(member),
        wide=wide,
        right=True,
    )


def until(member: str, head: str) -> Column:
    """Make a column of how long it is until a timestamp."""

    def show(item: Json, now: int) -> str:
        moment = moment_ms(item.get(member))
        return "" if moment is None else span(max(moment - now, 0))

    return Column(head, show, lambda item: item.get(member), right=True)


def rate_of(head: str, path: str) -> Column:
    """Make a column of a limit for a period, such as `100/1m`."""
    plain = column(head, path)

    def read(item: Json) -> str:
        found = plain.raw(item) if plain.raw is not None else None
        return f"{found['limit']}/{_period(found.get('period'))}" if found else ""

    return Column(head, lambda item, _: cell(read(item)), read, right=True)


def _period(text: Any) -> str:
    try:
        return span(parse_duration(text, 1000))
    except ValueError:
        return str(text)


def listed(head: str, path: str, *, wide: bool = False) -> Column:
    """Make a column of a list of names."""
    plain = column(head, path)

    def read(item: Json) -> str:
        found = plain.raw(item) if plain.raw is not None else None
        return ",".join(map(str, found or ()))

    return Column(head, lambda item, _: cell(read(item)), read, wide=wide, cut=True)


def counted_attempts(item: Json) -> int:
    """Return the attempts of a job that count: all deliveries but those that were given back."""
    return int(item.get("attempt") or 0) - int(item.get("releases") or 0)


def _attempt(item: Json, _: int = 0) -> str:
    most = item.get("max_attempts")
    return f"{counted_attempts(item)}/{most}" if most else cell(item.get("attempt"))


def _run_time(item: Json, now: int) -> str:
    start = item.get("started_at")
    if item.get("state") == "active":
        return age(start, now)
    ends = (item.get(f"{state}_at") for state in ("completed", "discarded", "cancelled"))
    return between(start, next((end for end in ends if end), None)) if start else ""


def _error(item: Json, _: int = 0) -> str:
    error = item.get("error")
    if not isinstance(error, dict):
        return cell(error)
    kind = error.get("type") or error.get("code") or ""
    return cell(f"{kind}: {error.get('message', '')}")


# Styles of the states of a thing that can be paused.
PAUSABLE: Final = {"active": "cyan", "paused": "bold yellow"}
JOB_ID: Final = msgspec.structs.replace(column("ID", "id"), narrow=elided)
ATTEMPTS: Final = Column("ATT", _attempt, _attempt, right=True)
ERROR: Final = Column("ERROR", _error, _error, cut=True)
ARGS: Final = column("ARGS", "args", wide=True, cut=True)
JOB_STATES: Final = {
    "active": "cyan",
    "available": "blue",
    "completed": "green",
    "retryable": "yellow",
    "discarded": "bold red",
    "cancelled": "dim",
}
JOBS: Final = (
    JOB_ID,
    column("TYPE", "type"),
    column("QUEUE", "queue"),
    column("STATE", "state", states=JOB_STATES),
    ATTEMPTS,
    age_of("created_at"),
    Column("RUN", _run_time, right=True),
    column("PRIO", "priority", wide=True, right=True),
    column("WORKER", "worker_id", wide=True),
    column("TAGS", "tags", wide=True),
    msgspec.structs.replace(ERROR, wide=True),
    ARGS,
)
