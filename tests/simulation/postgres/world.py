"""The rows that a duel begins with: read once, and put back before each play."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import psycopg
from psycopg import sql

# Plays after which old versions of rows are removed, before they slow down all that follows.
VACUUM_EVERY: Final = 100

Rows = Mapping[str, tuple[str, ...]]


class Tables:
    """All tables of a store, and their rows as text."""

    def __init__(self, url: str) -> None:
        self._connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)
        self._restored = 0
        names = [
            name
            for (name,) in self._connection.execute(
                "SELECT relname FROM pg_class"
                " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
                " ORDER BY relname"
            )
        ]
        for name in names:
            # Nothing but the two sides works on the tables.
            switch = sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)")
            self._connection.execute(switch.format(sql.Identifier(name)))
        look = sql.SQL("SELECT {}, row_to_json(t)::text FROM {} AS t")
        self._read = sql.SQL(" UNION ALL ").join(
            look.format(sql.Literal(name), sql.Identifier(name)) for name in names
        )
        self._names = names
        # No rows at all.
        self.nothing: Rows = dict.fromkeys(names, ())

    def rows(self) -> Rows:
        """Read every row of every table."""
        found: dict[str, list[str]] = {name: [] for name in self._names}
        for name, text in self._connection.execute(self._read, prepare=True):
            found[name].append(text)
        return {name: tuple(sorted(rows)) for name, rows in found.items()}

    def restore(self, rows: Rows, current: Rows) -> None:
        """Put the rows of the tables back that have others now."""
        changed = [name for name in self._names if rows[name] != current[name]]
        steps: list[sql.Composable] = [
            sql.SQL("BEGIN"),
            # No foreign key is asked, so that the order of tables does not matter.
            sql.SQL("SET LOCAL session_replication_role = replica"),
            *(self._refill(name, rows[name]) for name in changed),
            sql.SQL("COMMIT"),
        ]
        self._connection.execute(sql.SQL("; ").join(steps))
        self._restored += 1
        if self._restored % VACUUM_EVERY == 0:
            self.vacuum()

    def _refill(self, name: str, rows: Iterable[str]) -> sql.Composable:
        table = sql.Identifier(name)
        steps: list[sql.Composable] = [sql.SQL("DELETE FROM {}").format(table)]
        if rows:
            fill = sql.SQL("INSERT INTO {0} SELECT * FROM json_populate_recordset(NULL::{0}, {1})")
            steps.append(fill.format(table, sql.Literal(f"[{','.join(rows)}]")))
        return sql.SQL("; ").join(steps)

    def vacuum(self) -> None:
        """Remove old versions of rows."""
        self._connection.execute(
            sql.SQL("VACUUM {}").format(sql.SQL(", ").join(map(sql.Identifier, self._names)))
        )

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
