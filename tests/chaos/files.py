"""A SQLite database, and what operators and disks do to its files."""

import os
import random
import resource
import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

SUFFIXES: Final = ("", "-wal", "-shm", ".lock")
PAGE: Final = 4096


class Files:
    """The files of a database in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.database = folder / "ojs.db"
        self.away = folder / "away"

    @property
    def url(self) -> str:
        """The node's URL."""
        return f"sqlite:///{self.database}"

    def move(self, paths: Iterable[Path] | None = None) -> None:
        """Move these files away, or all of them."""
        self.away.mkdir()
        for path in self.existing() if paths is None else paths:
            path.rename(self.away / path.name)

    def move_back(self) -> None:
        """Move all that were moved back."""
        for path in self.away.iterdir():
            path.rename(self.database.with_name(path.name))
        self.away.rmdir()

    def remove(self, luck: random.Random) -> None:
        """Remove the database, its log and all beside it, in some order."""
        files = self.existing()
        for path in luck.sample(files, len(files)):
            path.unlink()

    def rescue(self, pid: int) -> None:
        """Copy the removed database and its log from the process that still has them."""
        self.away.mkdir()
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = os.readlink(descriptor).removesuffix(" (deleted)")
            if target in (str(self.database), f"{self.database}-wal"):
                shutil.copyfile(descriptor, self.away / Path(target).name)

    def is_large(self) -> bool:
        """Tell whether the database has more than its first page."""
        return self.database.stat().st_size > PAGE

    def write_log(self) -> None:
        """Write the log to the database; no server may run."""
        with closing(apsw.Connection(str(self.database))) as connection:
            connection.wal_checkpoint()

    def cut(self, luck: random.Random) -> bytes:
        """Cut the end of the database off; returns the whole."""
        whole = self.database.read_bytes()
        os.truncate(self.database, luck.randrange(1, len(whole)))
        return whole

    def limit(self, pid: int, luck: random.Random) -> None:
        """Let the process write nothing beyond a size that its log has or soon has: a write may end
        in the middle."""
        size = luck.randrange(PAGE, 64 * PAGE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def unlimit(self, pid: int) -> None:
        """Let the process write again."""
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)

    def existing(self) -> list[Path]:
        """The database and what belongs to it."""
        paths = [self.database.with_name(self.database.name + suffix) for suffix in SUFFIXES]
        return [path for path in paths if path.exists()]
