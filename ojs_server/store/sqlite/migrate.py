"""Migrate a SQLite file to the current schema."""

import apsw

from ojs_server.store.migrations import load_migrations, pending


def migrate(connection: apsw.Connection, package: str, *, apply: bool = True) -> list[int]:
    """Apply all missing migrations, each in its own transaction; return the versions applied."""
    current = int(connection.pragma("user_version"))
    steps = pending(load_migrations(package), current, apply=apply)
    for step in steps:
        connection.execute(
            f"BEGIN IMMEDIATE;\n{step.sql}\nPRAGMA user_version = {step.version};\nCOMMIT;"
        )
    return [step.version for step in steps]
