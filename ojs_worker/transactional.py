"""Enqueue within a transaction of the program, where its PostgreSQL database is the server's, too.

    from ojs_worker import transactional

    with psycopg.connect("dbname=shop") as connection:
        connection.execute("INSERT INTO orders VALUES (1)")
        transactional.enqueue_blocking(connection, send_email, "ada@example.org")

A connection is one of psycopg, asyncpg, SQLAlchemy (or a session of it) or Django. The job is there
once its transaction is committed. Middleware of clients is not called.
"""

import json
from functools import partial
from typing import Any, Final

from ojs_wire import codes
from ojs_worker.client.calls import encoded
from ojs_worker.client.requests import JobRequest
from ojs_worker.connections import (
    Dialect,
    Job,
    NoTransaction,
    Statement,
    Wording,
    errors_of,
    execute,
    execute_blocking,
    request_of,
    sqlstate_of,
    translating,
)
from ojs_worker.errors import OjsError, refusal

__all__ = ["NoFunction", "NoTransaction", "enqueue", "enqueue_blocking"]
SCHEMA: Final = "ojs"

# The SQLSTATE of a refusal by the server's functions.
_REFUSED: Final = "OJS01"
_DENIED: Final = "42501"
# A function or a schema is missing.
_MISSING: Final = frozenset({"42883", "3F000"})
_STATUSES: Final = {code.name: code.status for code in codes.ALL}


class NoFunction(OjsError):
    """The database has no function that enqueues."""


async def enqueue(
    connection: Any, job: Job, /, *args: Any, in_schema: str = SCHEMA, **named: Any
) -> str:
    """Enqueue in the transaction of an asynchronous connection or session; return the job's id.

    Behind a handler come its arguments; behind a type of jobs a list of arguments, and options.
    `in_schema` is the schema of the server. Raises `Refused`, after which the transaction, or its
    innermost savepoint, has to be rolled back, and `NoTransaction`.
    """
    request = request_of(job, args, named)
    with translating(partial(_translated, in_schema)):
        await execute(connection, _wording(request, in_schema))
    return request.id


def enqueue_blocking(
    connection: Any, job: Job, /, *args: Any, in_schema: str = SCHEMA, **named: Any
) -> str:
    """Enqueue in the transaction of a blocking connection or session; return the job's id."""
    request = request_of(job, args, named)
    with translating(partial(_translated, in_schema)):
        execute_blocking(connection, _wording(request, in_schema))
    return request.id


def _wording(request: JobRequest, in_schema: str) -> Wording:
    wire = request.wire()
    job_type, job_args = wire.pop("type"), encoded(wire.pop("args"), "the arguments").decode()
    options = encoded(wire, "the options").decode()
    quoted = in_schema.replace('"', '""')
    call = f'SELECT "{quoted}".enqueue(CAST('
    statement = Statement(
        (call, " AS text), CAST(", " AS json), CAST(", " AS json))"),
        (job_type, job_args, options),
    )

    def wording(dialect: Dialect) -> Statement:
        if dialect != "postgresql":
            raise TypeError(f"a database of {dialect} cannot be the server's, too")
        return statement

    return wording


def _translated(in_schema: str, error: Exception) -> OjsError | None:
    """Return the exception of the SDK for that of a driver; None for one that stays as it is."""
    for known in errors_of(error):
        state = sqlstate_of(known)
        if state == _REFUSED:
            detail = getattr(known, "detail", None) or known.diag.message_detail
            status = _STATUSES.get(json.loads(detail)["code"], 400)
            return refusal(status, f'{{"error":{detail}}}'.encode())
        if state == _DENIED:
            message = f"{known}; SELECT {in_schema}.allow_enqueue('ROLE') allows it"
            body = {"error": {"code": codes.PERMISSION_DENIED.name, "message": message}}
            return refusal(codes.PERMISSION_DENIED.status, json.dumps(body).encode())
        if state in _MISSING:
            return NoFunction(
                f"the database has no function {in_schema}.enqueue: start a server of this version"
                f" on it, with the schema {in_schema} (?options=-csearch_path%3D{in_schema})"
            )
    return None
