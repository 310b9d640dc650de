"""Database files that lack pages, found before SQLite opens them.

SQLite reads a page behind the end of the file as zeros or as damage, but only once it needs it.
Pages may be in the write-ahead log alone, so the log's frames count as well. Their checksums are
not compared: a log that was damaged hides what is missing, and never makes a whole file look cut.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_LOG_MAGIC: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG_HEADER: Final = 32
_FRAME_HEADER: Final = 24
# The page with this byte is never written.
_LOCK_BYTE: Final = 1 << 30


class Log(msgspec.Struct, frozen=True):
    """The committed frames of a write-ahead log: their pages, and the size of the database."""

    pages: set[int] = set()
    size: int = 0


def truncation(database: int | None, log: Path | None) -> str | None:
    """Return what is missing of a database, None if it is whole or new.

    `database` is a file descriptor, None where there is no such file. Without a `log` only pages in
    the file itself count.
    """
    size = 0 if database is None else os.fstat(database).st_size
    head = b"" if database is None else os.pread(database, _HEADER, 0)
    frames = Log() if log is None else read_log(log)
    if not head:
        if log is None or not frames.pages:
            return None
        state = "does not exist" if database is None else "is empty"
        return f"{state}, but {log.name} beside it has changes of a database"
    if head[: len(_MAGIC)] != _MAGIC[: len(head)]:
        return None  # SQLite says what is wrong with it
    if len(head) < _HEADER:
        return f"was cut short: it has {len(head)} bytes"
    page_size = _number(head[16:18])
    page_size = 65536 if page_size == 1 else page_size
    if page_size < 512:
        return None
    # Old versions of SQLite did not maintain the count.
    counted = _number(head[28:32]) if head[24:28] == head[92:96] else 0
    whole, pages = size // page_size, frames.size or counted
    elsewhere = {*frames.pages, _LOCK_BYTE // page_size + 1}
    missing = pages - whole - sum(whole < page <= pages for page in elsewhere)
    if missing <= 0:
        return None
    return f"was cut short: {missing} of its {pages} pages are missing"


def read_log(path: Path) -> Log:
    """Read the committed frames of a write-ahead log; none if there is no log."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        head = file.read(_LOG_HEADER)
        if len(head) < _LOG_HEADER or head[:4] not in _LOG_MAGIC:
            return Log()
        page_size, salts = _number(head[8:12]), head[16:24]
        end = os.fstat(file.fileno()).st_size
        pages: set[int] = set()
        uncommitted: set[int] = set()
        size = 0
        at = _LOG_HEADER
        while at + _FRAME_HEADER + page_size <= end:
            frame = os.pread(file.fileno(), _FRAME_HEADER, at)
            if frame[8:16] != salts:
                break  # left from before the log began anew
            uncommitted.add(_number(frame[:4]))
            if size_now := _number(frame[4:8]):
                pages |= uncommitted
                uncommitted.clear()
                size = size_now
            at += _FRAME_HEADER + page_size
        return Log(pages, size)
    return Log()


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
