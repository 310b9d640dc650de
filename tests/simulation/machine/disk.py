"""A disk under SQLite that forgets what was not synced when the power fails, and that has faults.

It is the VFS of every SQLite connection of this process. A crash leaves new files under the names
of the old ones: connections of the dead process keep the old files, with all locks, and can change
nothing any more, not even when they are closed.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Final, Literal

import apsw
import msgspec

from tests.simulation.machine.unsynced import Unsynced

Operation = Literal["write", "full", "sync", "open", "delete"]

# Files that a database consists of; the index of its log is made anew from that.
_DATA: Final = ("", "-wal", "-journal")
_REST: Final = ("-shm", ".lock")
_TRACKED: Final = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Fault(msgspec.Struct, eq=False):
    """A fault of files whose names end in `end`, for a number of times or until it is lifted."""

    end: str
    operation: Operation
    times: int | None = None

    def lift(self) -> None:
        """Let it happen no more."""
        self.times = 0


class Halt(msgspec.Struct):
    """The end of a process in the middle of what it does to a database."""

    after: int
    then: Callable[[], None]


class Disk(apsw.VFS):
    """Files in the file system of the machine, and what of them would survive."""

    def __init__(self, chance: random.Random, name: str = "simulated-disk") -> None:
        super().__init__(name, "unix", True)
        # Counts the faults, crashes and halts that happened, by kind.
        self.fired: Counter[str] = Counter()
        self._chance = chance
        self._random_bytes = random.Random(chance.getrandbits(64))
        self._files: dict[str, Unsynced] = {}
        # Files that were removed, as long as the power can bring them back.
        self._removed: dict[str, bytes] = {}
        self._faults: list[Fault] = []
        self._halts: dict[str, Halt] = {}
        # Closed by the garbage collector, a connection would remove files by their names.
        self._dead: list[apsw.Connection] = []
        # SQLite's own random numbers begin anew, from here.
        apsw.randomness(0)

    def fail(self, end: str, operation: Operation, times: int | None = None) -> Fault:
        """Let operations on files fail whose names end in `end`; `full` lets no file grow.

        What was not synced before a failed sync is never synced, unless it is written again: the
        operating system takes it for written. While files fail, no store should be closed: apsw
        raises what SQLite itself would not mention.
        """
        fault = Fault(end, operation, times)
        self._faults.append(fault)
        return fault

    def halt(self, path: str, after: int, then: Callable[[], None] = lambda: None) -> None:
        """Stop everything that is done to a database after some more writes and syncs.

        From then on its connections fail, and `crash` is to follow; `then` is called at once.
        """
        self._halts[os.path.realpath(path)] = Halt(after, then)

    def crash(self, path: str, *, power: bool) -> None:
        """Leave on the disk of a database what a dead process does: all writes, or without `power`
        for the disk all that were synced and some of the others."""
        path = os.path.realpath(path)
        self.fired["power loss" if power else "kill"] += 1
        self._halts.pop(path, None)
        self._dead += [one for one in apsw.connections() if one.filename == path]
        for suffix in _DATA:
            self._replace(path + suffix, power, suffix)
        for suffix in _REST:
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)

    def _replace(self, name: str, power: bool, suffix: str) -> None:
        state = self._files.pop(name, None)
        removed = self._removed.pop(name, None)
        if state is not None:
            state.dead = True
        if not os.path.exists(name):
            if power and removed is not None and self._chance.random() < 0.5:
                self.fired["removal undone"] += 1
                _write(name, removed, 0o600)
            return
        with open(name, "rb") as file:
            data, mode = file.read(), os.fstat(file.fileno()).st_mode
        os.unlink(name)
        if power and state is not None:
            if suffix and state.new and self._chance.random() < 0.5:
                self.fired["creation undone"] += 1
                return
            data = state.survivors(data, self._chance)
        _write(name, data, mode & 0o777)

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> apsw.VFSFile:
        """Open a file, and watch it if it belongs to a database."""
        if name is None or not flags[0] & _TRACKED:
            return apsw.VFSFile("unix", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if self._faults and self._fails(path, "open"):
            raise apsw.CantOpenError(f"{path}: simulated")
        new = not os.path.exists(path)
        state = self._files.get(path)
        file = DiskFile(self, path, name, flags)
        if state is None or new:
            state = self._files[path] = Unsynced(file.size(), new)
        file.state = state
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Remove a file; unless its folder is synced, a power loss can bring it back."""
        if self._faults and self._fails(filename, "delete"):
            raise apsw.IOError(f"{filename}: simulated")
        self.count(database_of(filename), None)
        state = self._files.pop(filename, None)
        if syncdir:
            self._removed.pop(filename, None)
        elif state is not None and os.path.exists(filename):
            with open(filename, "rb") as file:
                self._removed[filename] = state.survivors(file.read(), self._chance)
        super().xDelete(filename, syncdir)

    def xRandomness(self, numbytes: int) -> bytes:
        """Return random bytes, with which SQLite begins its own."""
        return self._random_bytes.randbytes(numbytes)

    def count(self, database: str, state: Unsynced | None) -> None:
        """Count an operation on a database; raises if its process is dead."""
        if state is not None and state.dead:
            raise apsw.IOError(f"{database}: the process is dead")
        if not self._halts or (halt := self._halts.get(database)) is None:
            return
        halt.after -= 1
        if halt.after >= 0:
            return
        if halt.after == -1:
            self.fired["halt"] += 1
            halt.then()
        raise apsw.IOError(f"{database}: the process is dead")

    def failing(self, path: str, *operations: Operation) -> Operation | None:
        """Return the first of these operations that is to fail now."""
        if not self._faults:
            return None
        return next((one for one in operations if self._fails(path, one)), None)

    def synced_folder(self, path: str) -> None:
        """Note that no removal of a file of this database can be undone any more."""
        for suffix in _DATA:
            self._removed.pop(database_of(path) + suffix, None)

    def torn(self, data: bytes) -> bytes:
        """Return how much of a write is done before it fails."""
        return data[: self._chance.randrange(len(data) + 1)]

    def _fails(self, path: str, operation: Operation) -> bool:
        for fault in self._faults:
            if fault.operation != operation or fault.times == 0 or not path.endswith(fault.end):
                continue
            if fault.times is not None:
                fault.times -= 1
            self.fired[operation] += 1
            return True
        return False


