"""A transport that notes what its user is answered."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec

from ojs_worker.transport import Reply, Request, StreamingTransport
from tests.simulation.ledger import Exchange, Ledger
from tests.simulation.machine.loop import SimulatedLoop

# Bytes of a body in a line of the trace.
SHOWN = 200

_PLACES = tuple(str(place).encode() for place in (Path(__file__).parents[2], sys.base_prefix))


class Observed:
    """Passes everything on, and notes the answers."""

    def __init__(
        self, inner: StreamingTransport, loop: SimulatedLoop, ledger: Ledger, who: str
    ) -> None:
        self._inner = inner
        self._loop = loop
        self._ledger = ledger
        self._who = who

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        request = _anywhere(request)
        exchange = Exchange(
            self._who,
            self._loop.now,
            request.method,
            request.path,
            request.body,
            (request.headers or {}).get("X-OJS-Tenant"),
        )
        self._ledger.exchanges.append(exchange)
        call = f"{request.method} {request.path}"
        self._note(f"> {call}", request.body)
        try:
            reply = await self._inner.send(request)
        except (Exception, asyncio.CancelledError) as error:
            self._note(f"! {call} {error!r}", None)
            raise
        self._note(f"< {call} {reply.status}", reply.body)
        exchange.status, exchange.reply = reply.status, reply.body
        exchange.answered_at = self._loop.now
        return reply

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a stream."""
        call = f"{request.method} {request.path}"
        self._note(f"> {call}", request.body)
        async with aclosing(self._inner.stream(request)) as pieces:
            async for piece in pieces:
                self._note(f"~ {call}", piece)
                yield piece

    def _note(self, line: str, body: bytes | None) -> None:
        body = body or b""
        self._loop.digest.update(body)
        self._loop.note(f"{line} {shortened(body)}")

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()


def shortened(body: bytes) -> str:
    """Return what fits into a line of the trace."""
    text = body[:SHOWN].decode(errors="replace")
    return text if len(body) <= SHOWN else f"{text}… ({len(body)} bytes)"


def _anywhere(request: Request) -> Request:
    """Return a request without the places of files, so that it is the same in each checkout."""
    body = request.body
    if body is None or b".py" not in body:
        return request
    for number, place in enumerate(_PLACES):
        body = body.replace(place, b"/place%d" % number)
    return msgspec.structs.replace(request, body=body)
