"""The numbered schema migrations of a store."""

import re
from importlib import resources
from typing import Final

import msgspec
from msgspec import structs

from ojs_server.store.errors import SchemaError

# The package of other systems, each of which may have migrations.
_SYSTEMS: Final = "ojs_server.systems"
_FILE: Final = re.compile(r"(\d{4})_(\w+)\.sql")
# The last commit that had the steps before the first one of today.
_SQUASHED_AT: Final = "24a89b05"


class Migration(msgspec.Struct, frozen=True):
    """One append-only step of the schema; the first one makes all of it."""

    version: int
    name: str
    sql: str


def load_migrations(package: str) -> list[Migration]:
    """All steps in order. Those of other systems, which have files of their own, are always taken,
    so that a server may change its profile; what has the same number is one step."""
    store = package.rpartition(".")[2]
    found: dict[int, Migration] = {}
    systems = resources.files(_SYSTEMS).iterdir()
    folders = (
        resources.files(package).joinpath("migrations"),
        *(system.joinpath("migrations", store) for system in systems),
    )
    for folder in folders:
        for file in sorted(folder.iterdir(), key=str) if folder.is_dir() else ():
            if match := _FILE.fullmatch(file.name):
                version, sql = int(match[1]), file.read_text(encoding="utf-8")
                first = found.setdefault(version, Migration(version, match[2], ""))
                found[version] = structs.replace(first, sql=f"{first.sql}\n{sql}")
    return sorted(found.values(), key=lambda migration: migration.version)


def pending(migrations: list[Migration], current: int, *, apply: bool) -> list[Migration]:
    """Return the steps to apply; raises for a schema that is newer, or older than the first step,
    and if a step is not allowed."""
    first, newest = migrations[0].version, migrations[-1].version
    if current > newest:
        raise SchemaError(
            f"the database has schema {current}, newer than this program's {newest}; "
            "run the newer ojs-server"
        )
    if 0 < current < first:
        raise SchemaError(
            f"the database has schema {current}, this program migrates from {first} on; "
            f"start the ojs-server of commit {_SQUASHED_AT} on it first"
        )
    missing = [migration for migration in migrations if migration.version > current]
    if missing and not apply:
        raise SchemaError(
            f"the database has schema {current}, this program needs {newest}; "
            "run `ojs-server migrate` or start without --no-migrate"
        )
    return missing