class DiskFile(apsw.VFSFile):
    """A file of a database, opened once."""

    state: Unsynced

    def __init__(
        self, disk: Disk, path: str, name: "str | apsw.URIFilename", flags: list[int]
    ) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._path = path
        self._database = database_of(path)
        self.size = super().xFileSize
        self._read = super().xRead

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write, and keep what was there at the last sync."""
        state, end = self.state, offset + len(data)
        self._disk.count(self._database, state)
        kind = self._disk.failing(self._path, "write")
        if kind is None and end > self.size():
            kind = self._disk.failing(self._path, "full")
        if kind == "full":
            raise apsw.FullError(f"{self._path}: simulated")
        state.keep(self._read, offset, end)
        if kind == "write":
            super().xWrite(self._disk.torn(bytes(data)), offset)
            raise apsw.IOError(f"{self._path}: simulated")
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        """Cut the file, and keep what was there at the last sync."""
        self._disk.count(self._database, self.state)
        self.state.keep(self._read, newsize, max(newsize, self.size()))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        """Have all that was written survive."""
        state = self.state
        self._disk.count(self._database, state)
        if self._disk.failing(self._path, "sync"):
            state.lose()
            raise apsw.IOError(f"{self._path}: simulated")
        if state.new and self._path != self._database:
            self._disk.synced_folder(self._path)
        state.synced(self.size())

    def xLock(self, level: int) -> None:
        """Lock the file; a dead process that closes it would otherwise tidy up."""
        if self.state.dead:
            raise apsw.BusyError(f"{self._path}: the process is dead")
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # A connection that only reads asks at its end for a lock that it cannot have. SQLite
            # does not mind, and of all errors apsw only takes a busy file for normal.
            raise apsw.BusyError(str(error)) from error


def database_of(path: str) -> str:
    """Return the database that a file belongs to."""
    for suffix in _DATA[1:]:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path


def _write(name: str, data: bytes, mode: int) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
