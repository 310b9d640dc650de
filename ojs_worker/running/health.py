"""Probes over HTTP, `/live` while the loop turns and `/ready` while the worker takes jobs, and
`/metrics`."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ojs_wire.codec import encode
from ojs_worker.running.metrics import CONTENT_TYPE

LIVE: Final = frozenset({"/live", "/livez", "/health", "/healthz"})
METRICS: Final = "/metrics"
READY: Final = frozenset({"/ready", "/readyz"})
JSON: Final = "application/json"
READ_S: Final = 5.0
MAX_LINES: Final = 100
_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Unavailable"}


class Probed(msgspec.Struct, frozen=True):
    """The answers to both probes, and what their body says besides."""

    live: bool
    ready: bool
    details: Mapping[str, Any]


class HealthServer:
    """Answers probes about one worker, a command with several, or a relay."""

    def __init__(self, probed: Callable[[], Probed], measured: Callable[[], str]) -> None:
        self._probed = probed
        # The text of the metrics.
        self._measured = measured
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

    def answer(self, method: str, path: str) -> tuple[int, str, bytes]:
        """Return the status, the media type and the body of the answer to a request."""
        path = path.partition("?")[0]
        if path not in LIVE | READY | {METRICS}:
            return 404, JSON, encode({"error": "there is /live, /ready and /metrics"})
        if method not in ("GET", "HEAD"):
            return 405, JSON, encode({"error": "use GET"})
        if path == METRICS:
            return 200, CONTENT_TYPE, self._measured().encode()
        probed = self._probed()
        well = probed.ready if path in READY else probed.live
        status = 200 if well else 503
        body = {"status": "ok" if well else "unavailable", **probed.details}
        return status, JSON, encode(body)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_S):
                line = (await reader.readline()).decode("latin-1").split()
                for _ in range(MAX_LINES):
                    if (await reader.readline()) in (b"\r\n", b"\n", b""):
                        break
            if len(line) >= 2:
                status, media_type, body = self.answer(line[0], line[1])
                head = (
                    f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
                    f"Content-Type: {media_type}\r\nConnection: close\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + (b"" if line[0] == "HEAD" else body))
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            # The client sent no valid request, and gets no answer.
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
