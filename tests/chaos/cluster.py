"""A durable PostgreSQL that can be crashed, alone or with a synchronous standby that takes over.

The calls block: they run beside the load in a thread.
"""

import os
import shutil
import signal
import time
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import msgspec
import psycopg

from tests.chaos.processes import (
    LIMIT_S,
    LOOK_S,
    disown,
    living,
    orphans,
    postmaster,
    signalled,
    wait_until,
)
from tests.postgres import Server

DATABASE: Final = "ojs"
ORPHANS_LEAVE_S: Final = 5.0
# For pg_rewind, and for a standby that comes back quickly.
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
            # In the server's folder: a server that is killed leaves it behind.
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
            self.primary.require_standby("*")
            self._follows()

    def destroy(self) -> None:
        """End the servers and remove them."""
        for server in self._servers:
            if not server.data.exists():
                continue
            path = server.data / "postmaster.pid"
            if path.exists() and not living([postmaster(server)]):
                path.unlink()
            server.destroy()

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection of the superuser to the primary, once it takes any."""
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                return psycopg.connect(
                    self.primary.url, dbname=database, autocommit=True, connect_timeout=5
                )
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(LOOK_S)

    def restart(self) -> None:
        """Start the primary again where it crashed."""
        disown(self.primary)
        begun = time.monotonic()
        while True:
            try:
                self.primary.start()
            except RuntimeError:
                # Its orphans still hold the memory that they shared.
                passed = time.monotonic() - begun
                if passed > LIMIT_S:
                    raise
                if passed > ORPHANS_LEAVE_S:
                    # They wait for locks of processes that have left. Whoever starts services kills
                    # what is left of them.
                    signalled(orphans(self.primary), signal.SIGKILL)
                time.sleep(LOOK_S)
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
        disown(self.standby)
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
    """Find a backend that commits; after so many looks, any backend."""
    found = backends(connection)
    while looks > 0 and not any(one.commits for one in found):
        looks -= 1
        found = backends(connection)
    return found
