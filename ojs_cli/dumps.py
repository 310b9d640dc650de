"""PostgreSQL databases as files, by PostgreSQL's own programs."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ojs_cli.failures import CONFLICT, MISUSED, Failure

# Passed in the environment, because other users can read the arguments of a process.
PASSWORD: Final = "PGPASSWORD"
NAME: Final = "ojs-backup"


class Database:
    """The schema of a PostgreSQL database in which a job server keeps its tables."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Look at the database to which a server connects with these parameters."""
        import psycopg

        self._parameters = {**parameters, "application_name": NAME}
        try:
            with psycopg.connect(**self._parameters) as connection:
                row = connection.execute("SELECT current_schema()").fetchone()
                found = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND application_name = %s",
                    (parameters["application_name"],),
                ).fetchone()
        except psycopg.Error as error:
            raise Failure(f"the database: {str(error).strip().splitlines()[0]}") from None
        schema = None if row is None else row[0]
        if schema is None:
            raise Failure("the database has no schema of its search_path", "create it first")
        self.schema = str(schema)
        self._connected = 0 if found is None else int(found[0])

    def dump(self, target: Path) -> None:
        """Copy the schema as it is at this moment; the copy is there whole or not at all."""
        part = target.with_name(f"{target.name}.part")
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        try:
            self._run("pg_dump", "--format=custom", f"--file={part}")
            require_tables(part, self.schema)
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def require_no_server(self) -> None:
        """Refuse if servers are connected."""
        if self._connected:
            raise Failure(
                f"job servers have {self._connected} connections to the database",
                "stop the servers first",
                exit_code=CONFLICT,
            )

    def restore(self, source: Path) -> None:
        """Replace the tables of the schema by those of a copy, in one transaction."""
        self._run(
            "pg_restore",
            *("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error"),
            str(source),
        )

    def _run(self, name: str, *words: str) -> None:
        from psycopg.conninfo import make_conninfo

        given: dict[str, Any] = dict(self._parameters)
        password = given.pop("password", None)
        secret = {} if password is None else {PASSWORD: str(password)}
        quoted = self.schema.replace('"', '""')
        # Only pg_dump takes a pattern, in which a name must be quoted.
        schema = f'"{quoted}"' if name == "pg_dump" else self.schema
        options = ("--no-password", f"--schema={schema}", f"--dbname={make_conninfo('', **given)}")
        ended = subprocess.run(
            [program(name), *options, *words],
            env={**os.environ, **secret},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
            hint = "use the programs of the database's version" if "version" in lines[0] else ""
            raise Failure(lines[0], hint)


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL."""
    found = shutil.which(name)
    if found is None:
        raise Failure(
            f"a PostgreSQL database needs {name}, which is not on the PATH",
            "install PostgreSQL's client programs, in the version of the database",
            exit_code=MISUSED,
        )
    return found


def require_tables(source: Path, schema: str) -> None:
    """Refuse a file that is no copy of a job server's tables in a schema of this name."""
    if not source.is_file():
        raise Failure(f"there is no file {source}", exit_code=MISUSED)
    listed = subprocess.run(
        [program("pg_restore"), "--list", str(source)], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        raise Failure(f"{source} is no backup of a PostgreSQL database")
    tables = [line.split() for line in listed.stdout.splitlines() if " TABLE " in line]
    found = {words[4] for words in tables if words[3] == "TABLE" and words[5] == "jobs"}
    if not found:
        raise Failure(f"{source} is no backup of a job server")
    if schema not in found:
        raise Failure(
            f"{source} is of the schema {min(found)}, and the database's is {schema}",
            f"name the schema in the URL: ?options=-csearch_path%3D{min(found)}",
        )
