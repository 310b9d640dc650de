"""Press Socket.IO without a key, and measure what a client with a key gets meanwhile.

Each kind of pressure runs in a process of its own, between visits without any. A visit is a new
connection, a handshake without a key, a CONNECT with it, and an order and its answer.

python -m benchmarks.strangers [--rate N] [--visits N]
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from benchmarks.stand import Served, database, running, write_down

KEY: Final = "a-key-of-the-benchmark"
KINDS: Final = {
    "handshakes": None,
    "bad packets": "42[[[",
    "wrong keys": '40{"token":"guessed"}',
    "pings that nobody may send": "2",
    "idle polls": None,
    "idle websockets": None,
}
# Seconds of pressure before the first visit.
BEFORE_S: Final = 6.0
PAUSE_S: Final = 0.05
LINES: Final = 8
ANSWER_S: Final = 30.0
_NEW: Final = "/socket.io/?EIO=4&transport="
_UPGRADE: Final = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
_BROKEN: Final = (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError)


class Figures(msgspec.Struct, frozen=True):
    """Visits under one kind of pressure, and those before and after it; times in milliseconds."""

    pressure: str
    per_s: float
    visits: int
    served: int
    median_ms: float
    slowest_ms: float
    undisturbed_median_ms: float
    undisturbed_slowest_ms: float
    memory_before_mb: float
    memory_mb: float


class Line:
    """A connection that is kept open, for one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: str | None = None, more: str = "") -> str:
        """Send a request and return the body of its answer; raises ConnectionError if refused."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        method, sent = ("GET", b"") if body is None else ("POST", body.encode())
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n"
        writer.write(f"{head}{more}\r\n".encode() + sent)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        text = (await _body(reader, answer)).decode()
        if answer[9:12] not in ("200", "101"):
            raise ConnectionError(f"answered {answer[9:12]}: {text}")
        return text

    async def open(self) -> str:
        """Open a session without a key, and return its path."""
        opened = await self.ask(f"{_NEW}polling")
        return f"{_NEW}polling&sid={json.loads(opened[1:])['sid']}"

    async def listen(self, path: str, begin: str) -> None:
        """Poll until a packet comes."""
        while not any(packet.startswith(begin) for packet in (await self.ask(path)).split("\x1e")):
            pass

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    if "transfer-encoding: chunked" not in head:
        length = head.partition("content-length: ")[2].partition("\r\n")[0]
        return await reader.readexactly(int(length or 0))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def visit(port: int) -> None:
    """Connect with a key, and have an order answered."""
    line = Line(port)
    try:
        path = await line.open()
        await line.ask(path, f'40{{"token":"{KEY}"}}')
        await line.listen(path, "40")
        await line.ask(path, '420["join_room",{"room_id":"mine"}]')
        await line.listen(path, "430")
        await line.ask(path, "1")
    finally:
        line.close()


async def visits(port: int, count: int) -> list[float]:
    """Return the durations of the visits that were served, in milliseconds."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        try:
            await asyncio.wait_for(visit(port), ANSWER_S)
        except _BROKEN as error:
            print(f"a visit failed: {error!r}", file=sys.stderr)
        else:
            taken.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(PAUSE_S)
    return taken


class Strangers:
    """Clients without a key."""

    def __init__(self, kind: str, port: int) -> None:
        self._kind = kind
        self._port = port
        # Connections and requests that stay as long as the server lets them.
        self._idle: list[Line] = []
        self._polls: set[asyncio.Task[str]] = set()

    async def press(self, rate: float, seconds: float) -> float:
        """Press at a rate, or as fast as possible if it is 0, and return the rate that it was."""
        begun, count = time.perf_counter(), 0

        async def go_on() -> None:
            nonlocal count
            line = Line(self._port)
            while (passed := time.perf_counter() - begun) < seconds:
                if rate and count > passed * rate:
                    await asyncio.sleep(1 / rate)
                    continue
                count += 1
                try:
                    await self._once(line)
                except _BROKEN:
                    line.close()

        await asyncio.gather(*(go_on() for _ in range(LINES)))
        return count / (time.perf_counter() - begun)

    async def _once(self, line: Line) -> None:
        if self._kind == "idle websockets":
            self._idle.append(idle := Line(self._port))
            await idle.ask(f"{_NEW}websocket", more=_UPGRADE)
            return
        path = await line.open()
        if self._kind == "idle polls":
            self._idle.append(idle := Line(self._port))
            self._polls.add(asyncio.create_task(idle.ask(path)))
        elif packet := KINDS[self._kind]:
            await asyncio.wait_for(line.ask(path, packet), 1)


async def measured(served: Served, kind: str, rate: float, count: int) -> Figures:
    """Compare visits under pressure to those before and after."""
    undisturbed = await visits(served.port, count // 2)
    before_mb = served.memory_mb()
    module = (sys.executable, "-m", "benchmarks.strangers", "--press", kind)
    seconds = BEFORE_S + count * 2 * PAUSE_S
    options = ("--port", served.port, "--rate", rate, "--seconds", seconds)
    process = await asyncio.create_subprocess_exec(
        *module, *map(str, options), stdout=asyncio.subprocess.PIPE
    )
    await asyncio.sleep(BEFORE_S)
    pressed = await visits(served.port, count)
    memory_mb = served.memory_mb()
    output, _ = await process.communicate()
    undisturbed += await visits(served.port, count // 2)
    times = (
        *(statistics.median(pressed or [0.0]), max(pressed, default=0.0)),
        *(statistics.median(undisturbed), max(undisturbed)),
        *(before_mb, memory_mb),
    )
    rounded = (round(time, 1) for time in times)
    return Figures(kind, round(float(output), 1), count, len(pressed), *rounded)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every kind of pressure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200, help="per second; 0 is the most")
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument("--kind", choices=KINDS, help="one kind of pressure alone")
    parser.add_argument("--press", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.press:
        strangers = Strangers(given.press, given.port)
        print(asyncio.run(strangers.press(given.rate, given.seconds)))
        return
    os.environ["OJS_KEYS"] = f"admin:{KEY}"
    found = []
    for kind in [given.kind] if given.kind else KINDS:
        with (
            database("sqlite") as address,
            running("ojs_server", address, "--profile", "jobmanager") as served,
        ):
            figures = asyncio.run(measured(served, kind, given.rate, given.visits))
        print(
            f"{kind} ({figures.per_s}/s): {figures.served} of {figures.visits} visits served, "
            f"median {figures.median_ms} ms, slowest {figures.slowest_ms} ms; "
            f"undisturbed {figures.undisturbed_median_ms} and {figures.undisturbed_slowest_ms} ms; "
            f"memory {figures.memory_before_mb} -> {figures.memory_mb} MB",
            flush=True,
        )
        found.append(figures)
    write_down("strangers", found)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
