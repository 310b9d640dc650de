"""PostgreSQL for the tests: real servers, one database per test process, one schema at a time.

All servers of a run live in one folder with a short path (`Run`). A janitor process waits on a pipe
from the pytest process; when that closes, however the run ended, it stops the servers and removes
the folder. Test processes share a server: whoever needs it first starts it, under a file lock.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg import sql

from conformance.processes.ports import reserve_port
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.migrate import migrate
from ojs_server.store.postgres.statements import PACKAGE
from tests import janitor
from tests.file_lock import locked
from tests.janitor import STOP_LIMIT_SECONDS, halt
from tests.kept import end_all, idle_backends

SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=..",
    "max_connections=400",
    # For applications that share the database; it ships without.
    "max_prepared_transactions=10",
)
# The shared servers may lose data when the machine itself goes down, which no test survives.
# A killed job server, or a killed PostgreSQL, finds every commit again in the system's page cache.
# synchronous_commit stays on, so that an answer still waits for its commit.
UNSAFE_SETTINGS = ("fsync=off", "full_page_writes=off")
GROWN_BYTES = 1024 * 1024
SHORT_PATH = 20
# To stop all servers of a run and remove their files, also on a machine whose disk is busy.
CLOSE_LIMIT_SECONDS = 300.0


class Run:
    """The folder of one test run and the janitor that empties it; held by the pytest process."""

    def __init__(self) -> None:
        # On macOS the default folder's path is longer than a server's paths may be.
        usual = tempfile.gettempdir()
        place = usual if len(usual) < SHORT_PATH else "/tmp"
        self.folder = Path(tempfile.mkdtemp(prefix="ojs-test-", dir=place))
        self.folder.chmod(0o755)  # the servers may run as another user
        self._janitor = subprocess.Popen(
            [sys.executable, janitor.__file__, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tests; the janitor works after it
        )

    def close(self) -> None:
        """Stop every server of the run and wait until they are gone."""
        self._janitor.communicate(b"\n", timeout=CLOSE_LIMIT_SECONDS)


class Server:
    """A PostgreSQL server in `folder`, made at its first start; all access is trusted."""

    def __init__(
        self, programs: Path, folder: Path, *, durable: bool, settings: Sequence[str] = ()
    ) -> None:
        self._programs = programs
        self._folder = folder
        self.data = folder / "data"
        self._log = folder / "log"
        self._settings = (*SETTINGS, *(() if durable else UNSAFE_SETTINGS), *settings)
        self.port = 0
        self._owner = server_user()

    @property
    def url(self) -> str:
        """The superuser's URL of the server; its port is chosen by the first start and kept."""
        return f"postgresql://postgres@{self.address}/postgres"

    @property
    def address(self) -> str:
        """Its host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def near_url(self) -> str:
        """The superuser's URL by the server's socket, which costs less on the same machine."""
        return f"postgresql://postgres@/postgres?host={self._folder}&port={self.port}"

    def start(self) -> None:
        """Start the server and return when it takes connections."""
        if not self._folder.exists():
            self._create()
        # As late as can be: a port is reserved for a minute.
        self.port = self.port or reserve_port()
        options = " ".join(f"-c {setting}" for setting in self._settings)
        self.call("pg_ctl", "start", "-w", "-l", "log", "-o", f"-p {self.port} {options}")

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop the server; `immediate` is a crash that the next start recovers from."""
        self.call("pg_ctl", "stop", "-w", "-m", mode)

    def standby(self, name: str) -> "Server":
        """A copy of this server that follows it under a name; it has yet to be started."""
        copy = Server(
            self._programs, self._folder.with_name(f"{self._folder.name}-{name}"), durable=True
        )
        copy.make_folder()
        source = f"host=127.0.0.1 port={self.port} user=postgres application_name={name}"
        copy.call("pg_basebackup", "-d", source, "-R", "--checkpoint=fast", "--no-sync")
        copy.port = reserve_port()
        return copy

    def require_standby(self, name: str) -> None:
        """Have each commit wait for a standby of this name, `*` for any, or for none where empty.

        Return when all commits do.
        """
        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'".encode())
            connection.execute("SELECT pg_reload_conf()")
        end = time.monotonic() + STOP_LIMIT_SECONDS
        while self._required_standby() != name:
            if time.monotonic() > end:
                raise AssertionError("the server has not read its new settings in time")
            time.sleep(0.01)
        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            # Commits go by what the checkpointer has read, which it does before a checkpoint.
            connection.execute("CHECKPOINT")

    def _required_standby(self) -> str:
        # Connections that are there already read it at a time of their own.
        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            (found,) = connection.execute("SHOW synchronous_standby_names").fetchone() or ("",)
            return str(found)

    def promote(self) -> None:
        """Make the primary of a standby, and return when it is one."""
        self.call("pg_ctl", "promote", "-w")

    def destroy(self) -> None:
        """End the server, if it still runs, and remove it."""
        halt(self.data / "postmaster.pid")
        shutil.rmtree(self._folder)

    def make_folder(self) -> None:
        """Make the folder that the server lives in."""
        self._folder.mkdir(mode=0o700)
        if self._owner is not None:
            os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)

    def _create(self) -> None:
        # A copy of what the first of these servers made takes a tenth of the time.
        first = Server(self._programs, self._folder.with_name(self._name_of_first()), durable=True)
        with locked(first._folder.with_suffix(".lock")):
            if not first.data.exists():
                first._make_data()
        self.make_folder()
        self._run("cp", "-R", first.data, self.data)

    def _name_of_first(self) -> str:
        return f"first-{sha256(os.fsencode(self._programs)).hexdigest()[:8]}"

    def _make_data(self) -> None:
        self.make_folder()
        encoding = ("--encoding=UTF8", "--locale=C")
        self.call("initdb", "--username=postgres", "--auth=trust", "--no-sync", *encoding)

    def call(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs on the server's data, as the server's user."""
        self._run(self._programs / program, *arguments, "-D", self.data)

    def _run(self, *command: str | Path) -> None:
        identity: dict[str, Any] = {}
        if self._owner is not None:
            identity = {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}
        # Output goes to a file: a started server would keep a pipe open for good.
        with (self._folder / "output").open("w+b") as output:
            result = subprocess.run(
                command,
                cwd=self._folder,
                env={name: value for name, value in os.environ.items() if name[:2] != "PG"}
                | {"LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                **identity,
            )
            if result.returncode == 0:
                return
            output.seek(0)
            said = output.read().decode(errors="replace")
        log = self._log.read_text(errors="replace")[-2000:] if self._log.exists() else "(no log)"
        raise RuntimeError(f"{command[0]} exited {result.returncode}: {said}\nserver log: {log}")


class Database:
    """A database of this test process alone, so that advisory locks and notices stay its own."""

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        self._name = f"ojs_test_{secrets.token_hex(6)}"
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))
        parts = urlsplit(server_url)
        self._url = parts._replace(path=f"/{self._name}").geturl()
        self._connection = psycopg.connect(self._url, autocommit=True)
        self._kept: UsedStore | None = None

    @contextmanager
    def schema(self) -> Iterator[str]:
        """Make an empty schema and yield the URL that works in it; drop it after."""
        schema = self._create()
        try:
            yield self._url_of(schema)
        finally:
            self._leave()
            self._drop(schema)

    @contextmanager
    def store(self) -> Iterator[str]:
        """Yield the URL of an empty store, the schema of an earlier test where that will do.

        Making the tables and dropping them takes longer than most tests do.
        """
        used = self._kept or self._new_store()
        self._kept = None
        try:
            yield self._url_of(used.schema)
        finally:
            self._leave()
            if used.grown(self._connection):
                self._drop(used.schema)
            else:
                used.empty(self._connection)
                self._kept = used

    def _new_store(self) -> "UsedStore":
        schema = self._create()
        with BoundedConnection.connect(self._url_of(schema), autocommit=True) as connection:
            migrate(connection, PACKAGE)
        return UsedStore(self._connection, schema)

    def _create(self) -> str:
        schema = f"t_{secrets.token_hex(6)}"
        self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        return schema

    def _drop(self, schema: str) -> None:
        end_all()
        self._connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))

    def _url_of(self, schema: str) -> str:
        parts = urlsplit(self._url)
        query = [*parse_qsl(parts.query), ("options", f"-csearch_path={schema}")]
        return parts._replace(query=urlencode(query, quote_via=quote)).geturl()

    def _leave(self) -> None:
        # A connection that the test left behind may hold locks, and DROP would wait for them.
        self._connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL (%s)",
            (idle_backends(),),
            prepare=True,
        )

    def close(self) -> None:
        """Drop the database."""
        end_all()
        self._connection.close()
        with psycopg.connect(self._server_url, autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._name))
            connection.execute(drop)


class UsedStore:
    """A schema with the server's tables, which can be made as empty as it was at first."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self.schema = schema
        _, self._new = self._measured(connection)
        relations = connection.execute(
            "SELECT relname, relkind = 'S' FROM pg_class"
            " WHERE relnamespace = %s::text::regnamespace AND relkind IN ('r', 'S')",
            (schema,),
        ).fetchall()
        self._tables = {
            name: sql.Identifier(schema, name) for name, is_one in relations if not is_one
        }
        looks = [
            sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(sql.Literal(name), table)
            for name, table in self._tables.items()
        ]
        self._look = sql.SQL(" UNION ALL ").join(looks)
        # The sequences begin anew, and what a new store has is there.
        restart = sql.SQL("SELECT setval({}, 1, false)")
        self._refill: list[sql.Composable] = [
            restart.format(sql.Literal(f"{schema}.{name}")) for name, is_one in relations if is_one
        ]
        for table in self._tables.values():
            found = connection.execute(
                sql.SQL("SELECT json_agg(t)::text FROM {} AS t").format(table)
            ).fetchone()
            if found is not None and found[0] is not None:
                rows = sql.SQL(
                    "INSERT INTO {0} SELECT * FROM json_populate_recordset(NULL::{0}, {1})"
                )
                self._refill.append(rows.format(table, sql.Literal(found[0])))

    def grown(self, connection: psycopg.Connection[Any]) -> bool:
        """Return True if a test changed the tables, or wrote so much that it would slow others."""
        size, catalogue = self._measured(connection)
        return size > GROWN_BYTES or catalogue != self._new

    def empty(self, connection: psycopg.Connection[Any]) -> None:
        """Remove every row but those of a new store."""
        used = connection.execute(self._look, prepare=True).fetchall()
        steps: list[sql.Composable] = [
            sql.SQL("BEGIN"),
            # No foreign key is asked, so that the order of tables does not matter.
            sql.SQL("SET LOCAL session_replication_role = replica"),
            *(sql.SQL("DELETE FROM {}").format(self._tables[name]) for (name,) in used),
            *self._refill,
            sql.SQL("COMMIT"),
        ]
        connection.execute(sql.SQL("; ").join(steps))

    def _measured(self, connection: psycopg.Connection[Any]) -> tuple[int, object]:
        """The size of the tables, and what changes when any of them is."""
        size, *catalogue = connection.execute(
            "SELECT sum(pg_relation_size(oid)) FILTER (WHERE relkind = 'r'),"
            " count(*), max(xmin::text::int8) FROM pg_class"
            " WHERE relnamespace = %s::text::regnamespace AND relkind <> 'S'",
            (self.schema,),
            prepare=True,
        ).fetchall()[0]
        return size, catalogue


def shared_server(run: Path, name: str, programs: Path) -> str:
    """Return the URL of the run's server of this name, started by the first process to ask."""
    address = run / f"{name}.url"
    with locked(run / f"{name}.lock"):
        if not address.exists():
            server = Server(programs, run / name, durable=False)
            server.start()
            address.write_text(server.url)
        return address.read_text()


def server_user() -> pwd.struct_passwd | None:
    """The user to run servers as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def uncounted(url: str) -> None:
    """Keep the server from counting rows on its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        for (table,) in connection.execute(
            "SELECT relname FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        ).fetchall():
            switch = sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)")
            connection.execute(switch.format(sql.Identifier(table)))
