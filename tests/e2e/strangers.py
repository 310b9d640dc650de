"""Clients without a key that take what a port has to give: connections, heads, bodies, streams."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from tests.grpc import http2

# Pauses of a stranger between its messages, and before it connects again.
PAUSE_S: Final = 0.2
RETURN_S: Final = 5.0
MANY: Final = 400
SOME: Final = 20
_STREAMS: Final = 300
_LONG: Final = 1_000_000
_ENQUEUE: Final = "/ojs.v1.OJSService/Enqueue"
_POST: Final = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
_BODY: Final = b'{"type": "t", "args": []}'
_STREAM: Final = b"GET /ojs/v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
_GARBAGE: Final = bytes(range(255, -1, -1)) * 4


def _nothing(turn: int) -> bytes:
    return b""


class Strangers(msgspec.Struct, frozen=True):
    """The number of clients, what each sends first, and what it sends after each pause."""

    clients: int
    first: bytes = b""
    then: Callable[[int], bytes] = _nothing


def _call(turn: int) -> bytes:
    """Return a whole call without a key."""
    stream = 2 * turn + 1
    message = http2.piece(stream, http2.prefix(0), last=True)
    return http2.head(stream, _ENQUEUE, {}) + message


def _begun(streams: int) -> bytes:
    """Return the beginnings of calls with long messages."""
    numbers = range(1, 2 * streams, 2)
    heads = [http2.head(n, _ENQUEUE, {}) + http2.piece(n, http2.prefix(_LONG)) for n in numbers]
    return http2.OPENING + b"".join(heads)


HTTP: Final[Mapping[str, Strangers]] = {
    "idle connections": Strangers(MANY),
    "slow heads": Strangers(MANY, _POST, lambda turn: b"X-%d: 1\r\n" % turn),
    "slow bodies": Strangers(
        MANY, _POST + b"Content-Length: %d\r\n\r\n{" % _LONG, lambda turn: b" " * 100
    ),
    "too many streams": Strangers(SOME, _STREAM * _STREAMS),
    "garbage": Strangers(SOME, _GARBAGE, lambda turn: _GARBAGE),
    "no key": Strangers(
        SOME, then=lambda turn: _POST + b"Content-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
    ),
}
GRPC: Final[Mapping[str, Strangers]] = {
    "idle connections": Strangers(MANY, http2.OPENING),
    "slow heads": Strangers(
        MANY,
        http2.OPENING + http2.head(1, _ENQUEUE, {}, whole=False),
        lambda turn: http2.more_head(1),
    ),
    "slow bodies": Strangers(SOME, _begun(50), lambda turn: http2.piece(1, b"x" * 100)),
    "too many streams": Strangers(SOME, _begun(_STREAMS)),
    "garbage": Strangers(SOME, _GARBAGE, lambda turn: _GARBAGE),
    "no key": Strangers(SOME, http2.OPENING, _call),
}
# The strangers that each port has to bear, by what they do.
PORTS: Final[Mapping[str, Mapping[str, Strangers]]] = {"http": HTTP, "grpc": GRPC}


@asynccontextmanager
async def strangers(port: int, kind: Strangers) -> AsyncIterator[None]:
    """Clients that connect again and again until the block ends."""
    entered = asyncio.Barrier(kind.clients + 1)
    tasks = [asyncio.ensure_future(_stranger(port, kind, entered)) for _ in range(kind.clients)]
    try:
        await entered.wait()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stranger(port: int, kind: Strangers, entered: asyncio.Barrier) -> None:
    """Connect, send, and wait to be thrown out; forever."""
    is_first = True
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(kind.first)
                if is_first:
                    is_first = False
                    await entered.wait()
                await _send(reader, writer, kind.then)
            finally:
                writer.transport.abort()
        await asyncio.sleep(RETURN_S)


async def _send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, then: Callable[[int], bytes]
) -> None:
    turn = 0
    while True:
        try:
            async with asyncio.timeout(PAUSE_S):
                while await reader.read(65_536):
                    pass
            return
        except TimeoutError:
            writer.write(then(turn))
            turn += 1
