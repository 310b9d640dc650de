"""Connections of the program to its own database, on which one statement is carried out within the
program's transaction."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from ojs_worker.client.requests import JobRequest, job_request
from ojs_worker.environment import Environment, machine
from ojs_worker.errors import OjsError
from ojs_worker.handlers.registry import Handler
from ojs_worker.request_context import with_context

# The kind of a database; `mysql` is also MariaDB.
Dialect = Literal["postgresql", "mysql", "sqlite"]
# A handler, a request, or a type.
Job = Handler[..., Any, Any] | JobRequest | str

# The libraries by their modules, with the dialect of those that are for one database.
_LIBRARIES: Final[Mapping[str, Dialect | None]] = {
    "psycopg": "postgresql",
    "asyncpg": "postgresql",
    "sqlite3": "sqlite",
    "aiosqlite": "sqlite",
    "pymysql": "mysql",
    "sqlalchemy": None,
    "django": None,
}
_ONLY_ASYNCHRONOUS: Final = frozenset({"asyncpg", "aiosqlite"})
_DIALECTS: Final[Mapping[str, Dialect]] = {
    "postgresql": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}


class NoTransaction(OjsError):
    """The connection is in autocommit, so there is no transaction to join."""


class Statement(NamedTuple):
    """A statement: its values, and the SQL before, between and behind them."""

    parts: tuple[str, ...]
    values: tuple[str, ...]

    def question_marks(self) -> str:
        """Return the SQL with `?` for each value."""
        return "?".join(self.parts)

    def formatted(self) -> str:
        """Return the SQL with `%s` for each value."""
        return "%s".join(part.replace("%", "%%") for part in self.parts)

    def numbered(self) -> str:
        """Return the SQL with `$1` and so on."""
        marks = [f"${number}" for number in range(1, len(self.parts))]
        return _joined(self.parts, marks)

    def bound(self) -> tuple[str, dict[str, str]]:
        """Return the SQL with `:v0` and so on, and the values by these names."""
        names = [f"v{number}" for number in range(len(self.values))]
        parts = tuple(part.replace(":", "\\:") for part in self.parts)
        sql = _joined(parts, [f":{name}" for name in names])
        return sql, dict(zip(names, self.values, strict=True))


# Returns the statement for the dialect of a connection; raises TypeError for one that it has not.
Wording = Callable[[Dialect], Statement]


async def execute(connection: Any, wording: Wording) -> None:
    """Carry out a statement in the transaction of an asynchronous connection or session."""
    library = _library_of(connection)
    if library == "sqlalchemy":
        target = connection
        if hasattr(connection, "sync_session"):
            target = await connection.connection()
        sql, values = _of_sqlalchemy(target.sync_connection, wording)
        await connection.execute(sql, values)
        return
    if library not in ("asyncpg", "psycopg", "aiosqlite"):
        raise TypeError(f"use enqueue_blocking with a connection of {library}")
    statement = wording(_dialect(_LIBRARIES[library]))
    if not _IN_TRANSACTION[library](connection):
        raise _no_transaction()
    if library == "asyncpg":
        await connection.execute(statement.numbered(), *statement.values)
    elif library == "psycopg":
        await connection.execute(statement.formatted(), statement.values)
    else:
        async with connection.execute(statement.question_marks(), statement.values):
            pass


def execute_blocking(connection: Any, wording: Wording) -> None:
    """Carry out a statement in the transaction of a blocking connection or session."""
    library = _library_of(connection)
    if library in _ONLY_ASYNCHRONOUS:
        raise TypeError(f"use enqueue with a connection of {library}")
    if library == "sqlalchemy":
        target = connection.connection() if hasattr(connection, "get_bind") else connection
        connection.execute(*_of_sqlalchemy(target, wording))
        return
    dialect = connection.vendor if library == "django" else _LIBRARIES[library]
    statement = wording(_dialect(dialect))
    if not _IN_TRANSACTION[library](connection):
        raise _no_transaction()
    if library == "sqlite3":
        connection.execute(statement.question_marks(), statement.values)
        return
    with connection.cursor() as cursor:
        cursor.execute(statement.formatted(), statement.values)


def request_of(job: Job, args: tuple[Any, ...], named: dict[str, Any]) -> JobRequest:
    """Return the request of a handler with its arguments, of a type with a list of them and
    options, or the one that is given; with the context of the request that is served."""
    request = with_context(_request(job, args, named))
    if request.idempotency_key is not None:
        raise ValueError("an enqueue in a transaction takes no idempotency key; give the job an id")
    return request


def errors_of(error: Exception) -> Iterator[Any]:
    """Yield an error of a library and those of the driver below it."""
    for known in (error, getattr(error, "orig", None), error.__cause__):
        if known is not None:
            yield known


@contextmanager
def translating(translated: Callable[[Exception], OjsError | None]) -> Iterator[None]:
    """Raise the exception of the SDK for that of a library, where there is one."""
    try:
        yield
    except Exception as error:
        if (known := translated(error)) is not None:
            raise known from error
        raise


def sqlstate_of(error: Any) -> str | None:
    """Return the SQLSTATE of a driver's error for PostgreSQL; None for another error."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _request(job: Job, args: tuple[Any, ...], named: dict[str, Any]) -> JobRequest:
    if isinstance(job, Handler):
        return job.sealed(*args, **named)
    if isinstance(job, JobRequest):
        if args or named:
            raise TypeError("a request has its arguments and options already")
        return job
    if len(args) > 1:
        raise TypeError("behind a type comes one list of arguments")
    environment = _environment()
    options: Any = named
    listed = args[0] if args else ()
    return job_request(job, listed, options, environment.now(), environment.rising_id)


