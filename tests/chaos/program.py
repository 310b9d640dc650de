"""``python -m tests.chaos.program``: stores rows, each with its job, in one transaction.

The job is enqueued by the function of the servers, whose database it is, or by an outbox.

Each line on its standard input names a row and says how its transaction ends. The answer is a line,
once the transaction has ended in any way.
"""

import logging
import sys
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any, Final

import psycopg

from ojs_worker import RetryPolicy, outbox, transactional

# Of the nodes, which have no schema of their own.
SCHEMA: Final = "public"
RETRY: Final = RetryPolicy(
    max_attempts=1000, initial_interval=0.05, backoff_coefficient=1, jitter=False
)


class End(StrEnum):
    """The ends of a transaction."""

    COMMIT = "commit"
    # After a savepoint was rolled back, in which another row had its job.
    PARTLY = "partly"
    ROLLBACK = "rollback"


class Way(StrEnum):
    """The ways to enqueue."""

    FUNCTION = "function"
    OUTBOX = "outbox"


class Program:
    """The program, whose jobs are on one queue."""

    def __init__(self, queue: str, way: Way) -> None:
        self._queue = queue
        self._enqueue = (
            outbox.enqueue_blocking
            if way is Way.OUTBOX
            else partial(transactional.enqueue_blocking, in_schema=SCHEMA)
        )

    def order(self, connection: psycopg.Connection[Any], name: str, end: End) -> None:
        """Store a row with its job, unless it ends otherwise."""
        with connection.transaction(force_rollback=end is End.ROLLBACK):
            if end is End.PARTLY:
                with connection.transaction(force_rollback=True):
                    self._store(connection, f"{name}-undone")
            self._store(connection, name)

    def _store(self, connection: psycopg.Connection[Any], name: str) -> None:
        job = self._enqueue(connection, "chaos.test", [name], queue=self._queue, retry=RETRY)
        connection.execute("INSERT INTO orders VALUES (%s, %s, %s)", [name, self._queue, job])


def main(url: str, queue: str, way: str) -> None:
    """Carry out one transaction for each line."""
    # It warns of each transaction whose server was killed.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    program = Program(queue, Way(way))
    connection: psycopg.Connection[Any] | None = None
    for line in sys.stdin:
        name, end = line.split()
        try:
            connection = connection or psycopg.connect(url, connect_timeout=5)
            program.order(connection, name, End(end))
        except psycopg.Error:
            # It may have been committed or not: rows and jobs are to agree in either case.
            if connection is not None:
                with suppress(psycopg.Error):
                    connection.close()
            connection = None
        print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
