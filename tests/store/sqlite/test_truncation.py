"""A database file that lacks pages is found at the start."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ojs_server.store.base import StoreUnavailable
from ojs_server.store.sqlite.store import SqliteStore
from ojs_server.store.sqlite.truncation import truncation

PAGE = 4096


def found(path: Path) -> str | None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return truncation(descriptor, path.with_name(f"{path.name}-wal"))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("lost", [1, PAGE, 5 * PAGE + 1])
def test_a_file_that_was_cut_is_refused_until_it_is_whole(sqlite_path: Path, lost: int) -> None:
    SqliteStore(str(sqlite_path)).close()
    whole = sqlite_path.read_bytes()
    os.truncate(sqlite_path, len(whole) - lost)
    pages = -(-lost // PAGE)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=f"cut short: {pages} of its .* are missing"):
            SqliteStore(str(sqlite_path))
    sqlite_path.write_bytes(whole)
    SqliteStore(str(sqlite_path)).close()


def test_a_file_that_ends_in_its_header_is_cut(sqlite_path: Path) -> None:
    SqliteStore(str(sqlite_path)).close()
    os.truncate(sqlite_path, 50)
    with pytest.raises(StoreUnavailable, match="was cut short: it has 50 bytes"):
        SqliteStore(str(sqlite_path))


@pytest.fixture
def grown(sqlite_path: Path) -> Iterator[apsw.Connection]:
    """A database of 10 pages in its file, and about 200 with those in the log."""
    with closing(apsw.Connection(str(sqlite_path))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.pragma("wal_autocheckpoint", 0)
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (zeroblob(?))", (PAGE * 8,))
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        for _ in range(20):
            connection.execute("INSERT INTO t VALUES (zeroblob(?))", (PAGE * 10,))
        yield connection


def test_pages_in_the_log_are_there(grown: apsw.Connection, sqlite_path: Path) -> None:
    """Also if a checkpoint was interrupted after any page."""
    assert found(sqlite_path) is None
    before, after = sqlite_path.read_bytes(), sqlite_path.with_name("after.db")
    log = sqlite_path.with_name(f"{sqlite_path.name}-wal")
    shutil.copy(log, sqlite_path.with_name("after.db-wal"))
    grown.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    written = sqlite_path.read_bytes()
    for end in range(len(before), len(written) + 1, PAGE):
        after.write_bytes(written[:end])
        assert found(after) is None, end
    sqlite_path.with_name("after.db-wal").unlink()
    after.write_bytes(written[:-PAGE])
    assert "1 of its" in str(found(after))


def test_pages_that_neither_has_are_missing(grown: apsw.Connection, sqlite_path: Path) -> None:
    os.truncate(sqlite_path, 5 * PAGE)
    assert "was cut short" in str(found(sqlite_path))


def test_a_log_that_was_cut_is_a_smaller_database(
    grown: apsw.Connection, sqlite_path: Path
) -> None:
    """As after a crash in the middle of a write: what was not committed is not missing."""
    log = sqlite_path.with_name(f"{sqlite_path.name}-wal")
    content = log.read_bytes()
    copy = sqlite_path.with_name("copy.db")
    shutil.copy(sqlite_path, copy)
    luck = random.Random(1)
    for end in (0, 31, 32, *(luck.randrange(len(content)) for _ in range(50))):
        copy.with_name("copy.db-wal").write_bytes(content[:end])
        assert found(copy) is None, end


def test_the_page_that_is_never_written_is_not_missing(tmp_path: Path) -> None:
    """Of the page at one gigabyte SQLite uses nothing but its address, for locks."""
    database = tmp_path / "large.db"
    database.touch()
    at = (1 << 30) // 65536
    head = bytearray(100)
    head[:16] = b"SQLite format 3\0"
    head[16:18] = (1).to_bytes(2, "big")
    head[28:32] = (at + 1).to_bytes(4, "big")
    database.write_bytes(head)
    os.truncate(database, at * 65536)
    assert found(database) is None
    os.truncate(database, (at - 1) * 65536)
    assert "1 of its" in str(found(database))
