"""PostgreSQL's messages between client and server, as far as a relay must know them.

A client's bytes become statements that can be passed on one by one. The server's bytes are only
counted: how many statements it has answered, and whether it is in a transaction.
"""

from collections import deque
from collections.abc import Iterator
from struct import unpack_from
from typing import Final

import msgspec

# Requests that may come before a session starts, by their codes: TLS, GSSAPI encryption.
_ASKS_FIRST: Final = (80877103, 80877104)
_EXECUTED: Final = b"CIs"
# Flush, the end of a session, a password.
_ENDS: Final = (b"H", b"X", b"p")
COMMIT: Final = "COMMIT"
# Statements that nobody else could notice: they go with the next one, or with the one before.
_WITH_NEXT: Final = ("forget_plans", "begin", "note_returns", "announce", "tell", "note_outcome")
_WITH_LAST: Final = ("bound_transaction",)


class Statement(msgspec.Struct):
    """Messages of a client up to the request to execute something, with what is to be answered."""

    name: str = ""
    data: bytearray = msgspec.field(default_factory=bytearray)
    executes: int = 0
    syncs: int = 0
    # True if it is the last one before the client waits for answers.
    is_last: bool = False
    begins: bool = False

    def join(self, other: "Statement") -> None:
        """Add what comes after it, which gives it its name unless it is quiet."""
        if other.name and other.name not in _WITH_LAST:
            self.name = other.name
        self.data += other.data
        self.executes += other.executes
        self.syncs += other.syncs
        self.is_last = other.is_last
        self.begins |= other.begins

    @property
    def ends(self) -> bool:
        """True if it commits."""
        return self.name == COMMIT


def _messages(buffer: bytearray) -> Iterator[tuple[bytes, bytearray]]:
    """Take the complete messages off a buffer: the kind of each, and its bytes."""
    start = 0
    while len(buffer) - start >= 5:
        end = start + 1 + int(unpack_from(">I", buffer, start + 1)[0])
        if len(buffer) < end:
            break
        yield bytes(buffer[start : start + 1]), buffer[start:end]
        start = end
    del buffer[:start]


class Requests:
    """The bytes of a client, cut into statements."""

    def __init__(self, names: dict[bytes, str]) -> None:
        # The names of statements by their texts.
        self._names = names
        self._buffer = bytearray()
        self._started = False
        self._texts: dict[bytes, bytes] = {}
        self._open = Statement()
        # Statements that are whole but for the end of their group.
        self._group: list[Statement] = []
        self.statements: deque[Statement] = deque()

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the client; return those that begin the session, which pass at once."""
        self._buffer += data
        first = b""
        while not self._started and len(self._buffer) >= 8:
            length, code = unpack_from(">II", self._buffer)
            if len(self._buffer) < length:
                return first
            first += bytes(self._buffer[:length])
            del self._buffer[:length]
            self._started = code not in _ASKS_FIRST
        if self._started:
            for kind, message in _messages(self._buffer):
                self._add(kind, message)
        return first

    def _add(self, kind: bytes, message: bytearray) -> None:
        current = self._open
        current.data += message
        if kind == b"P":
            name, _, rest = bytes(message[5:]).partition(b"\0")
            self._texts[name] = rest.partition(b"\0")[0]
        elif kind == b"B":
            name = bytes(message[5:]).split(b"\0", 2)[1]
            self._call(current, self._texts[name])
        elif kind == b"E":
            current.executes += 1
            self._close()
        elif kind == b"Q":
            self._call(current, bytes(message[5:-1]))
            current.syncs += 1
            self._end()
        elif kind == b"S":
            current.syncs += 1
            self._end()
        elif kind in _ENDS:
            self._end()

    def _call(self, statement: Statement, text: bytes) -> None:
        words = text.split(None, 3)[:2]
        statement.name = self._names.get(text) or b" ".join(words).decode()
        statement.begins = statement.name == "begin"

    def _close(self) -> None:
        self._group.append(self._open)
        self._open = Statement()

    def _end(self) -> None:
        """End a group: the client waits for its answers now."""
        if self._group and not self._open.name and not self._open.executes:
            self._group[-1].join(self._open)
            self._open = Statement()
        else:
            self._close()
        self._group[-1].is_last = True
        whole: list[Statement] = []
        for statement in self._group:
            quiet = statement.name in _WITH_LAST
            if whole and (quiet or whole[-1].name in _WITH_NEXT):
                whole[-1].join(statement)
            else:
                whole.append(statement)
        self.statements += whole
        self._group = []


class Answers:
    """The bytes of a server, counted."""

    def __init__(self) -> None:
        # A request for TLS is answered with a single byte, so none must be made.
        self._buffer = bytearray()
        self.pid = 0
        self.executes = 0
        self.syncs = 0
        # True from an error until the server is in step again.
        self.failed = False
        self.idle = False
        # The SQLSTATE of the last error.
        self.error = ""
        # The first row that came for the last statement.
        self.row: bytes | None = None

    def expect(self) -> None:
        """Start to count."""
        self.executes = self.syncs = 0
        self.row, self.error = None, ""

    def feed(self, data: bytes) -> None:
        """Count answers."""
        self._buffer += data
        for kind, message in _messages(self._buffer):
            if kind in _EXECUTED:
                self.executes += 1
            elif kind == b"Z":
                self.syncs += 1
                self.failed = False
                self.idle = message[5:6] == b"I"
            elif kind == b"E":
                self.failed = True
                self.error = _field(bytes(message[5:]), b"C")
            elif kind == b"D" and self.row is None:
                self.row = bytes(message[5:])
            elif kind == b"K":
                (self.pid,) = unpack_from(">I", message, 5)


def _field(body: bytes, kind: bytes) -> str:
    for part in body.split(b"\0"):
        if part[:1] == kind:
            return part[1:].decode()
    return ""


def numbers_in(row: bytes, count: int) -> list[int]:
    """The first columns of a row, which are numbers of 8 bytes."""
    found, place = [], 2
    for _ in range(count):
        (length,) = unpack_from(">i", row, place)
        (value,) = unpack_from(">q", row, place + 4)
        found.append(int(value))
        place += 4 + length
    return found
