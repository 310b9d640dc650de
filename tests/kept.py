"""Connections to PostgreSQL that outlive the store that made them, for the next test's store.

A new one plans every statement anew, which costs the database more than most tests do.
"""

import select
from collections import defaultdict
from typing import Any, Self, cast

from psycopg.pq import TransactionStatus

from ojs_server.store.postgres.bounded import BoundedConnection
from tests.plans import Watched

# The plans of connections whose sessions tell them.
WATCHED = Watched()
# Those that nobody holds, by what they were made with.
_idle: defaultdict[str, list["KeptConnection"]] = defaultdict(list)


class KeptConnection(BoundedConnection):
    """A connection that is closed for whoever closes it, and opened again for the next."""

    _made_with = ""
    _is_idle = False

    @classmethod
    def connect(cls, conninfo: str = "", **settings: Any) -> Self:
        """One that was made with the same settings and is idle, or a new one."""
        made_with = repr((conninfo, settings))
        while kept := _idle[made_with]:
            connection = kept.pop()
            if not _has_ended(connection):
                connection._is_idle = False
                return cast("Self", connection)
            connection.end()
        connection = super().connect(conninfo, **settings)
        connection._made_with = made_with
        connection.add_notice_handler(WATCHED.note)
        return connection

    @property
    def closed(self) -> bool:
        """True if it is closed for its holder: really, or because it was put aside."""
        return self._is_idle or super().closed

    def close(self) -> None:
        """Put it aside; one that is in the middle of something ends."""
        if self._is_idle:
            return
        if self.info.transaction_status is TransactionStatus.IDLE:
            self._is_idle = True
            _idle[self._made_with].append(self)
        else:
            self.end()

    def end(self) -> None:
        """Close it for good."""
        # Who is put aside counts as closed already, and would be left as it is.
        self._is_idle = False
        super().close()


def idle_backends() -> list[int]:
    """The processes at the other end of those that are kept."""
    return [one.info.backend_pid for kept in _idle.values() for one in kept]


def end_all() -> None:
    """Close those that are kept: what they were made for is about to go."""
    while _idle:
        for one in _idle.popitem()[1]:
            one.end()


def _has_ended(connection: KeptConnection) -> bool:
    # An idle one has nothing to say unless the server ended it.
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))
