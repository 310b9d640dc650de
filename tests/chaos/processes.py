"""The processes of a PostgreSQL server: found, signalled, ended."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.postgres import Server

LIMIT_S: Final = 60.0
LOOK_S: Final = 0.02


def postmaster(server: Server) -> int:
    """The first process of a server that runs."""
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def of(server: Server) -> list[int]:
    """All processes of a server, the first one first."""
    first = postmaster(server)
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    pairs = [line.split() for line in listed.splitlines()]
    return [first, *(int(pid) for pid, parent in pairs if parent == str(first))]


def kill(server: Server, known: list[int] | None = None) -> None:
    """End a server as its machine's end would, and wait until it is gone.

    All processes end at once where they are known: to find them takes a while.
    """
    with suppress(FileNotFoundError):
        doomed = of(server) if known is None else known
        signalled(doomed, signal.SIGKILL)
        wait_until(lambda: not living(doomed))


def orphans(server: Server) -> list[int]:
    """The processes in the folder of a server, whose first one is gone; as Linux tells."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if entry.readlink() == server.data:
                found.append(int(entry.parent.name))
    return found


def signalled(pids: list[int], sig: signal.Signals) -> None:
    """Send a signal to each that is there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, sig)


def living(pids: list[int]) -> bool:
    """Tell whether one of them still runs; one that has ended stays listed for a while."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", ",".join(map(str, pids))],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return any(not state.startswith("Z") for state in listed.split())


def disown(server: Server) -> None:
    """Let a server that has ended be started at once, although its process is still listed.

    The name of the shared memory stays in the file, by which PostgreSQL finds orphans.
    """
    path = server.data / "postmaster.pid"
    with suppress(FileNotFoundError):
        wait_until(lambda: not living([postmaster(server)]))
        nobody = subprocess.Popen(["true"])
        nobody.wait()
        _, *rest = path.read_text().splitlines(keepends=True)
        path.write_text("".join([f"{nobody.pid}\n", *rest]))
        (server.data.parent / f".s.PGSQL.{server.port}.lock").unlink(missing_ok=True)


def wait_until(met: Callable[[], bool]) -> None:
    """Look until it is so: a database has no event for it."""
    end = time.monotonic() + LIMIT_S
    while not met():
        if time.monotonic() > end:
            raise TimeoutError(f"{met.__qualname__}: not within {LIMIT_S} s")
        time.sleep(LOOK_S)
