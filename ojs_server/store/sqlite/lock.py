"""An exclusive lock file, so that only one server uses a database file."""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ojs_server.store.errors import StoreUnavailable

# Windows has other locks.
fcntl: Any = None
with suppress(ImportError):
    fcntl = import_module("fcntl")


def private(path: Path, flags: int) -> int:
    """Open a file; a new one is readable by this user alone."""
    return os.open(path, flags, 0o600)


def path_with(database: Path, suffix: str) -> Path:
    """Return the path of a file that belongs to a database."""
    return database.with_name(database.name + suffix)


class FileLock:
    """Held from creation until `release`, or until the process ends in any way."""

    def __init__(self, database: Path, process: int) -> None:
        if fcntl is None:
            raise StoreUnavailable(
                "the embedded store needs file locks that this system does not have; name a "
                "PostgreSQL database with --database"
            )
        self._path = path_with(database, ".lock")
        try:
            descriptor = private(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._file = os.fdopen(descriptor, "a+")
        except OSError as error:
            raise StoreUnavailable(
                f"cannot create a database at {database}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read(20).strip() or "unknown"
            self._file.close()
            raise StoreUnavailable(
                f"{database} is in use by another ojs-server (process {holder}). Stop that one, "
                "name another file with --database, or use PostgreSQL for several servers."
            ) from None
        self._file.truncate(0)
        self._file.write(f"{process}\n")
        self._file.flush()

    def release(self) -> None:
        """Release the lock; the file stays, since removing it could allow two locks."""
        self._file.close()
