"""Clients of event streams for `benchmarks.budgets.streams`, many in one process.

Each follows one queue or all of them, and checks that it gets every step of each job, once and in
order.
"""

import asyncio
import re
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Final, cast

import msgspec
import uvloop

# The events of a job that succeeds at once.
STEPS: Final = {b"enqueued": 0, b"started": 1, b"completed": 2}
ALL: Final = "all"
CONNECT_S: Final = 20.0
_FRAME: Final = re.compile(
    rb'id: evt_(\w{8})-(\w{4})-[^\n]*\nevent: job\.(\w+)\ndata: [^\n]*?"subject":"([^"]+)"'
)
_MESSAGE: Final = re.compile(
    rb'"event":"job\.(\w+)","id":"evt_(\w{8})-(\w{4})-[^"]*","timestamp":"[^"]*",'
    rb'"data":\{"job_id":"([^"]+)"'
)


class Target(msgspec.Struct, frozen=True):
    """One client: how it is connected, and the queue that it follows."""

    socket: bool
    queue: str


class Seen(msgspec.Struct):
    """The events that the clients of a process got."""

    events: int = 0
    missing: int = 0
    out_of_order: int = 0
    reported_lost: int = 0
    late_p50_ms: float = 0.0
    late_p99_ms: float = 0.0


class Follower(asyncio.Protocol):
    """One client."""

    def __init__(self, target: Target, ready: asyncio.Semaphore) -> None:
        self.target = target
        self.events = self.out_of_order = self.reported_lost = 0
        self.late_ms: list[float] = []
        self._steps: dict[bytes, int] = {}
        self._ready = ready
        self._rest = b""
        self._open = self._follows = False
        self._channel = ALL if target.queue == ALL else f"queue:{target.queue}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        self._way = cast(asyncio.Transport, transport)
        head = "Host: localhost\r\n"
        if self.target.socket:
            head += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            head += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            self._way.write(f"GET /ojs/v1/ws HTTP/1.1\r\n{head}\r\n".encode())
        else:
            path = f"/ojs/v1/events/stream?channel={self._channel}"
            self._way.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Look at all that has come as a whole."""
        data = self._rest + data
        if not self._open:
            head, end, data = data.partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            self._open = True
            if self.target.socket:
                order = {"action": "subscribe", "channel": self._channel, "format": "catalogue"}
                self._send(0x81, msgspec.json.encode(order))
        if not self._follows and (b"retry:" in data or b'"subscribed"' in data):
            self._follows = True
            self._ready.release()
        self._rest = self._messages(data) if self.target.socket else self._frames(data)

    def _frames(self, data: bytes) -> bytes:
        end = data.rfind(b"\n\n") + 2
        if end < 2:
            return data
        whole = data[:end]
        if b"events_dropped" in whole or b"system.gap" in whole:
            self.reported_lost += 1
        found = _FRAME.findall(whole)
        for _, _, step, job in found:
            self._note(step, job)
        if found:
            self._time(found[-1][0] + found[-1][1])
        return data[end:]

    def _messages(self, data: bytes) -> bytes:
        place, stamp = 0, b""
        while len(data) >= place + 4:
            size, start = data[place + 1], place + 2
            if size == 126:
                size, start = int.from_bytes(data[start : start + 2]), start + 2
            if len(data) < start + size:
                break
            body = data[start : start + size]
            if data[place] == 0x89:
                self._send(0x8A, body)
            elif found := _MESSAGE.search(body):
                step, high, low, job = found.groups()
                self._note(step, job)
                stamp = high + low
            elif b"events_dropped" in body or b"system.gap" in body:
                self.reported_lost += 1
            place = start + size
        if stamp:
            self._time(stamp)
        return data[place:]

    def _note(self, step: bytes, job: bytes) -> None:
        self.events += 1
        place = STEPS.get(step, -1)
        if place != self._steps.get(job, 0):
            self.out_of_order += 1
        if place == len(STEPS) - 1:
            self._steps.pop(job, None)
        else:
            self._steps[job] = place + 1

    def _time(self, stamp: bytes) -> None:
        # An event's id begins with the time of its commit.
        self.late_ms.append(time.time() * 1000 - int(stamp, 16))

    def _send(self, kind: int, body: bytes) -> None:
        # A mask of zeros leaves the body as it is.
        size = bytes((0x80 | len(body),)) if len(body) < 126 else b""
        self._way.write(bytes((kind,)) + size + b"\0\0\0\0" + body)


def follow(port: int, targets: Sequence[Target], way: Connection) -> None:
    """Run a process of clients: report that all follow, get the number of jobs, report the
    results."""
    # A fast loop, because the clients share the machine with the server that they measure.
    uvloop.run(_follow(port, targets, way))


async def _follow(port: int, targets: Sequence[Target], way: Connection) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Semaphore(0)
    followers = [Follower(target, ready) for target in targets]
    for follower in followers:
        await loop.create_connection(lambda protocol=follower: protocol, "127.0.0.1", port)  # type: ignore[misc]
    async with asyncio.timeout(CONNECT_S):
        for _ in followers:
            await ready.acquire()
    way.send("ready")
    jobs, within_s = await loop.run_in_executor(None, way.recv)
    way.send(await _counted(followers, jobs, within_s))


async def _counted(followers: Sequence[Follower], jobs: Mapping[str, int], within_s: float) -> Seen:
    """Wait until all events have come, within a time limit."""
    due = Counter(jobs)
    due[ALL] = sum(jobs.values())
    deadline = time.monotonic() + within_s
    missing = 1
    while missing and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        missing = sum(
            max(0, len(STEPS) * due[follower.target.queue] - follower.events)
            for follower in followers
        )
    late = sorted(ms for follower in followers for ms in follower.late_ms) or [0.0]
    return Seen(
        events=sum(follower.events for follower in followers),
        missing=missing,
        out_of_order=sum(follower.out_of_order for follower in followers),
        reported_lost=sum(follower.reported_lost for follower in followers),
        late_p50_ms=statistics.median(late),
        late_p99_ms=late[int(len(late) * 0.99)],
    )
