"""Connections to PostgreSQL that outlive the store that made them, for the next test's store.

A new one plans every statement anew, which costs the database more than most tests do.
"""

import select
from collections import defaultdict
from typing import Any, Self, cast

from psycopg.pq import PipelineStatus, TransactionStatus

from ojs_server.store.postgres.bounded import BoundedConnection
from tests.plans import Watched

# The plans of connections whose sessions tell them.
WATCHED = Watched()
# Unused connections, by the arguments with which they were made.
_idle: defaultdict[str, list["KeptConnection"]] = defaultdict(list)


class KeptConnection(BoundedConnection):
    """A connection that is kept open when it is closed, and is reused by the next to connect."""

    _made_with = ""
    _is_idle = False

    @classmethod
    def connect(cls, conninfo: str = "", **settings: Any) -> Self:
        """Return an idle connection that was made with the same settings, or a new one."""
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
        """Keep the connection for reuse; close it if it is in a transaction or a pipeline."""
        if self._is_idle:
            return
        idle = self.info.transaction_status is TransactionStatus.IDLE
        if idle and self.info.pipeline_status is PipelineStatus.OFF:
            self._is_idle = True
            _idle[self._made_with].append(self)
        else:
            self.end()

    def end(self) -> None:
        """Close it for good."""
        # An idle connection counts as closed already, so close() would do nothing.
        self._is_idle = False
        super().close()


def idle_backends() -> list[int]:
    """Return the process ids of the backends of the kept connections."""
    return [one.info.backend_pid for kept in _idle.values() for one in kept]


def end_all() -> None:
    """Close the kept connections, before their schema or server is removed."""
    while _idle:
        for one in _idle.popitem()[1]:
            one.end()


def _has_ended(connection: KeptConnection) -> bool:
    # An idle one has nothing to say unless the server ended it.
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))
