"""Refusals at the start of a node: those that end it, and those that a wait may overcome.

While a connection is opened the driver passes on the text of a refusal and not its code. So the
texts are compared. A database whose messages are not in English is waited for until the limit, and
its message is shown then.
"""

import re
from typing import Final

import psycopg

from ojs_server.store.errors import StoreDenied, StoreUnavailable, StoreUnreachable
from ojs_server.store.postgres.failures import first_line, is_at_a_standby

# A wrong password or role, a missing database, and others that only an administrator changes.
_FOR_GOOD: Final = re.compile(
    r"authentication failed|pg_hba\.conf|(role|database) \".*\" does not exist|"
    r"is not permitted to log in|permission denied for database|no password supplied|"
    r"does not support SSL"
)
# The driver's word for a database that takes no changes.
_READ_ONLY: Final = "session is read-only"
# It lists the failures of several hosts in this form.
_HOST: Final = "\n- host: "


def refused_start(error: Exception, location: str) -> StoreUnavailable:
    """Return the exception for an error while the database at a location was opened."""
    cause = error.__cause__ if isinstance(error, StoreUnavailable) else error
    reason = first_line(error)
    if isinstance(cause, psycopg.Error):
        if _READ_ONLY in str(cause) or is_at_a_standby(cause):
            return StoreUnavailable(
                f"{location} is a standby or read-only, and takes no changes; promote it, or name "
                "the primary in the URL of the database"
            )
        if not isinstance(error, StoreUnavailable):
            return StoreDenied(f"the schema cannot be set up: {reason}")
        if isinstance(error, StoreUnreachable) and _is_for_good(str(cause)):
            return StoreDenied(reason)
    return error if isinstance(error, StoreUnavailable) else StoreUnavailable(reason)


def _is_for_good(text: str) -> bool:
    """Tell whether every host refuses for good."""
    parts = text.split(_HOST)
    return all(_FOR_GOOD.search(part) for part in (parts[1:] or parts))
