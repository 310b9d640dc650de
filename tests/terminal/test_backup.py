"""`ojs backup` and `ojs restore`: the database of either store as a file."""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import psycopg
import pytest

from ojs_cli import embedded
from ojs_cli.failures import CONFLICT, MISUSED, OK, REFUSED
from ojs_server.app import Application, Server
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from ojs_worker import Client
from ojs_worker.testing.asgi import AsgiTransport
from tests.kept import end_all
from tests.postgres import Database
from tests.terminal.conftest import Ojs, Output, program


@asynccontextmanager
async def serving(database: Path | str) -> AsyncIterator[Client]:
    """A server on a file, and a client of it."""
    server = Server(Settings(), open_store(str(database)))
    async with server.running():
        yield Client(transport=AsgiTransport(Application(server)))


def leave(url: str) -> None:
    """End the connections that tests keep of stores that are closed, and wait for their end."""
    end_all()
    # Within a transaction the sessions are read once.
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(
            "SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'ojs-server'"
        ).fetchone():
            connection.execute("SELECT pg_sleep(0.02)")


async def test_a_backup_of_a_running_postgres_server_is_restored(
    run: Ojs,
    distribution_database: Database,
    distribution_programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", f"{distribution_programs}{os.pathsep}{os.environ['PATH']}")
    copy = tmp_path / "copy.dump"
    with distribution_database.store() as url, distribution_database.store() as other:
        words = ("--database", url)
        async with serving(url) as client:
            kept = await client.enqueue("kept")
            assert run("backup", str(copy), *words).code == OK
            late = await client.enqueue("late")
            running = run("restore", str(copy), *words, "--yes")
            assert (running.code, "stop the servers first" in running.err) == (CONFLICT, True)
        leave(url)
        asked = run("restore", str(copy), *words)
        assert (asked.code, "--yes" in asked.err) == (MISUSED, True)
        elsewhere = run("restore", str(copy), "--database", other, "--yes")
        assert (elsewhere.code, "name the schema in the URL" in elsewhere.err) == (REFUSED, True)
        assert run("restore", str(copy), *words, "--yes").code == OK
        async with serving(url) as client:
            found = [job.id async for job in client.jobs.list()]
            assert (kept.id in found, late.id in found) == (True, False)
            await client.enqueue("more")
    assert copy.stat().st_mode & 0o077 == 0
    assert not copy.with_name("copy.dump.part").exists()


def test_a_dump_needs_the_programs_of_postgres(
    run: Ojs, postgres_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = run("backup", str(tmp_path / "x"), "--database", postgres_store)
    assert (said.code, "needs pg_dump" in said.err) == (MISUSED, True)
    away = run("backup", str(tmp_path / "x"), "--database", "postgresql://u@127.0.0.1:9/n")
    assert (away.code, len(away.err.splitlines()) <= 2) == (REFUSED, True)
    assert list(tmp_path.iterdir()) == []


def in_own_process(*words: str) -> Output:
    """Run the command in a process of its own. Within one, the command and the server each have an
    SQLite, and the first to close the file frees the locks of both."""
    done = program("-m", "ojs_cli", *words)
    return Output(done.returncode, done.stdout, done.stderr)


async def test_a_backup_of_a_running_server_is_restored(run: Ojs, sqlite_store: Path) -> None:
    copy = sqlite_store.with_name("copy.db")
    link = sqlite_store.with_name("link.db")
    link.symlink_to(sqlite_store)
    words = ("--database", str(link))
    async with serving(sqlite_store) as client:
        kept = await client.enqueue("kept")
        assert in_own_process("backup", str(copy), *words).code == OK
        late = await client.enqueue("late")
        running = in_own_process("restore", str(copy), *words, "--yes")
        assert (running.code, "stop the server first" in running.err) == (CONFLICT, True)
    asked = run("restore", str(copy), *words)
    assert (asked.code, "--yes" in asked.err) == (MISUSED, True)
    assert run("restore", str(copy), *words, "--yes").code == OK
    async with serving(sqlite_store) as client:
        found = [job.id async for job in client.jobs.list()]
        assert (kept.id in found, late.id in found) == (True, False)
    assert copy.stat().st_mode & 0o077 == 0


def test_what_is_written_meanwhile_is_not_in_the_copy(
    sqlite_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "STEP_PAGES", 1)
    copy = sqlite_store.with_name("copy.db")
    steps = []
    with closing(sqlite3.connect(sqlite_store, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE seen (step)")

        def write(done: int, total: int) -> None:
            steps.append(done)
            writer.execute("INSERT INTO seen VALUES (?)", (done,))

        embedded.copy(sqlite_store, copy, write)
    # No step was done twice.
    assert steps == sorted(set(steps))
    with closing(sqlite3.connect(copy)) as found:
        assert found.execute("SELECT count(*) FROM seen").fetchone() == (0,)


@pytest.mark.parametrize("words", ["backup copy.db", "restore copy.db --yes"])
def test_files_that_are_none_of_ours_are_left_alone(
    run: Ojs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words.split()).code == MISUSED
    assert run("backup", "x", "--database", "sqlite://").code == MISUSED
    for name in ("ojs.db", "copy.db"):
        (tmp_path / name).write_text("no database")
    assert run(*words.split()).code == REFUSED
    (tmp_path / "ojs.db").unlink()
    (tmp_path / "copy.db").unlink()
    with closing(sqlite3.connect(tmp_path / "ojs.db")) as other:
        other.execute("CREATE TABLE t (x)")
    (tmp_path / "copy.db").write_bytes((tmp_path / "ojs.db").read_bytes())
    assert "is no database of a job server" in run(*words.split()).err


def test_a_backup_replaces_no_file(run: Ojs, sqlite_store: Path) -> None:
    there = sqlite_store.with_name("there")
    there.write_text("x")
    assert run("backup", str(there), "--database", str(sqlite_store)).code == REFUSED
    assert there.read_text() == "x"
