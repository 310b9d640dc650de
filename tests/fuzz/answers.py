"""Answers on a connection, taken apart."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+) *\r\n", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked *\r\n", re.IGNORECASE)
_NO_BODY: Final = frozenset({204, 304})


class Answers(msgspec.Struct):
    """The statuses in order; `nonsense` holds bytes after them that are no answer."""

    statuses: list[int] = []
    nonsense: bytes = b""
    # The last answer has only begun.
    cut: bool = False


def answers(data: bytes, methods: Sequence[str] = ()) -> Answers:
    """Read answers to requests of these methods, as far as they are known."""
    found = Answers()
    place = 0
    while place < len(data):
        status = _STATUS.match(data, place)
        end = data.find(b"\r\n\r\n", place)
        if status is None or end < 0:
            if status is None:
                found.nonsense = data[place:]
            found.cut = True
            return found
        code, head = int(status[1]), data[place : end + 2]
        place = end + 4
        if code == 101:
            found.statuses.append(code)
            return found
        if code < 200:
            continue
        number = len(found.statuses)
        found.statuses.append(code)
        if code in _NO_BODY or (number < len(methods) and methods[number] == "HEAD"):
            continue
        if (length := _LENGTH.search(head)) is not None:
            place += int(length[1])
            found.cut = place > len(data)
        elif _CHUNKED.search(head):
            last = data.find(b"0\r\n\r\n", place)
            found.cut = last < 0
            place = len(data) if last < 0 else last + 5
        else:
            place = len(data)
    return found
