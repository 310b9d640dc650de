"""Sends shots to a server, some at a time, and collects the faults found."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from tests.fuzz.answers import Answers, answers
from tests.fuzz.shots import Shooter, Shot

# The server waits for half a minute for what it was promised.
BOUND_S: Final = 60.0
_MOST_READ: Final = 4_000_000
# Most faults whose exchange is kept; more would show nothing new.
MOST_FAULTS: Final = 20
_SHOWN: Final = 400


class Tally(msgspec.Struct):
    """A shot, and the fault it found."""

    shots: int = 0
    requests: int = 0
    statuses: Counter[int] = msgspec.field(default_factory=Counter)
    kinds: Counter[str] = msgspec.field(default_factory=Counter)
    faults: list[str] = []
    slowest_s: float = 0.0


class Player:
    """Plays shots at one address."""

    def __init__(self, shooter: Shooter, host: str, port: int, bound_s: float = BOUND_S) -> None:
        self.tally = Tally()
        self._shooter = shooter
        self._host = host
        self._port = port
        self._bound_s = bound_s

    async def play(
        self,
        numbers: Iterable[int],
        at_once: int,
    ) -> None:
        """Play these shots, until there are faults enough."""
        left = iter(numbers)

        async def some() -> None:
            for number in left:
                if len(self.tally.faults) >= MOST_FAULTS:
                    return
                await self._play(number)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(some())

    async def _play(self, number: int) -> None:
        shot = self._shooter.shot(number)
        began = time.monotonic()
        received, ended = await self._sent(shot)
        tally, found = self.tally, answers(received, shot.methods)
        tally.shots += 1
        tally.requests += max(1, len(shot.methods), len(found.statuses))
        tally.statuses.update(found.statuses)
        tally.kinds[shot.kind.partition(" ")[0]] += 1
        tally.slowest_s = max(tally.slowest_s, time.monotonic() - began)
        if (fault := wrong(shot, found, ended=ended)) is not None:
            tally.faults.append(
                f"shot {number}, {shot.kind}: {fault}\n"
                f"  sent     {len(shot.data)} bytes: {shot.data[:_SHOWN]!r}\n"
                f"  received {len(received)} bytes: {received[:_SHOWN]!r}"
            )

    async def _sent(self, shot: Shot) -> tuple[bytes, bool]:
        """Return the bytes of the answer, and True if it ended within the time limit."""
        received = bytearray()
        try:
            async with asyncio.timeout(self._bound_s):
                reader, writer = await asyncio.open_connection(self._host, self._port)
                try:
                    sending = asyncio.ensure_future(_send(shot, writer))
                    while piece := await reader.read(65_536):
                        received += piece
                        if len(received) > _MOST_READ or (shot.endless and b"\r\n\r\n" in received):
                            break
                    sending.cancel()
                    await asyncio.gather(sending, return_exceptions=True)
                finally:
                    writer.transport.abort()
        except TimeoutError:
            return bytes(received), False
        except OSError:
            # It was ended in the middle of what is sent: an end like another.
            pass
        return bytes(received), True


async def _send(shot: Shot, writer: asyncio.StreamWriter) -> None:
    # A server that ends the connection in the middle is heard of by whoever reads.
    with contextlib.suppress(OSError):
        for piece in shot.pieces:
            writer.write(piece)
            await writer.drain()
        if not shot.methods:
            writer.write_eof()


def wrong(shot: Shot, found: Answers, *, ended: bool) -> str | None:
    """Return the fault of a shot's outcome, or None."""
    failed = [status for status in found.statuses if status >= 500 and status != 503]
    if failed:
        return f"answered with {failed[0]}"
    if not ended:
        return "neither answered nor ended in time"
    if found.nonsense:
        return "answered with what is no HTTP"
    if shot.methods and not found.statuses:
        return "ended without an answer"
    if len(found.statuses) > len(shot.methods) > 0:
        return f"answered {len(found.statuses)} times"
    return None
