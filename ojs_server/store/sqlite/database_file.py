"""The file of a database: held by this process alone, and still under the name it was opened by.

The lock file guards a name and the log beside it. It says nothing about a file with two names, so
the file itself is locked as well; see docs/decisions/0050.
"""

import os
import struct
import sys
import threading
from pathlib import Path
from typing import Final

import msgspec

from ojs_server.store.errors import StoreUnavailable
from ojs_server.store.sqlite.lock import fcntl, path_with, private
from ojs_server.store.sqlite.truncation import truncation

# Far from the bytes that SQLite locks, which are at the first gigabyte.
_LOCKED_BYTE: Final = 1 << 62
# Number of files that hold jobs: the database and its log.
HOLD_JOBS: Final = 2
_RESTART: Final = "If it was removed, restart the server."
_STOP: Final = "If it was removed, stop the server with SIGTERM, which writes it to the database."


class Place(msgspec.Struct, frozen=True):
    """A file under its name, and what to do if it cannot come back."""

    path: str
    device: int
    number: int
    remedy: str


class DatabaseFile:
    """Open from creation until `close`, or until the process ends in any way."""

    def __init__(self, name: Path, path: Path, process: int) -> None:
        """Open the file, or a new one; `path` is where its `name` leads to."""
        self._path = path
        self._process = process
        log = path_with(path, "-wal")
        existing = path.exists()
        # Asked by name: to open and close a file frees all locks that SQLite has on it.
        if existing and (links := path.stat().st_nlink) > 1:
            raise StoreUnavailable(
                f"{path} has {links} names (hard links), and each has a log of its own: remove the "
                f"others, which `find / -samefile {path}` lists"
            )
        if not existing and (reason := truncation(None, log)):
            raise StoreUnavailable(f"{path} {reason}: put the file in its place, or remove the log")
        # SQLite gives the files beside the database the mode of the database.
        self._descriptor = private(path, os.O_RDWR | os.O_CREAT)
        if not _locked(self._descriptor):
            # Not closed: this process may have the file open under its other name.
            raise StoreUnavailable(
                f"{path} is in use by another ojs-server, under another name or with a lock file "
                "that was removed; stop that one"
            )
        if reason := truncation(self._descriptor, log):
            self.close()
            raise StoreUnavailable(f"{path} {reason}: restore a backup, or put the whole file here")
        self._size = os.fstat(self._descriptor).st_size
        self._looking = threading.Lock()
        self._cut: str | None = None
        # Files that hold jobs come first.
        self._places = [_place(name, os.fstat(self._descriptor), "")]

    def note_log(self) -> None:
        """Note the log, which SQLite has opened by now, and the other files beside the database."""
        self._places += [
            _noted(path_with(self._path, "-wal"), _STOP),
            _noted(path_with(self._path, "-shm"), _RESTART),
            _noted(path_with(self._path, ".lock"), _RESTART),
        ]

    def displaced(self, most: int | None = None) -> str | None:
        """Return which file is not under its name any more, in a sentence; None if all are.

        Only the database and its log are looked at with `most` as `HOLD_JOBS`.
        """
        # One thread at a time, so that sizes are seen in their order.
        with self._looking:
            for number, place in enumerate(self._places[:most]):
                try:
                    found = os.stat(place.path)
                except OSError as error:
                    return self._sentence(place, f"is gone ({error.strerror})")
                if found.st_ino != place.number or found.st_dev != place.device:
                    return self._sentence(place, "is another file than the one that was opened")
                if number == 0 and found.st_size != self._size:
                    self._note_size(found.st_size)
            return self._cut

    def _note_size(self, size: int) -> None:
        """Note that the database has another size; a smaller one is right after a VACUUM alone."""
        if size < self._size and (reason := truncation(self._descriptor, None)):
            # For good: a checkpoint can fill it up, and not with what was there.
            self._cut = (
                f"{self._path} {reason}; changes are refused. End the server with SIGKILL, which "
                "keeps the log, put the whole file back, and start the server."
            )
        self._size = size

    def close(self) -> None:
        """Free the file; SQLite must have closed it before."""
        os.close(self._descriptor)

    def _sentence(self, place: Place, state: str) -> str:
        remedy = place.remedy
        if not remedy and not os.fstat(self._descriptor).st_nlink:
            remedy = (
                f"It was removed, and only process {self._process} still has it: copy it from "
                f"/proc/{self._process}/fd before that ends."
            )
        return f"{place.path} {state}; changes are refused until it is back. {remedy}".rstrip()


def _noted(path: Path, remedy: str) -> Place:
    return _place(path, path.stat(), remedy)


def _place(path: Path, found: os.stat_result, remedy: str) -> Place:
    return Place(str(path), found.st_dev, found.st_ino, remedy)


def _locked(descriptor: int) -> bool:
    """Lock a byte of the file for this process; tell whether no other has it.

    Not by flock, which network disks and macOS take for a lock of what SQLite locks, nor by a
    lock of the process, which any close of the file would free.
    """
    if sys.platform != "linux":
        return True
    flock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, flock)
    except (BlockingIOError, PermissionError):
        return False
    return True
