"""Enqueue into the outbox, within a transaction of the program. Middleware of clients is not
called."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ojs_wire.values import UUID7
from ojs_worker.client.calls import encoded
from ojs_worker.client.requests import JobRequest
from ojs_worker.connections import (
    Dialect,
    Job,
    Statement,
    Wording,
    errors_of,
    execute,
    execute_blocking,
    request_of,
    sqlstate_of,
    translating,
)
from ojs_worker.errors import InvalidRequest, OjsError
from ojs_worker.outbox.tables import TABLE

_INSERT: Final = f"INSERT INTO {TABLE} (job_id, job_type, job_args, job_options) VALUES ("
_PLAIN: Final = (_INSERT, ", ", ", ", ", ", ")")
# Parameters are text first, whatever types a driver has for uuid and jsonb.
_CAST: Final = (
    f"{_INSERT}CAST(CAST(",
    " AS text) AS uuid), CAST(",
    " AS text), CAST(CAST(",
    " AS text) AS jsonb), CAST(CAST(",
    " AS text) AS jsonb))",
)
# An escape of the character 0: with an even number of backslashes before it.
_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
# The signs of it in the errors of drivers.
_NO_TABLE: Final[Mapping[Dialect, tuple[object, ...]]] = {
    "postgresql": ("42P01",),
    "mysql": (1146,),
    "sqlite": (f"no such table: {TABLE}",),
}


class NoTable(OjsError):
    """The database has no table for the outbox."""


async def enqueue(connection: Any, job: Job, /, *args: Any, **named: Any) -> str:
    """Enqueue in the transaction of an asynchronous connection or session; return the job's id.

    Behind a handler come its arguments; behind a type of jobs a list of arguments, and options.
    Raises `NoTransaction`, and `NoTable` where the outbox was not created.
    """
    wording = _wording(request := request_of(job, args, named))
    with translating(_translated):
        await execute(connection, wording)
    return request.id


def enqueue_blocking(connection: Any, job: Job, /, *args: Any, **named: Any) -> str:
    """Enqueue in the transaction of a blocking connection or session; return the job's id."""
    wording = _wording(request := request_of(job, args, named))
    with translating(_translated):
        execute_blocking(connection, wording)
    return request.id


def _wording(request: JobRequest) -> Wording:
    if not UUID7.fullmatch(request.id):
        raise InvalidRequest(f"{request.id!r} is no id of a job, which is a UUIDv7")
    wire = request.wire()
    job_args = encoded(wire["args"], "the arguments").decode()
    others = {name: wire[name] for name in ("meta", "schema") if name in wire}
    options = encoded(request.options | others, "the options").decode()
    values = (request.id, request.type, job_args, options)

    def wording(dialect: Dialect) -> Statement:
        if dialect != "postgresql":
            return Statement(_PLAIN, values)
        for text, what in ((job_args, "the arguments"), (options, "the options")):
            if _NUL.search(text):
                raise InvalidRequest(
                    f"{what} have the character 0 in a text (\\u0000), which no jsonb of"
                    " PostgreSQL can hold"
                )
        return Statement(_CAST, values)

    return wording


def _translated(error: Exception) -> NoTable | None:
    """Return the exception for a table that is missing; None for one that stays as it is."""
    for known in errors_of(error):
        first = known.args[0] if known.args else None
        for dialect, signs in _NO_TABLE.items():
            if first in signs or sqlstate_of(known) in signs:
                return NoTable(
                    f"the database has no table {TABLE}: create it by `ojs outbox create --database"
                    " URL`, or in a migration by the statements of"
                    f" ojs_worker.outbox.statements({dialect!r})"
                )
    return None
