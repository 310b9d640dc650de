"""Bringing a SQLite file to the present schema."""

import sqlite3

from ojs_server.store.migrations import load_migrations, pending


def migrate(connection: sqlite3.Connection, package: str, *, apply: bool = True) -> list[int]:
    """Apply what is missing, each step in its own transaction; answers the versions applied."""
    current = int(connection.execute("PRAGMA user_version").fetchone()[0])
    steps = pending(load_migrations(package), current, apply=apply)
    for step in steps:
        # executescript commits first, so the script carries its own transaction.
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{step.sql}\nPRAGMA user_version = {step.version};\nCOMMIT;"
        )
    return [step.version for step in steps]
