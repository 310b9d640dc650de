"""Probes over HTTP: `/live` while the loop turns, `/ready` while the worker takes jobs."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ojs_wire.codec import encode

LIVE: Final = frozenset({"/live", "/livez", "/health", "/healthz"})
READY: Final = frozenset({"/ready", "/readyz"})
READ_S: Final = 5.0
MAX_LINES: Final = 100
_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Unavailable"}


class Probed(msgspec.Struct, frozen=True):
    """The answers to both probes, and what their body says besides."""

    live: bool
    ready: bool
    said: Mapping[str, Any]


class HealthServer:
    """Answers probes about one worker, or about a command with several."""

    def __init__(self, probed: Callable[[], Probed]) -> None:
        self._probed = probed
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port, also if a free one was chosen."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str, port: int) -> None:
        """Start to listen."""
        self._server = await asyncio.start_server(self._serve, host, port)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    def answer(self, method: str, path: str) -> tuple[int, bytes]:
        """Return the status and body of the answer to a request."""
        path = path.partition("?")[0]
        if path not in LIVE | READY:
            return 404, encode({"error": "there is /live and /ready"})
        if method not in ("GET", "HEAD"):
            return 405, encode({"error": "use GET"})
        probed = self._probed()
        well = probed.ready if path in READY else probed.live
        status = 200 if well else 503
        body = {"status": "ok" if well else "unavailable", **probed.said}
        return status, encode(body)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_S):
                line = (await reader.readline()).decode("latin-1").split()
                for _ in range(MAX_LINES):
                    if (await reader.readline()) in (b"\r\n", b"\n", b""):
                        break
            if len(line) >= 2:
                status, body = self.answer(line[0], line[1])
                head = (
                    f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
                    "Content-Type: application/json\r\nConnection: close\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + (b"" if line[0] == "HEAD" else body))
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            # A probe that does not ask is not answered.
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
