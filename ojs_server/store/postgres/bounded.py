"""Connections with a time limit for every answer of the database.

A database that hangs still acknowledges packets, so that neither keepalives nor TCP time-outs
notice. A connection that was silent for too long is closed: a later answer would belong to a query
that was given up.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

import psycopg
from psycopg.pq.abc import PGconn

# The database gives up waiting for a lock by itself before that.
ANSWER_S: Final = 5.0
# A look at whether the database answers at all.
PING_S: Final = 2.0
# To migrate is to rewrite tables, and to wait for another node that does.
MIGRATION_S: Final = 3600.0

Answer = TypeVar("Answer")
# The driver's form of a conversation: it yields the awaited state of the socket, and is sent it.
Talk = Generator[Any, Any, Answer]


class Silent(psycopg.OperationalError):
    """The database has not answered in time; its connection is closed."""


def give_up(pgconn: PGconn, patience_s: float) -> NoReturn:
    """Close a connection on which the database is silent."""
    pgconn.finish()
    raise Silent(f"the database has not answered for {patience_s:g} s")


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose every wait ends."""

    patience_s: float = ANSWER_S

    def wait(self, gen: Talk[Answer], *args: Any, **kwargs: Any) -> Answer:
        """Hold a conversation with the database."""
        return super().wait(_bounded(gen, self.pgconn, self.patience_s), *args, **kwargs)

    @contextmanager
    def waiting_up_to(self, patience_s: float) -> Iterator[None]:
        """Allow a longer wait within this block."""
        before, self.patience_s = self.patience_s, patience_s
        try:
            yield
        finally:
            self.patience_s = before


class AsyncBoundedConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A connection of an event loop whose every wait ends."""

    patience_s: float = ANSWER_S

    async def wait(self, gen: Talk[Answer], *args: Any, **kwargs: Any) -> Answer:
        """Hold a conversation with the database."""
        return await super().wait(_bounded(gen, self.pgconn, self.patience_s), *args, **kwargs)


def _bounded(talk: Talk[Answer], pgconn: PGconn, patience_s: float) -> Talk[Answer]:
    """A conversation that is given up in time; the driver resumes it every tenth of a second."""
    until = time.monotonic() + patience_s
    try:
        events = next(talk)
        while True:
            ready = yield events
            # An answer that has arrived is read, also if the process was suspended meanwhile.
            if not ready and time.monotonic() >= until:
                give_up(pgconn, patience_s)
            events = talk.send(ready)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
