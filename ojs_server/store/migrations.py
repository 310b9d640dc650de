"""The numbered schema migrations of a store."""

import re
from importlib import resources

import msgspec

from ojs_server.store.errors import SchemaError

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One append-only step of the schema."""

    version: int
    name: str
    sql: str


def load_migrations(package: str) -> list[Migration]:
    """All steps in order."""
    found = []
    for file in resources.files(package).joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def pending(migrations: list[Migration], current: int, *, apply: bool) -> list[Migration]:
    """Return the steps to apply; raises for a newer schema, or if a step is not allowed."""
    newest = migrations[-1].version
    if current > newest:
        raise SchemaError(
            f"the database has schema {current}, newer than this program's {newest}; "
            "run the newer ojs-server"
        )
    missing = [migration for migration in migrations if migration.version > current]
    if missing and not apply:
        raise SchemaError(
            f"the database has schema {current}, this program needs {newest}; "
            "run `ojs-server migrate` or start without --no-migrate"
        )
    return missing
