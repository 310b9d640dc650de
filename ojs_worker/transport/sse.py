"""Parse server-sent events from pieces of any size."""

from typing import Final

import msgspec

MAX_LINE: Final = 1_000_000


class Frame(msgspec.Struct):
    """One event of a stream. A heartbeat has an id at most."""

    id: str | None = None
    event: str | None = None
    data: str = ""


class FrameReader:
    """Reads events from the bytes of a stream."""

    def __init__(self) -> None:
        self._rest = b""
        self._frame = Frame()

    def feed(self, piece: bytes) -> list[Frame]:
        """Return the events that this part of the stream completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise ValueError(f"a line of the stream is longer than {MAX_LINE} bytes")
        complete = []
        for line in lines:
            if not (line := line.removesuffix(b"\r")):
                complete.append(self._frame)
                self._frame = Frame()
            else:
                self._take(line)
        return complete

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode(errors="replace")
        if name == b"id":
            self._frame.id = text
        elif name == b"event":
            self._frame.event = text
        elif name == b"data":
            self._frame.data += text
            if len(self._frame.data) > MAX_LINE:
                raise ValueError(f"an event of the stream is longer than {MAX_LINE} characters")
