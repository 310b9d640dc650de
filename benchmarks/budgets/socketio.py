"""Socket.IO: the delay of announcements, and clients with a key beside strangers without one."""

import asyncio
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

import msgspec

from benchmarks.connections import Line, delayed, lines, opened_line
from benchmarks.stand import StoreKind, Values, serving

BASE: Final = "/v1/joblib/rooms/bench"
KEY: Final = "a-key-of-the-benchmark"
# The packet that each kind of stranger sends into a new session, if it is one.
KINDS: Final = {
    "handshakes": None,
    "bad packets": "42[[[",
    "wrong keys": '40{"token":"guessed"}',
    "pings without a key": "2",
    "idle polls": None,
    "idle WebSockets": None,
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
_BROKEN: Final = (OSError, ValueError)


async def _session(line: Line) -> str:
    """Open a session that polls, and return its path."""
    opened = (await line.ask(f"{_NEW}polling", method="GET")).good()
    return f"{_NEW}polling&sid={msgspec.json.decode(opened[1:])['sid']}"


async def _said(line: Line, path: str, packet: str) -> None:
    (await line.ask(path, packet)).good()


async def _heard(line: Line, path: str, begin: bytes) -> bytes:
    """Poll until a packet comes that begins so."""
    while True:
        answer = (await line.ask(path, method="GET")).good()
        for packet in answer.split(b"\x1e"):
            if packet.startswith(begin):
                return packet


async def announce(store: StoreKind, tasks: int = 300) -> Values:
    """Tasks that are submitted and announced to a worker that polls."""
    took = []
    with serving(store, "--profile", "jobmanager") as served:
        async with lines(served.port, 2) as (line, other):
            body: dict[str, Any] = {"category": "modifiers", "name": "Turn", "schema": {}}
            made = await other.call(f"{BASE}/jobs", body, "PUT")
            path = await _session(line)
            await _said(line, path, "40")
            await _heard(line, path, b"40")
            order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
            await _said(line, path, "420" + msgspec.json.encode(["join_job_room", order]).decode())
            await _heard(line, path, b"430")
            submit = f"{BASE}/tasks/{made['full_name']}"
            for _ in range(tasks):
                hearing = _heard(line, path, b"42")
                delay = await delayed(hearing, other.call(submit, {"payload": {}}))
                assert delay.answer["id"].encode() in delay.taken, "another announcement"
                took.append(delay.since_request_ms)
    return {
        "from the request to the announcement, p50, ms": statistics.median(took),
        "from the request to the announcement, p99, ms": statistics.quantiles(took, n=100)[98],
    }


async def strangers(
    store: StoreKind, rate: float = 200.0, visits: int = 100, kinds: str = ",".join(KINDS)
) -> Values:
    """Visits under each kind of pressure, in turns with some before and after it. A visit is a new
    connection, a handshake without a key, a CONNECT with it, and an order and its answer; a rate
    of 0 is the most."""
    found: Values = {}
    for kind in kinds.split(","):
        with serving(store, "--profile", "jobmanager", keys=f"admin:{KEY}") as served:
            undisturbed = await _visits(served.port, visits // 2)
            before_mb = served.memory_mb()
            seconds = BEFORE_S + visits * 2 * PAUSE_S
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                pressing = pool.submit(press, kind, served.port, rate, seconds)
                await asyncio.sleep(BEFORE_S)
                pressed = await _visits(served.port, visits)
                memory_mb = served.memory_mb()
                pressed_per_s = await asyncio.wrap_future(pressing)
            undisturbed += await _visits(served.port, visits // 2)
        found |= {
            f"{kind}, pressed/s": pressed_per_s,
            f"{kind}, visits not served": visits - len(pressed),
            f"{kind}, median, ms": statistics.median(pressed or [0.0]),
            f"{kind}, median undisturbed, ms": statistics.median(undisturbed),
            f"{kind}, slowest, ms": max(pressed, default=0.0),
            f"{kind}, slowest undisturbed, ms": max(undisturbed),
            f"{kind}, memory before, MB": before_mb,
            f"{kind}, memory, MB": memory_mb,
        }
    not_served = sum(value for name, value in found.items() if name.endswith("not served"))
    return found | {"visits not served": not_served}


async def _visits(port: int, count: int) -> list[float]:
    """Return the durations of the visits that were served, in milliseconds."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(ANSWER_S), lines(port, 1) as (line,):
                path = await _session(line)
                await _said(line, path, f'40{{"token":"{KEY}"}}')
                await _heard(line, path, b"40")
                await _said(line, path, '420["join_room",{"room_id":"mine"}]')
                await _heard(line, path, b"430")
                await _said(line, path, "1")
        except _BROKEN as error:
            print(f"a visit failed: {error!r}")
        else:
            taken.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(PAUSE_S)
    return taken


def press(kind: str, port: int, rate: float, seconds: float) -> float:
    """Press at a rate from a process of its own, and return the rate that it was."""
    return asyncio.run(_press(kind, port, rate, seconds))


async def _press(kind: str, port: int, rate: float, seconds: float) -> float:
    begun, count = time.perf_counter(), 0
    # Connections that stay as long as the server lets them.
    idle: list[Line] = []

    async def once(line: Line) -> None:
        if kind == "idle WebSockets":
            idle.append(held := await opened_line(port))
            (await held.ask(f"{_NEW}websocket", method="GET", head=_UPGRADE)).good()
            return
        path = await _session(line)
        if kind == "idle polls":
            idle.append(held := await opened_line(port))
            # Nobody reads the answer.
            held.ask(path, method="GET").add_done_callback(asyncio.Future.exception)
        elif packet := KINDS[kind]:
            async with asyncio.timeout(1):
                await _said(line, path, packet)

    async def go_on() -> None:
        nonlocal count
        line: Line | None = None
        while (passed := time.perf_counter() - begun) < seconds:
            if rate and count > passed * rate:
                await asyncio.sleep(1 / rate)
                continue
            count += 1
            try:
                line = line or await opened_line(port)
                await once(line)
            except _BROKEN:
                if line is not None:
                    line.close()
                line = None

    await asyncio.gather(*(go_on() for _ in range(LINES)))
    return count / (time.perf_counter() - begun)
