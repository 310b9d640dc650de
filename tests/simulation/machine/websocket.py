"""A client's end of a WebSocket (RFC 6455), over streams of the simulated network.

Made by hand, because libraries draw keys and masks from the operating system.
"""

import asyncio
import socket
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final

# The least that a reader has room for.
NARROW: Final = 4096
WIDE: Final = 65536
TEXT: Final = 1
_CLOSE: Final = 8
_PING: Final = 9
_PONG: Final = 10
_FINAL: Final = 0x80
_NORMAL: Final = 1000


class Denied(OSError):
    """The handshake was answered with another status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the handshake was answered with {status}")
        self.status = status


class Closed(OSError):
    """The server has closed the connection, with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"closed with {code}")
        self.code = code


class WebSocket:
    """An open connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        random_bits: Callable[[int], int],
        silence_s: float,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._random_bits = random_bits
        self._silence_s = silence_s

    async def receive(self) -> bytes:
        """Return the next text; pings are answered meanwhile. Raises at the end, or when nothing
        comes for too long."""
        while True:
            async with asyncio.timeout(self._silence_s):
                kind, content = await self._frame()
            if kind == TEXT:
                return content
            if kind == _CLOSE:
                self._send(_CLOSE, content)
                raise Closed(int.from_bytes(content[:2], "big"))
            if kind == _PING:
                self._send(_PONG, content)

    async def _frame(self) -> tuple[int, bytes]:
        """Return the kind and the content of the next frame."""
        first, size = await self._reader.readexactly(2)
        if not first & _FINAL or size > 127:
            raise ValueError("a frame is in parts, or masked by the server")
        if size > 125:
            size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8), "big")
        return first & ~_FINAL, await self._reader.readexactly(size)

    def send(self, text: bytes) -> None:
        """Send a text."""
        self._send(TEXT, text)

    def close(self) -> None:
        """Say that nothing more is read; the server closes the connection."""
        self._send(_CLOSE, _NORMAL.to_bytes(2, "big"))

    def abort(self) -> None:
        """Break the connection off."""
        self._writer.transport.abort()

    def _send(self, kind: int, content: bytes) -> None:
        size = len(content)
        if size < 126:
            head = bytes((_FINAL | kind, 0x80 | size))
        else:
            head = bytes((_FINAL | kind, 0x80 | 126)) + size.to_bytes(2, "big")
        mask = self._random_bits(32).to_bytes(4, "big")
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))
        self._writer.write(head + mask + masked)


async def open_websocket(
    place: tuple[str, int],
    path: str,
    headers: Mapping[str, str],
    random_bits: Callable[[int], int],
    *,
    window: int,
    silence_s: float,
) -> WebSocket:
    """Open a connection to a host and port; raises if the server has another answer.

    `window` is how much may come before it is read, and `silence_s` the longest time without any
    frame.
    """
    host, port = place
    reader, writer = await asyncio.open_connection(host, port, limit=window)
    try:
        kept: socket.socket = writer.get_extra_info("socket")
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        key = b64encode(random_bits(128).to_bytes(16, "big")).decode()
        sent = {
            "Host": f"{host}:{port}",
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key,
            **headers,
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        status = int((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        if status != 101:
            raise Denied(status)
    except BaseException:
        writer.transport.abort()
        raise
    return WebSocket(reader, writer, random_bits, silence_s)
