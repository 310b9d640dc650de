"""The errors of a store."""

from collections.abc import Callable


class StoreUnavailable(Exception):
    """The database cannot be reached or refuses to work; nothing was committed."""


class StoreUnreachable(StoreUnavailable):
    """No connection to the database could be opened."""


class StoreDenied(StoreUnavailable):
    """The database refuses this server, and will until a setting or the database is changed."""


class StoreBusy(StoreUnavailable):
    """A lock was not obtained in time, as another transaction holds it."""


class OutcomeUnknown(Exception):
    """A COMMIT got no answer: it may have been carried out, or not."""

    def __init__(self, message: str, ask: Callable[[], bool] | None = None) -> None:
        super().__init__(message)
        self._ask = ask

    def carried_out(self) -> bool:
        """Ask the database, which may take seconds; raises OutcomeUnknown if it cannot say.

        Any thread may ask. Where the transaction was not carried out, it cannot be any more.
        """
        if self._ask is None:
            raise self
        return self._ask()


class StaleWrite(Exception):
    """A guarded write found another state than the one it was decided on."""


class Overtaken(StaleWrite):
    """A transaction that began later has changed the same job first, so this one is to begin anew:
    the event log tells what happened to a job in the order of the transactions."""


class SchemaError(Exception):
    """The database's schema is newer than this program, or missing."""
