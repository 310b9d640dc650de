"""The server's extensions to plain OJS, as its manifest tells them.

The manifest is read when the first outcome is to be reported or a stream is wanted, so that the
first FETCH does not wait for it.
"""

from typing import Any, Final

import msgspec

from ojs_worker.errors import UnexpectedAnswer, Unreachable, decoded
from ojs_worker.transport import Request, Transport

MANIFEST: Final = "/ojs/manifest"
SETTLE: Final = "urn:ojs-server:ext:settle"
MAX_RESULTS: Final = 1000


class Extensions(msgspec.Struct, frozen=True):
    """The extensions of a server; all are off if it names none."""

    bulk_settle: bool = False
    max_results: int = MAX_RESULTS
    event_streams: bool = False
    worker_sessions: bool = False


class _Manifest(msgspec.Struct):
    capabilities: Any = None
    extensions_detail: Any = None


_manifest = msgspec.json.Decoder(_Manifest)


class Manifest:
    """Reads the manifest of a server, until it was answered once."""

    def __init__(self, transport: Transport, *, timeout_s: float) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._known: Extensions | None = None

    async def extensions(self) -> Extensions | None:
        """Return the server's extensions; None if the server cannot answer now."""
        if self._known is None:
            self._known = await self._read()
        return self._known

    async def _read(self) -> Extensions | None:
        try:
            reply = await self._transport.send(Request("GET", MANIFEST, timeout_s=self._timeout_s))
        except Unreachable:
            return None
        if reply.well:
            return read(reply.body)
        return None if reply.status >= 500 or reply.status == 429 else Extensions()


def read(body: bytes) -> Extensions:
    """Return the extensions in a manifest; none if it has another form."""
    try:
        manifest = decoded(body, _manifest)
    except UnexpectedAnswer:
        return Extensions()
    able = manifest.capabilities if isinstance(manifest.capabilities, dict) else {}
    detail = manifest.extensions_detail
    settle = detail.get(SETTLE) if isinstance(detail, dict) else None
    most = settle.get("max_results") if isinstance(settle, dict) else None
    return Extensions(
        bulk_settle=able.get("bulk_settle") is True,
        max_results=most if isinstance(most, int) and most > 0 else MAX_RESULTS,
        event_streams=able.get("event_streams") is True,
        worker_sessions=able.get("worker_sessions") is True,
    )
