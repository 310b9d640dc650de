"""The frames of HTTP/2 on a connection without calls; libraries of gRPC keep them to themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import httpx

from conformance.play.connection import connect
from conformance.verdicts.reply import CheckFailed
from conformance.verdicts.result import FailedCheck

# RFC 9113, section 6.
NAMES: Final = (
    *("DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS"),
    *("PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION"),
)
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD: Final = 9
_SETTINGS: Final = NAMES.index("SETTINGS")
_ACK: Final = 1
_SECONDS: Final = 30.0


class Connection:
    """A connection of HTTP/2 that begins no stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def greet(self) -> None:
        """Begin, and return once the server has begun as well."""
        self._writer.write(_PREFACE + _frame(_SETTINGS))
        await self.until("SETTINGS")
        self._writer.write(_frame(_SETTINGS, _ACK))

    async def until(self, expected: str) -> None:
        """Read up to a frame of this name, which must come before the connection ends."""
        seen: list[str] = []
        with suppress(TimeoutError, EOFError, OSError):
            async with asyncio.timeout(_SECONDS):
                while expected not in seen:
                    head = await self._reader.readexactly(_HEAD)
                    await self._reader.readexactly(int.from_bytes(head[:3]))
                    seen.append(NAMES[head[3]] if head[3] < len(NAMES) else str(head[3]))
                return
        raise _failed("frames", expected, ", ".join(seen) or "none")


@asynccontextmanager
async def http2(address: str) -> AsyncIterator[Connection]:
    """Connect to a port that speaks HTTP/2 without TLS."""
    try:
        reader, writer = await connect(httpx.URL(f"http://{address}"))
    except OSError as error:
        raise _failed("transport", "a connection", str(error) or type(error).__name__) from error
    try:
        connection = Connection(reader, writer)
        await connection.greet()
        yield connection
    finally:
        writer.close()


def _frame(kind: int, flags: int = 0) -> bytes:
    """A frame without a payload, about the connection."""
    return bytes((0, 0, 0, kind, flags, 0, 0, 0, 0))


def _failed(field: str, expected: str, actual: str) -> CheckFailed:
    return CheckFailed(FailedCheck(step_id="HTTP/2", field=field, expected=expected, actual=actual))
