"""The embedded store: its file, its lock, its settings and its schema."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ojs_server.store.base import SchemaError, StoreBusy, StoreUnavailable
from ojs_server.store.migrations import load_migrations
from ojs_server.store.records import POSITION_BITS
from ojs_server.store.sqlite.statements import PACKAGE
from ojs_server.store.sqlite.store import SqliteStore
from tests.store.records import EVERYTHING, START, HandClock, a_job, an_event, log, put, whole

NEWEST = load_migrations(PACKAGE)[-1].version


def test_a_commit_is_flushed_to_the_disk(sqlite_path: Path) -> None:
    with closing(SqliteStore(str(sqlite_path))) as store:
        assert store.synchronous() == 2
        assert store.durability_warnings() == []
    with closing(apsw.Connection(str(sqlite_path))) as connection:
        assert connection.pragma("journal_mode") == "wal"


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The umask of most systems, which lets everybody read new files."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(path: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}


@pytest.mark.usefixtures("open_umask")
def test_nobody_else_reads_the_files(sqlite_path: Path) -> None:
    name = sqlite_path.name
    with closing(SqliteStore(str(sqlite_path))) as store:
        put(store, a_job("j1"))
        assert modes(sqlite_path) == {
            name: 0o600,
            f"{name}-wal": 0o600,
            f"{name}-shm": 0o600,
            f"{name}.lock": 0o600,
        }


@pytest.mark.usefixtures("open_umask")
def test_a_mode_that_the_operator_chose_stays(sqlite_path: Path) -> None:
    """Also for what SQLite puts beside the database."""
    SqliteStore(str(sqlite_path)).close()
    sqlite_path.chmod(0o640)
    sqlite_path.with_name(f"{sqlite_path.name}.lock").chmod(0o644)
    with closing(SqliteStore(str(sqlite_path))) as store:
        put(store, a_job("j1"))
        name = sqlite_path.name
        assert modes(sqlite_path) == {
            name: 0o640,
            f"{name}-wal": 0o640,
            f"{name}-shm": 0o640,
            f"{name}.lock": 0o644,
        }


def test_jobs_are_there_after_a_restart(sqlite_path: Path) -> None:
    with closing(SqliteStore(str(sqlite_path))) as store:
        put(store, a_job("j1", args=b'["\\u0000"]'))
    with closing(SqliteStore(str(sqlite_path), migrations=False)) as store:
        assert whole(store, "j1") == a_job("j1", args=b'["\\u0000"]')


def test_places_rise_on_after_a_restart(sqlite_path: Path) -> None:
    """Also when the clock was set back and more transactions ran than milliseconds passed."""
    clock = HandClock()
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        for _ in range(5):
            log(store, an_event())
        with store.reader() as reader:
            end = reader.events(0, EVERYTHING, 9).cursor
    clock.forward(-1_000_000)
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        log(store, an_event(subject="after"))
        with store.reader() as reader:
            found = reader.events(end, EVERYTHING, 9).events
    assert [placed.event.subject for placed in found] == ["after"]


def test_waiting_jobs_keep_their_place_after_a_restart(sqlite_path: Path) -> None:
    """The highest place may be a job's, when its event has been removed by age."""
    clock = HandClock()
    far = (START + 1_000_000) << POSITION_BITS
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        put(store, a_job("j1", seq=far))
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store, store.transaction() as tx:
        assert tx.position() > far


def test_its_own_clock_goes_on_after_the_last_event(sqlite_path: Path) -> None:
    clock = HandClock()
    clock.now = START + 10**12
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        log(store, an_event())
    with closing(SqliteStore(str(sqlite_path))) as store, store.transaction() as tx:
        assert tx.now >= clock.now


def test_a_second_server_on_the_file_is_refused(sqlite_path: Path) -> None:
    with closing(SqliteStore(str(sqlite_path))) as store:
        message = rf"in use by another ojs-server \(process {os.getpid()}\).*PostgreSQL"
        with pytest.raises(StoreUnavailable, match=message):
            SqliteStore(str(sqlite_path))
        put(store, a_job("j1"))
    with closing(SqliteStore(str(sqlite_path))) as store:
        assert whole(store, "j1") is not None


def test_a_second_process_on_the_file_is_refused(sqlite_path: Path) -> None:
    open_it = (
        "import sys; from ojs_server.store.sqlite.store import SqliteStore;"
        " SqliteStore(sys.argv[1]).close(); print('opened')"
    )
    command = [sys.executable, "-c", open_it, str(sqlite_path)]
    root = Path(__file__).parents[3]
    with closing(SqliteStore(str(sqlite_path))):
        refused = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"process {os.getpid()}" in refused.stderr
    opened = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert opened.stdout == "opened\n"


def test_the_file_is_locked_under_each_of_its_names(sqlite_path: Path) -> None:
    link = sqlite_path.with_name("link.db")
    link.symlink_to(sqlite_path)
    with closing(SqliteStore(str(sqlite_path))), pytest.raises(StoreUnavailable, match="in use"):
        SqliteStore(str(link))


def test_memory_leaves_no_file() -> None:
    store = SqliteStore(":memory:")
    put(store, a_job("j1"))
    assert whole(store, "j1") is not None
    folder = store.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store.close()
    assert not folder.exists()


def test_a_newer_schema_is_refused(sqlite_path: Path) -> None:
    SqliteStore(str(sqlite_path)).close()
    with closing(apsw.Connection(str(sqlite_path))) as connection:
        connection.pragma("user_version", 9999)
    for _ in range(2):  # the lock was let go
        with pytest.raises(SchemaError, match="schema 9999, newer than this program"):
            SqliteStore(str(sqlite_path))


def test_without_migrations_an_empty_file_is_refused(sqlite_path: Path) -> None:
    with pytest.raises(SchemaError, match=f"schema 0, this program needs {NEWEST}"):
        SqliteStore(str(sqlite_path), migrations=False)
    SqliteStore(str(sqlite_path)).close()


def test_a_file_that_is_no_database_is_refused(sqlite_path: Path) -> None:
    sqlite_path.write_bytes(b"not a database, but long enough to be read as one " * 40)
    with pytest.raises(StoreUnavailable, match=f"cannot open {sqlite_path}"):
        SqliteStore(str(sqlite_path))


@pytest.mark.parametrize("place", ["missing/ojs.db", "file/ojs.db"])
def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="cannot create a database at"):
        SqliteStore(str(tmp_path / place))


def test_whoever_has_no_patience_is_told_at_once_that_another_process_writes(
    sqlite_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To wait would take an hour, also after somebody has waited."""
    tries: list[str] = []
    waits = threading.Event()

    def look(cursor: apsw.Cursor, sql: str, bound: object) -> bool:
        if sql.startswith("BEGIN"):
            tries.append(sql)
            # The one without patience has tried once, the other for the second time.
            if len(tries) == 3:
                waits.set()
        return True

    with closing(SqliteStore(str(sqlite_path))):
        pass
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.set_exec_trace(look)])
    with closing(SqliteStore(str(sqlite_path), patience_ms=3_600_000)) as store:
        monkeypatch.undo()
        with closing(apsw.Connection(str(sqlite_path))) as other, ThreadPoolExecutor(1) as threads:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="locked"), store.transaction(long_wait=False):
                pytest.fail("a transaction began")
            patient = threads.submit(put, store, a_job("j1"))
            assert waits.wait(30)
            other.execute("ROLLBACK")
            patient.result()
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy), store.transaction(long_wait=False):
                pytest.fail("a transaction began")
        with store.transaction(long_wait=False) as tx:
            assert list(tx.load_jobs(["j1"])) == ["j1"]
