"""Several servers of one database: calls go to one of them until it fails, and then to the next."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from ojs_worker.errors import NotFound, Refused, Unreachable
from ojs_worker.transport import Reply, Request, StreamingTransport, Transport

# Statuses of a server that stops or has lost its database, or of a proxy without a server.
AWAY: Final = frozenset({502, 503, 504})


class InTurn:
    """A transport over several others. Nothing that a server may have received is sent to another
    one here: callers that may repeat a call do so, and then reach the next server."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._transports: Final = tuple(transports)
        self._place = 0
        # Servers that have failed since the last success.
        self._failed: set[int] = set()

    async def send(self, request: Request) -> Reply:
        """Send one request; if a server cannot be reached at all, to the next one."""
        refusals: list[str] = []
        while True:
            place = self._place
            try:
                reply = await self._transports[place].send(request)
            except Unreachable as error:
                self._pass_over(place)
                refusals.append(str(error))
                if error.sent or len(refusals) == len(self._transports):
                    raise Unreachable("; ".join(refusals), sent=error.sent) from error
                continue
            if reply.status not in AWAY:
                self._failed.clear()
                return reply
            others = len(self._transports) - len(self._failed | {place})
            self._pass_over(place)
            # One server's Retry-After does not apply to another.
            return msgspec.structs.replace(reply, retry_after_s=None) if others else reply

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Read a stream from the present server."""
        place = self._place
        transport = self._transports[place]
        if not isinstance(transport, StreamingTransport):
            raise NotFound("this transport reads no streams")
        try:
            async with aclosing(transport.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except (Unreachable, Refused) as error:
            if isinstance(error, Unreachable) or error.status in AWAY:
                self._pass_over(place)
            raise

    async def close(self) -> None:
        """Close the connections to all of them."""
        for transport in self._transports:
            await transport.close()

    def _pass_over(self, place: int) -> None:
        """Go on to the next server, unless another call has done so."""
        if place == self._place:
            self._place = (place + 1) % len(self._transports)
        self._failed.add(place)
        if len(self._failed) == len(self._transports):
            # All have failed, so start the next round.
            self._failed.clear()
