"""A durable PostgreSQL that can be crashed, alone or with a synchronous standby that takes over.

The calls block: they run beside the load in a thread.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import msgspec
import psycopg

from tests.postgres import Server

DATABASE: Final = "ojs"
LIMIT_S: Final = 60.0
_LOOK_S: Final = 0.02
# What pg_rewind and a standby that comes back quickly need.
_REPLICATED: Final = (
    "wal_log_hints=on",
    "wal_keep_size=512MB",
    "wal_retrieve_retry_interval=100ms",
)
_BACKENDS: Final = """
SELECT pid, state = 'active' AND query ILIKE 'commit%', wait_event IS NOT DISTINCT FROM 'SyncRep'
FROM pg_stat_activity WHERE application_name = 'ojs-server' ORDER BY pid
"""


class Backend(msgspec.Struct, frozen=True, array_like=True):
    """A process that serves a connection of a node."""

    pid: int
    commits: bool
    # Its COMMIT is on the primary's disk, and waits for the standby.
    waits_for_standby: bool


class Cluster:
    """The database of the nodes: `primary`, and where one is wanted `standby`.

    With `flush_ms` a commit takes at least so long to reach the disk, as on a slow one, so that
    kills find commits under way.
    """

    def __init__(self, programs: Path, folder: Path, *, flush_ms: float, standby: bool) -> None:
        settings = (
            f"commit_delay={int(flush_ms * 1000)}",
            "commit_siblings=0",
            # Whoever is killed leaves it behind: in its folder.
            "dynamic_shared_memory_type=mmap",
        )
        name = token_hex(4)
        names = (f"{name}-one", f"{name}-other") if standby else (f"{name}-one",)
        servers = [
            Server(
                programs,
                folder / name,
                durable=True,
                settings=settings + (_REPLICATED if standby else ()),
            )
            for name in names
        ]
        self.primary = servers[0]
        self.standby = servers[1] if standby else None
        self._servers = servers

    @property
    def url(self) -> str:
        """The nodes' URL, which names all servers; the same after a fail-over."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self._servers)
        wanted = "?target_session_attrs=read-write" if self.standby else ""
        return f"postgresql://postgres@{hosts}/{DATABASE}{wanted}"

    def start(self) -> None:
        """Make the servers, and the database in them."""
        self.primary.start()
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0")
        if self.standby is not None:
            self.standby.make_folder()
            self._copy(self.standby)
            with self.connect() as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
            self._follows()

    def destroy(self) -> None:
        """End the servers and remove them."""
        for server in self._servers:
            if not server.data.exists():
                continue
            path = server.data / "postmaster.pid"
            if path.exists() and not _living([postmaster(server)]):
                path.unlink()
            server.destroy()

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the superuser to the primary, once it takes any."""
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                return psycopg.connect(self.primary.url, autocommit=True, connect_timeout=5)
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_LOOK_S)

    def restart(self) -> None:
        """Start the primary again where it crashed."""
        _disown(self.primary)
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                self.primary.start()
            except RuntimeError:
                # Its orphans still hold the memory that they shared.
                if time.monotonic() > end:
                    raise
                time.sleep(_LOOK_S)
            else:
                return

    def fail_over(self) -> None:
        """Make the standby the primary. The old one must be dead."""
        assert self.standby is not None
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self, *, rewind: bool) -> None:
        """Make what was the primary a standby of the new one, by pg_rewind or as a new copy."""
        assert self.standby is not None
        _disown(self.standby)
        if not (rewind and self._rewound(self.standby)):
            shutil.rmtree(self.standby.data)
            self._copy(self.standby)
        self._follows()

    def _rewound(self, standby: Server) -> bool:
        with self.connect() as connection:
            connection.execute("CHECKPOINT")  # tells pg_rewind of the new timeline
        try:
            standby.call("pg_rewind", "--no-sync", "--source-server", self.primary.url)
        except RuntimeError:
            # It needs the old log back to where the two parted, and may not find all of it.
            return False
        self._follow(standby)
        return True

    def _copy(self, standby: Server) -> None:
        port = str(self.primary.port)
        address = ("--host=127.0.0.1", f"--port={port}", "--username=postgres")
        standby.call("pg_basebackup", "--checkpoint=fast", "--no-sync", *address)
        self._follow(standby)

    def _follow(self, standby: Server) -> None:
        """Start a server as a standby; it waits for another one itself once it is promoted."""
        primary = f"host=127.0.0.1 port={self.primary.port} user=postgres"
        owner = standby.data.stat()
        lines = f"primary_conninfo = '{primary}'\nsynchronous_standby_names = '*'\n"
        for name, text in (("postgresql.auto.conf", lines), ("standby.signal", "")):
            path = standby.data / name
            path.write_text(text)
            os.chown(path, owner.st_uid, owner.st_gid)
        standby.start()

    def _follows(self) -> None:
        def is_followed() -> bool:
            with self.connect() as connection:
                found = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchall()
            return found == [("sync",)]

        wait_until(is_followed)

    def sender(self) -> int:
        """The primary's process that sends its log to the standby."""
        with self.connect() as connection:
            row = connection.execute("SELECT pid FROM pg_stat_replication").fetchone()
        assert row is not None
        return int(row[0])


def backends(connection: psycopg.Connection[Any]) -> list[Backend]:
    """The processes that serve the nodes at this moment."""
    return [Backend(*row) for row in connection.execute(_BACKENDS).fetchall()]


def backends_at_commit(connection: psycopg.Connection[Any], looks: int) -> list[Backend]:
    """The same, at a moment when one commits; after so many looks, at any."""
    found = backends(connection)
    while looks > 0 and not any(one.commits for one in found):
        looks -= 1
        found = backends(connection)
    return found


def postmaster(server: Server) -> int:
    """The first process of a server that runs."""
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def processes(server: Server) -> list[int]:
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
        doomed = processes(server) if known is None else known
        signalled(doomed, signal.SIGKILL)
        wait_until(lambda: not _living(doomed))


def signalled(pids: list[int], sig: signal.Signals) -> None:
    """Send each a signal; who is gone needs none."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, sig)


def _living(pids: list[int]) -> bool:
    """Whether one of them still runs. Who has ended may be listed until its parent asks for it."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", ",".join(map(str, pids))],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return any(not state.startswith("Z") for state in listed.split())


def _disown(server: Server) -> None:
    """Let a server that has ended be started at once, although its process is still listed.

    The name of the shared memory stays in the file, by which PostgreSQL finds orphans.
    """
    path = server.data / "postmaster.pid"
    with suppress(FileNotFoundError):
        wait_until(lambda: not _living([postmaster(server)]))
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
        time.sleep(_LOOK_S)
