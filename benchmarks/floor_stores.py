"""Minimal stores for the baseline server: one durable commit for many requests."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import apsw
import psycopg

# A job: its id, queue, type and arguments.
Row = tuple[str, str, str, str]

_SQLITE: Final = """
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, queue TEXT NOT NULL, type TEXT NOT NULL,
    args TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX jobs_claim ON jobs (queue, seq) WHERE state = 0;
"""
_POSTGRES: Final = """
CREATE TABLE jobs (
    seq bigint GENERATED ALWAYS AS IDENTITY, id text PRIMARY KEY, queue text NOT NULL,
    type text NOT NULL, args text NOT NULL, state int NOT NULL DEFAULT 0
);
CREATE INDEX jobs_claim ON jobs (queue, seq) WHERE state = 0;
"""
_CHUNK: Final = 500


class FloorStore(Protocol):
    """Commits the work of many requests at once."""

    def commit(
        self, rows: Sequence[Row], ended: Sequence[str], expected: Mapping[str, int]
    ) -> dict[str, list[Row]]:
        """Store new jobs, complete others, and hand out a number of each queue."""


class FloorSqlite:
    """A file, each commit on disk."""

    def __init__(self, path: str) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOMUTEX
        self._db = apsw.Connection(path, flags=flags)
        self._db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._db.pragma("journal_mode", "WAL")
        self._db.pragma("synchronous", "FULL")
        self._db.execute(_SQLITE)

    def commit(
        self, rows: Sequence[Row], ended: Sequence[str], expected: Mapping[str, int]
    ) -> dict[str, list[Row]]:
        """One transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            values = [value for row in part for value in row]
            marks = ",".join(["(?,?,?,?)"] * len(part))
            self._db.execute(f"INSERT INTO jobs (id, queue, type, args) VALUES {marks}", values)
        if ended:
            marks = ",".join("?" * len(ended))
            self._db.execute(f"UPDATE jobs SET state = 2 WHERE id IN ({marks})", ended)
        found: dict[str, Any] = {
            queue: self._db.execute(
                "UPDATE jobs SET state = 1 WHERE seq IN (SELECT seq FROM jobs WHERE queue = ?"
                " AND state = 0 ORDER BY seq LIMIT ?) RETURNING id, queue, type, args",
                (queue, limit),
            ).fetchall()
            for queue, limit in expected.items()
        }
        self._db.execute("COMMIT")
        return found


class FloorPostgres:
    """A database, each commit on its disk."""

    def __init__(self, url: str) -> None:
        self._db = psycopg.connect(url, autocommit=True)
        self._db.execute(_POSTGRES)

    def commit(
        self, rows: Sequence[Row], ended: Sequence[str], expected: Mapping[str, int]
    ) -> dict[str, list[Row]]:
        """One transaction."""
        found: dict[str, list[Row]] = {}
        self._db.execute("BEGIN")
        if rows:
            self._db.execute(
                "INSERT INTO jobs (id, queue, type, args)"
                " SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])",
                [list(column) for column in zip(*rows, strict=True)],
            )
        if ended:
            self._db.execute("UPDATE jobs SET state = 2 WHERE id = ANY (%s)", (list(ended),))
        for queue, limit in expected.items():
            found[queue] = self._db.execute(
                "UPDATE jobs SET state = 1 WHERE id = ANY (ARRAY(SELECT id FROM jobs WHERE queue ="
                " %s AND state = 0 ORDER BY seq LIMIT %s FOR UPDATE SKIP LOCKED))"
                " RETURNING id, queue, type, args",
                (queue, limit),
            ).fetchall()
        self._db.execute("COMMIT")
        return found
