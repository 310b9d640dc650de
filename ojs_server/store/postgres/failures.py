"""What the driver raises, as the store contract has it."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ojs_server.store.base import StaleWrite, StoreUnavailable

# The server lost a race against itself and rolled back: decided anew, the work will go through.
_COLLISIONS = (errors.DeadlockDetected, errors.SerializationFailure)
# A primary that has become a standby says it in these ways.
_ELSEWHERE = (errors.ReadOnlySqlTransaction,)


def translated(error: psycopg.Error) -> Exception:
    """The contract's exception for a driver's; what it does not know stays as it is."""
    if isinstance(error, errors.PipelineAborted):
        return StaleWrite("a statement of the transaction had failed; it was rolled back")
    if isinstance(error, _COLLISIONS):
        return StaleWrite(f"another node was at the same rows: {first_line(error)}")
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, *_ELSEWHERE)):
        return StoreUnavailable(first_line(error))
    return error


def first_line(error: Exception) -> str:
    """The message without the driver's further explanations."""
    return (str(error) or type(error).__name__).splitlines()[0]


@contextmanager
def at_the_boundary() -> Iterator[None]:
    """Let none of the driver's own exceptions out that mean that the database is away."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error
