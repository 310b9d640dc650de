"""The file of the embedded store is held once, and is still under the name it was opened by."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ojs_server.store.base import OutcomeUnknown, StoreUnavailable
from ojs_server.store.sqlite.store import LOOK_MS, SqliteStore
from tests.store.records import HandClock, a_job, put, whole

HOLD_JOBS = ("", "-wal")
SUFFIXES = ("", "-wal", "-shm", ".lock")


@pytest.fixture
def store(sqlite_path: Path, clock: HandClock) -> Iterator[SqliteStore]:
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        yield store


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def move(path: Path, away: Path) -> None:
    path.rename(away)


def replace(path: Path, away: Path) -> None:
    path.rename(away)
    path.touch()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("deed", [move, replace])
def test_changes_are_refused_until_each_file_is_back(
    store: SqliteStore,
    clock: HandClock,
    suffix: str,
    deed: Callable[[Path, Path], None],
    tmp_path: Path,
) -> None:
    path = beside(store.path, suffix)
    put(store, a_job("before"))
    deed(path, tmp_path / "away")
    if suffix not in HOLD_JOBS:
        # These are not looked at each time.
        put(store, a_job("answered"))
        clock.forward(LOOK_MS)
    with pytest.raises(OutcomeUnknown, match=f"{path} is .*refused until it is back"):
        put(store, a_job("unanswered"))
    with pytest.raises(StoreUnavailable, match=f"{path} is "):
        put(store, a_job("refused"))
    assert str(store.displaced()).startswith(f"{path} is ")
    (tmp_path / "away").rename(path)
    put(store, a_job("after"))
    assert store.displaced() is None
    assert whole(store, "unanswered") is not None
    assert whole(store, "refused") is None


def test_a_removed_file_is_said_to_be_in_this_process_alone(store: SqliteStore) -> None:
    store.path.unlink()
    assert f"copy it from /proc/{os.getpid()}/fd" in str(store.displaced())


def test_a_removed_log_is_written_by_an_ordinary_stop(sqlite_path: Path) -> None:
    with closing(SqliteStore(str(sqlite_path))) as store:
        put(store, a_job("j1"))
        beside(sqlite_path, "-wal").unlink()
        assert "stop the server with SIGTERM" in str(store.displaced())
    with closing(SqliteStore(str(sqlite_path))) as store:
        assert whole(store, "j1") is not None


def test_a_file_that_is_cut_under_the_store_takes_no_changes_any_more(
    sqlite_path: Path, clock: HandClock
) -> None:
    SqliteStore(str(sqlite_path)).close()
    size = sqlite_path.stat().st_size
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        os.truncate(sqlite_path, size - 1)
        with pytest.raises(OutcomeUnknown, match="was cut short: 1 of its"):
            put(store, a_job("j1"))
        os.truncate(sqlite_path, size)
        with pytest.raises(StoreUnavailable, match="was cut short: 1 of its"):
            put(store, a_job("j1"))


def test_a_file_that_is_vacuumed_is_whole(sqlite_path: Path, clock: HandClock) -> None:
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        put(store, *(a_job(f"j{number}", args=b"x" * 4000) for number in range(100)))
    with closing(SqliteStore(str(sqlite_path), clock=clock)) as store:
        size = sqlite_path.stat().st_size
        with store.transaction() as tx:
            tx.wipe()
        with closing(apsw.Connection(str(sqlite_path))) as other:
            other.execute("VACUUM")
            other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert sqlite_path.stat().st_size < size
        put(store, a_job("j1"))
        assert store.displaced() is None


def test_a_link_that_leads_elsewhere_is_another_file(tmp_path: Path) -> None:
    link = tmp_path / "current"
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ojs.db").touch()
    link.symlink_to("one")
    with closing(SqliteStore(str(link / "ojs.db"))) as store:
        link.unlink()
        link.symlink_to("other")
        with pytest.raises(OutcomeUnknown, match="another file than the one that was opened"):
            put(store, a_job("j1"))


def test_a_thread_that_reads_for_the_first_time_makes_no_new_file(store: SqliteStore) -> None:
    errors: list[BaseException] = []

    def read() -> None:
        try:
            whole(store, "j1")
        except StoreUnavailable as error:
            errors.append(error)

    store.path.rename(beside(store.path, ".away"))
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert not store.path.exists()


def test_a_file_with_two_names_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.hardlink_to(store.path)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"2 names \(hard links\)"):
            SqliteStore(str(other))
    put(store, a_job("j1"))
    other.unlink()
    store.close()
    with closing(SqliteStore(str(store.path))) as again:
        assert whole(again, "j1") is not None


def test_a_file_that_is_mounted_elsewhere_is_held_once(store: SqliteStore, tmp_path: Path) -> None:
    """Neither its links nor the lock files show that it is the same."""
    other = tmp_path / "mounted.db"
    other.touch()
    command = ["mount", "--bind", str(store.path), str(other)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nobody but root may mount a file under a second name")
    try:
        with pytest.raises(StoreUnavailable, match="in use by another ojs-server, under another"):
            SqliteStore(str(other))
        put(store, a_job("j1"))
    finally:
        subprocess.run(["umount", "-l", str(other)], check=True)


def test_a_file_whose_lock_was_removed_is_held_once(store: SqliteStore) -> None:
    beside(store.path, ".lock").unlink()
    with pytest.raises(StoreUnavailable, match="with a lock file that was removed"):
        SqliteStore(str(store.path))


def test_a_new_database_in_the_place_of_a_removed_one_is_left_alone(store: SqliteStore) -> None:
    for suffix in SUFFIXES:
        beside(store.path, suffix).unlink()
    with closing(SqliteStore(str(store.path))) as new:
        with pytest.raises(OutcomeUnknown):
            put(store, a_job("j1"))
        put(new, a_job("j2"))
        store.close()
        put(new, a_job("j3"))
        assert whole(new, "j1") is None


def test_a_log_without_its_database_is_kept(store: SqliteStore, tmp_path: Path) -> None:
    """SQLite would take a missing or empty file for a new database, and remove the log."""
    put(store, a_job("j1"))
    copy = tmp_path / "copy.db"
    log = beside(copy, "-wal")
    log.write_bytes(beside(store.path, "-wal").read_bytes())
    content = log.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"does not exist, but copy\.db-wal beside"):
        SqliteStore(str(copy))
    assert not copy.exists()
    copy.touch()
    with pytest.raises(StoreUnavailable, match=r"is empty, but copy\.db-wal beside"):
        SqliteStore(str(copy))
    assert log.read_bytes() == content
