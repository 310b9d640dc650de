"""Reading the messages of requests, within bounds of memory and time.

The library keeps all of a message that is being read, and says its length only at its end. So a
message that does not arrive at once takes as much of the budget of bodies as the largest may have.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from grpc import aio
from grpc.aio import ServicerContext

from ojs_server.connection.body_budget import BodyBudget
from ojs_server.domain.errors import MalformedPayload, OjsError, TooSlow, Unavailable

# Number of messages read at a time without being counted in the budget, and the time limit for
# that.
MOST_AT_ONCE: Final = 4
AT_ONCE_S: Final = 0.025
# Time limit for a whole message.
MESSAGE_S: Final = 60.0

GiveUp = Callable[[OjsError], None]


class MessageIntake:
    """Reads the messages of all requests of a port."""

    def __init__(self, bodies: BodyBudget, largest: int) -> None:
        self._bodies = bodies
        self._largest = largest
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    async def read(self, context: ServicerContext[Any, Any], give_up: GiveUp) -> bytes:
        """Return the message of a request, which has one; `give_up` as in `read_next`."""
        message = await self.read_next(context, give_up, MESSAGE_S)
        if message is None:
            raise MalformedPayload("the request has no message")
        return message

    async def read_next(
        self, context: ServicerContext[Any, Any], give_up: GiveUp, within_s: float
    ) -> bytes | None:
        """Return the next message of a request, or None if there is no other.

        If it is slow, or other messages have all of the budget, `give_up` has to end the RPC, which
        also ends the read: if it were cancelled, the library would write to freed memory.
        """
        await self._at_once.acquire()
        reading = _Reading(self._at_once, self._bodies, self._largest, give_up, within_s)
        try:
            message = await context.read()
        finally:
            reading.end()
        return None if message is aio.EOF else bytes(message)


class _Reading:
    """A message that is being read: at once, then counted, or given up."""

    def __init__(
        self,
        at_once: asyncio.Semaphore,
        bodies: BodyBudget,
        largest: int,
        give_up: GiveUp,
        within_s: float,
    ) -> None:
        self._at_once: asyncio.Semaphore | None = at_once
        self._bodies = bodies
        self._largest = largest
        self._counted = 0
        self._give_up = give_up
        self._within_s = within_s
        self._loop = asyncio.get_running_loop()
        self._alarm = self._loop.call_later(AT_ONCE_S, self._count)

    def _count(self) -> None:
        self._leave()
        try:
            self._bodies.take(self._largest)
        except Unavailable as error:
            self._give_up(error)
            return
        self._counted = self._largest
        too_slow = TooSlow("the rest of the message did not come in time", hint="send it again")
        self._alarm = self._loop.call_later(self._within_s, self._give_up, too_slow)

    def _leave(self) -> None:
        if self._at_once is not None:
            self._at_once.release()
            self._at_once = None

    def end(self) -> None:
        """Give back what the read has taken."""
        self._alarm.cancel()
        self._leave()
        self._bodies.give(self._counted)
