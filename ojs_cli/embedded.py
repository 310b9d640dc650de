"""The database of the embedded store as a file: whole copies of it, with state and history."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from ojs_cli.failures import MISUSED, Failure

# Pages that are copied between two updates of the progress.
STEP_PAGES: Final = 1000


def schema_of(path: Path) -> int:
    """The schema of an intact database of ours; anything else is a `Failure`."""
    try:
        with closing(_opened(path)) as database:
            (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise Failure(f"{path} is damaged: {found}")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema")}
    except sqlite3.Error as error:
        raise Failure(f"{path}: {error}") from None
    if "jobs" not in tables or not version:
        raise Failure(f"{path} is no database of a job server")
    return int(version)


def copy(source: Path, target: Path, progress: Callable[[int, int], None]) -> None:
    """Copy a database as it is at this moment, also while a server uses it.

    The copy is there whole or not at all. `progress` is called with the pages copied, and all.
    """
    part = target.with_name(f"{target.name}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        with closing(_opened(source)) as old, closing(sqlite3.connect(part)) as new:
            # One snapshot for all steps, because otherwise a write by others restarts the backup.
            old.isolation_level = None
            old.execute("BEGIN")
            old.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            old.backup(
                new, pages=STEP_PAGES, progress=lambda _, left, total: progress(total - left, total)
            )
            new.execute("PRAGMA journal_mode = DELETE")
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise Failure(f"{source}: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise Failure(f"there is no file {path}", exit_code=MISUSED)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
