"""MariaDB for the tests: the distribution's programs, and one server for a run.

It lives in the run's folder, and the janitor ends it with the others.
"""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pymysql

from conformance.processes.ports import reserve_port
from tests.file_lock import locked
from tests.postgres import server_user

UNPACKED: Final = Path(__file__).parents[1] / "build" / "mariadb"
MISSING: Final = (
    "this machine has no MariaDB; `make mariadb` unpacks the distribution's where apt-get is, and"
    " elsewhere its package manager has mariadb-server"
)
START_LIMIT_S: Final = 60.0
# Its data outlives no run, and is small.
_SETTINGS: Final = (
    "--innodb-log-file-size=8M",
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-log-bin",
)


def is_there() -> bool:
    """Return True if the machine has the programs."""
    return _program() is not None


@contextmanager
def database(run: Path) -> Iterator[str]:
    """Make a database on the run's server and yield its URL, as SQLAlchemy has it; drop it
    after."""
    port = _shared_server(run)
    name = f"ojs_test_{secrets.token_hex(6)}"
    with closing(_connect(port)) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            yield f"mysql+pymysql://root@127.0.0.1:{port}/{name}"
        finally:
            cursor.execute(f"DROP DATABASE {name}")


def _connect(port: int) -> "pymysql.Connection[Any]":
    return pymysql.connect(host="127.0.0.1", port=port, user="root")


def _program() -> Path | None:
    unpacked = UNPACKED / "usr" / "sbin"
    found = shutil.which("mariadbd", path=f"{unpacked}:{os.environ['PATH']}:/usr/sbin:/sbin")
    return None if found is None else Path(found)


def _shared_server(run: Path) -> int:
    """Return the port of the run's server, started by the first process to ask."""
    address = run / "mariadb.port"
    with locked(run / "mariadb.lock"):
        if not address.exists():
            address.write_text(str(_start(run / "mariadb")))
        return int(address.read_text())


def _start(folder: Path) -> int:
    program = _program()
    assert program is not None, MISSING
    data, log = folder / "data", folder / "log"
    data.mkdir(parents=True)
    owner = server_user()
    if owner is not None:
        os.chown(data, owner.pw_uid, owner.pw_gid)
    shared = program.parents[1] / "share" / "mysql"
    command = [
        str(program),
        "--no-defaults",
        f"--datadir={data}",
        f"--lc-messages-dir={shared}",
        f"--character-sets-dir={shared / 'charsets'}",
        *([] if owner is None else [f"--user={owner.pw_name}"]),
        *_SETTINGS,
    ]
    libraries = (UNPACKED / part for part in ("usr/lib", "lib"))
    paths = [str(path) for part in libraries for path in part.glob("*-linux-gnu")]
    environment = {**os.environ, **({"LD_LIBRARY_PATH": ":".join(paths)} if paths else {})}
    tables = (shared / "mysql_system_tables.sql").read_text(encoding="utf-8")
    with log.open("wb") as output:
        subprocess.run(
            [*command, "--bootstrap"],
            input=f"CREATE DATABASE mysql;\nUSE mysql;\n{tables}".encode(),
            stdout=output,
            stderr=output,
            env=environment,
            check=True,
            timeout=START_LIMIT_S,
        )
        port = reserve_port()
        # The shell ends at once, so that nobody has to wait for the end of the server.
        subprocess.run(
            [
                *("sh", "-c", '"$@" &', "sh"),
                *command,
                "--skip-grant-tables",
                "--bind-address=127.0.0.1",
                f"--port={port}",
                f"--socket={data / 'socket'}",
                f"--pid-file={data / 'mariadb.pid'}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            check=True,
            start_new_session=True,
        )
    end = time.monotonic() + START_LIMIT_S
    while True:
        try:
            _connect(port).close()
        except pymysql.OperationalError:
            said = log.read_text(errors="replace")
            if "[ERROR] Aborting" in said or time.monotonic() > end:
                raise RuntimeError(f"MariaDB did not start: {said[-2000:]}") from None
            time.sleep(0.05)
        else:
            return port
