"""Migrate a SQLite file to the current schema."""

from contextlib import closing
from pathlib import Path

import apsw

from ojs_server.store.errors import StoreUnavailable
from ojs_server.store.migrations import load_migrations, pending
from ojs_server.store.sqlite.statements import PACKAGE


def migrate(connection: apsw.Connection, package: str, *, apply: bool = True) -> list[int]:
    """Apply all missing migrations, each in its own transaction; return the versions applied."""
    current = int(connection.pragma("user_version"))
    steps = pending(load_migrations(package), current, apply=apply)
    for step in steps:
        connection.execute(
            f"BEGIN IMMEDIATE;\n{step.sql}\nPRAGMA user_version = {step.version};\nCOMMIT;"
        )
    return [step.version for step in steps]


def check_file(path: str) -> None:
    """Raise SchemaError unless a file has the current schema; changes nothing."""
    file = Path(path).resolve()
    # Without a log no process has the file open, and SQLite would leave a new log behind.
    mode = "" if file.with_name(f"{file.name}-wal").exists() else "?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{file.as_uri()}{mode}", flags=flags)) as connection:
            migrate(connection, PACKAGE, apply=False)
    except apsw.Error as error:
        raise StoreUnavailable(f"cannot open {path}: {error}") from error
