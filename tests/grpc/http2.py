"""Frames of HTTP/2 as bytes, and a client that begins messages and never ends them."""

import asyncio
import struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 8, 9
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_WINDOW_SIZE: Final = 4
_LARGEST_FRAME: Final = 16_384


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _header(name: str, value: str) -> bytes:
    texts = (text.encode() for text in (name, value))
    return b"\x00" + b"".join(bytes((len(text),)) + text for text in texts)


def head(stream: int, path: str, metadata: dict[str, str], *, whole: bool = True) -> bytes:
    """Return the head of a call; others have to follow if it is not `whole`."""
    pseudo = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost"}
    fields = {**pseudo, "te": "trailers", "content-type": "application/grpc", **metadata}
    block = b"".join(_header(*field) for field in fields.items())
    return frame(_HEADERS, _END_HEADERS if whole else 0, stream, block)


def more_head(stream: int) -> bytes:
    """Return a further part of a head, which does not end it either."""
    return frame(_CONTINUATION, 0, stream, _header("x-more", "1"))


def piece(stream: int, content: bytes, *, last: bool = False) -> bytes:
    """Return a piece of a body."""
    return frame(_DATA, _END_STREAM if last else 0, stream, content)


def prefix(length: int) -> bytes:
    """Return what begins a message of this length."""
    return b"\x00" + struct.pack(">I", length)


OPENING: Final = PREFACE + frame(_SETTINGS, 0, 0)


class Hog(asyncio.Protocol):
    """A connection with calls whose messages come but for their last byte, as fast as flow control
    allows."""

    def __init__(self, path: str, metadata: dict[str, str], calls: int, length: int) -> None:
        numbers = [2 * number + 1 for number in range(calls)]
        self._heads = [head(number, path, metadata) for number in numbers]
        self._length = length
        # Bytes that are left to send, and those that may be sent, by stream.
        self._left = dict.fromkeys(numbers, length - 1)
        self._window = dict.fromkeys(numbers, 0)
        self._initial = self._of_all = 65_535
        self._come = b""
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin all calls."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(OPENING + b"".join(self._heads))
        for stream in self._window:
            transport.write(piece(stream, prefix(self._length)))
            self._window[stream] -= 5
            self._of_all -= 5
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Send no more."""
        self.ended.set()

    def data_received(self, data: bytes) -> None:
        """Send what the frames allow."""
        self._come += data
        while len(self._come) >= 9 + (size := int.from_bytes(self._come[:3])):
            kind, flags, stream = struct.unpack(">BBI", self._come[3:9])
            payload, self._come = self._come[9 : 9 + size], self._come[9 + size :]
            self._take(kind, flags, stream, payload)
        self._send()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _WINDOW and stream == 0:
            self._of_all += int.from_bytes(payload)
        elif kind == _WINDOW and stream in self._window:
            self._window[stream] += int.from_bytes(payload)
        elif kind == _SETTINGS and not flags:
            for place in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, place)
                if name == _WINDOW_SIZE:
                    self._initial = value
            self._transport.write(frame(_SETTINGS, _ACK, 0))
        elif kind == _RESET or (kind == _HEADERS and flags & _END_STREAM):
            self._left.pop(stream, None)

    def _send(self) -> None:
        for stream, left in self._left.items():
            may = min(left, self._initial + self._window[stream], self._of_all)
            for start in range(0, may, _LARGEST_FRAME):
                size = min(_LARGEST_FRAME, may - start)
                self._transport.write(piece(stream, b"x" * size))
                self._left[stream] -= size
                self._window[stream] -= size
                self._of_all -= size
        if not any(self._left.values()):
            # All calls were refused, or wait for their last byte.
            self.ended.set()

    def close(self) -> None:
        """Leave."""
        self._transport.abort()


async def hog(port: int, path: str, metadata: dict[str, str], calls: int, length: int) -> Hog:
    """Connect such a client."""
    _, client = await asyncio.get_running_loop().create_connection(
        lambda: Hog(path, metadata, calls, length), "127.0.0.1", port
    )
    return client
