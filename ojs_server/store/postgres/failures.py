"""Translate the driver's exceptions to those of the store contract."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ojs_server.store.errors import Overtaken, StaleWrite, StoreBusy, StoreUnavailable

# The server lost a race against itself and rolled back: decided anew, the work will go through.
_COLLISIONS = (errors.DeadlockDetected, errors.SerializationFailure)
# The error of a BEGIN READ WRITE at a standby; another class if a statement was sent before it.
_READ_WRITE_REFUSED = "call_bool_check_hook"
# A lock was not obtained in time.
_HELD = (errors.LockNotAvailable, errors.QueryCanceled)
# Behind these words the server closes the connection, whatever the class of the error.
_LAST_WORDS = ("FATAL", "PANIC")


def translated(error: psycopg.Error) -> Exception:
    """Return the contract's exception for a driver's; unknown ones stay as they are."""
    if error.diag.severity_nonlocalized in _LAST_WORDS:
        return StoreUnavailable(first_line(error))
    if isinstance(error, errors.PipelineAborted):
        return StaleWrite("a statement of the transaction had failed; it was rolled back")
    if error.diag.table_name == "outcomes":
        return StaleWrite(f"the transaction was cancelled or took too long: {first_line(error)}")
    if isinstance(error, errors.UniqueViolation) and error.diag.table_name == "workers":
        return StaleWrite("another node has heard of the same worker meanwhile")
    if isinstance(error, errors.NotNullViolation) and error.diag.table_name == "events":
        return Overtaken("a later transaction of another node has changed the same job")
    if isinstance(error, _COLLISIONS):
        return StaleWrite(f"write conflict with another node: {first_line(error)}")
    if is_outdated(error):
        return StaleWrite(f"a prepared statement is outdated: {first_line(error)}")
    if isinstance(error, _HELD):
        return StoreBusy(first_line(error))
    away = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    if away or is_at_a_standby(error):
        return StoreUnavailable(first_line(error))
    return error


def is_at_a_standby(error: psycopg.Error) -> bool:
    """True if the database takes no changes, as it follows another one."""
    if isinstance(error, (errors.FeatureNotSupported, errors.ActiveSqlTransaction)):
        # The class has many meanings, and the message may be in any language.
        return error.diag.source_function == _READ_WRITE_REFUSED
    return isinstance(error, errors.ReadOnlySqlTransaction)


def is_outdated(error: psycopg.Error) -> bool:
    """True if a prepared statement is unknown, or its tables have changed since."""
    if isinstance(error, errors.FeatureNotSupported):
        return error.diag.source_function == "RevalidateCachedQuery"
    return isinstance(error, errors.InvalidSqlStatementName)


def first_line(error: Exception) -> str:
    """Return the message without the driver's further explanations."""
    return (str(error) or type(error).__name__).splitlines()[0]


@contextmanager
def at_the_boundary() -> Iterator[None]:
    """Translate exceptions of the driver that mean that the database is unavailable."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error
