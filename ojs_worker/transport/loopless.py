"""Coroutines without an event loop: those that never wait for one are run to their end by one step.

So what is written for programs with a loop serves those without one: over transports that block.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Generator, Sequence
from typing import TypeVar

from ojs_worker.errors import NotFound
from ojs_worker.transport import BlockingStreamingTransport, BlockingTransport, Reply, Request
from ojs_worker.transport.in_turn import InTurn

T = TypeVar("T")


def finish(work: Awaitable[T]) -> T:
    """Run a coroutine that waits for nothing, and return its value."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as done:
        value: T = done.value
        return value
    steps.close()
    raise RuntimeError("a blocking client was given something that waits for an event loop")


def finish_each(items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Iterate over an asynchronous generator that waits for nothing."""
    try:
        while True:
            try:
                item = finish(anext(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        finish(items.aclose())


class Loopless:
    """A blocking transport with the interface of an asynchronous one."""

    def __init__(self, transport: BlockingTransport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        return self._transport.send(request)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Read a stream; raises if the other transport cannot."""
        if not isinstance(self._transport, BlockingStreamingTransport):
            raise NotFound("this transport reads no streams")
        with contextlib.closing(self._transport.stream(request)) as pieces:
            for piece in pieces:
                yield piece

    async def close(self) -> None:
        """Close the connections."""
        self._transport.close()


class BlockingInTurn:
    """Several servers of one database, for programs without an event loop; see `InTurn`."""

    def __init__(self, transports: Sequence[BlockingTransport]) -> None:
        self._transports = InTurn([Loopless(transport) for transport in transports])

    def send(self, request: Request) -> Reply:
        """Send one request."""
        return finish(self._transports.send(request))

    def stream(self, request: Request) -> Generator[bytes, None, None]:
        """Yield the parts of a stream."""
        return finish_each(self._transports.stream(request))

    def close(self) -> None:
        """Close the connections."""
        finish(self._transports.close())