@cache
def _environment() -> Environment:
    return machine()


def _library_of(connection: Any) -> str:
    """Return the library that a connection or session is of."""
    for base in type(connection).__mro__:
        root = base.__module__.partition(".")[0]
        if root in _LIBRARIES:
            return root
    raise TypeError(
        f"{type(connection).__qualname__} is no connection of psycopg, asyncpg, sqlite3,"
        " aiosqlite, PyMySQL, SQLAlchemy or Django"
    )


def _dialect(name: str | None) -> Dialect:
    if (dialect := _DIALECTS.get(name or "")) is None:
        raise TypeError(f"a database of {name} is none of {', '.join(_DIALECTS)}")
    return dialect


def _of_sqlalchemy(connection: Any, wording: Wording) -> tuple[Any, dict[str, str]]:
    import sqlalchemy

    sql, values = wording(_dialect(connection.dialect.name)).bound()
    if connection.dialect.detect_autocommit_setting(connection.connection.dbapi_connection):
        raise _no_transaction()
    return sqlalchemy.text(sql), values


def _in_psycopg(connection: Any) -> bool:
    return not connection.autocommit or connection.info.transaction_status.name != "IDLE"


def _in_asyncpg(connection: Any) -> bool:
    return cast(bool, connection.is_in_transaction())


def _in_sqlite(connection: Any) -> bool:
    """Return True in a transaction, or where the connection begins one by itself."""
    # Of Python 3.12 or newer: True or False, or -1 where `isolation_level` decides.
    autocommit = getattr(connection, "autocommit", -1)
    begins = connection.isolation_level is not None if autocommit == -1 else not autocommit
    return begins or connection.in_transaction


def _in_pymysql(connection: Any) -> bool:
    # The last flags that the server sent: a transaction is open (1).
    return not connection.get_autocommit() or bool(connection.server_status & 1)


def _in_django(connection: Any) -> bool:
    return connection.in_atomic_block or not connection.get_autocommit()


_IN_TRANSACTION: Final[Mapping[str, Callable[[Any], bool]]] = {
    "psycopg": _in_psycopg,
    "asyncpg": _in_asyncpg,
    "sqlite3": _in_sqlite,
    "aiosqlite": _in_sqlite,
    "pymysql": _in_pymysql,
    "django": _in_django,
}


def _no_transaction() -> NoTransaction:
    return NoTransaction(
        "the connection is in autocommit: begin a transaction, of which the job is to be a part"
    )


def _joined(parts: tuple[str, ...], marks: list[str]) -> str:
    return parts[0] + "".join(mark + part for mark, part in zip(marks, parts[1:], strict=True))
