"""Record the rows that a PostgreSQL transaction locks, statement by statement."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import psycopg
import pytest

from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.statements import Statement
from ojs_server.store.postgres.store import PostgresStore
from ojs_server.store.records import Preload

# The documented order of locks (store/postgres/transaction.py): tables that nodes meet at, each
# with the column that names its rows. What is changed only under the lock of another row is left
# out, such as the settings themselves, and so are fingerprints, whose rows nobody ever sees.
ORDER: Final[Mapping[str, str]] = {
    "settings": "name",
    "webhooks": "id",
    "deliveries": "id",
    "cron": "name",
    "workers": "id",
    "jobs": "id",
    "leases": "job_id",
    "workflows": "id",
    "limits": "name",
    "queue_counts": "queue",
}
# Of these also the rows are locked in order, whatever the statements.
_ROWS_IN_ORDER: Final = {"cron", "workers", "jobs", "leases"}
_RANK: Final = {table: rank for rank, table in enumerate(ORDER)}
# Locked or changed rows have the transaction's id until it ends; new rows are still invisible.
_HELD: Final = (
    "WITH open AS MATERIALIZED (SELECT backend_xid FROM pg_stat_activity"
    " WHERE backend_xid IS NOT NULL AND datname = current_database()) "
) + " UNION ALL ".join(
    f"SELECT '{table}', {column} FROM {table}"
    " WHERE xmax::text IN (SELECT backend_xid::text FROM open)"
    for table, column in ORDER.items()
)

Row = tuple[str, str]


class Step(msgspec.Struct, frozen=True):
    """A statement and the rows that were locked by it."""

    statement: Statement
    rows: frozenset[Row]

    @property
    def waits(self) -> bool:
        """True if the statement waits for rows that another transaction holds."""
        return "SKIP LOCKED" not in self.statement.sql


class Undone(Exception):
    """The transaction was only looked at."""


class Watched(PostgresStore):
    """Carries transactions out, notes what each step locks, and rolls them back."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self.steps: list[Step] = []
        self._look = psycopg.connect(url, autocommit=True)

    @contextmanager
    def transaction(
        self, preload: Preload | None = None, *, long_wait: bool = True
    ) -> Iterator[Any]:
        """Note the steps of a transaction; nothing of it stays."""
        steps, held = self.steps, set[Row]()
        steps.clear()
        send = Pipe.send
        last: list[tuple[Pipe, Statement]] = []

        def look() -> None:
            for pipe, statement in last:
                if not statement.changes and "FOR UPDATE" not in statement.sql:
                    continue
                pipe.look()
                rows = set(self._look.execute(_HELD.encode()).fetchall()) - held
                if rows:
                    steps.append(Step(statement, frozenset(rows)))
                held.update(rows)

        def watched(pipe: Pipe, statement: Statement, bound: Any, seen: Any = None) -> None:
            look()
            last[:] = [(pipe, statement)]
            # A statement with a function for its result can be awaited.
            send(pipe, statement, bound, seen or (lambda result: None))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pipe, "send", watched)
            with super().transaction(preload) as tx:
                yield tx
                look()
                raise Undone

    def close(self) -> None:
        """Let go of the database."""
        self._look.close()
        super().close()


def out_of_order(steps: Sequence[Step]) -> list[str]:
    """The steps that wait for rows which come before some that are held."""
    found: list[str] = []
    held: dict[str, str] = {}
    for step in steps:
        first = min(step.rows, key=lambda row: (_RANK[row[0]], row[1]))
        last = max(held, key=lambda table: _RANK[table], default=first[0])
        late = _RANK[first[0]] < _RANK[last] or (
            first[0] in _ROWS_IN_ORDER and first[1] < held.get(first[0], "")
        )
        if step.waits and late:
            by = step.statement.name
            found.append(f"{first[0]} {first[1]} after {last} {held.get(last)}, by {by}")
        for table, name in step.rows:
            held[table] = max(name, held.get(table, ""))
    return found
