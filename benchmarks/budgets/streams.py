"""Clients of server-sent events and of WebSockets, each on a queue or on all, while jobs pass.

None may miss a step of a job, or see two in the wrong order, and the server's memory must stay
bounded.
"""

import asyncio
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Final

from benchmarks.budgets.following import ALL, Seen, Target, follow
from benchmarks.connections import Traffic, lines
from benchmarks.stand import Served, StoreKind, Values, serving

# Time limit for the rest of the work if a machine cannot keep the rate.
LIMIT_S: Final = 30.0
# Time limit for the last events to reach all clients.
REST_S: Final = 10.0
PROCESSES: Final = 2
# Figures of events that a client did not get, or not in order.
LOSSES: Final = ("events missing", "events out of order", "reported losses")


def clients(streams: int, sockets: int, whole: int, queues: Sequence[str]) -> list[Target]:
    """Streams and sockets, spread over the queues; some streams follow everything."""
    return [
        *(Target(False, ALL) for _ in range(whole)),
        *(Target(False, queues[number % len(queues)]) for number in range(streams - whole)),
        *(Target(True, queues[number % len(queues)]) for number in range(sockets)),
    ]


async def streams(
    store: StoreKind,
    rate: int = 2000,
    seconds: float = 10.0,
    streams: int = 500,
    sockets: int = 50,
    whole: int = 1,
    queues: int = 100,
) -> Values:
    """Streams and sockets of which each follows a queue, but for some that follow everything."""
    names = [f"bench-{number}" for number in range(queues)]
    with serving(store) as served:
        await with_queues(served, names)
        return await followed(served, clients(streams, sockets, whole, names), names, rate, seconds)


async def with_queues(served: Served, names: Sequence[str]) -> None:
    """Make queues, as only an existing one has an event stream."""
    async with lines(served.port, 1) as (line,):
        for name in names:
            await line.call(f"/ojs/v1/queues/{name}/config", {}, "PUT")


async def followed(
    served: Served, wanted: Sequence[Target], queues: Sequence[str], rate: int, seconds: float
) -> Values:
    """Connect all clients, run the jobs, and collect what the clients saw."""
    spawn = multiprocessing.get_context("spawn")
    ways: list[Connection] = []
    processes = []
    for part in range(PROCESSES):
        here, there = spawn.Pipe()
        process = spawn.Process(target=follow, args=(served.port, wanted[part::PROCESSES], there))
        process.start()
        there.close()
        ways.append(here)
        processes.append(process)
    try:
        for way in ways:
            assert await asyncio.to_thread(way.recv) == "ready"
        traffic = Traffic(queues, rate, batch=100, producers=2, workers=4)
        cpu_s, before_mb = served.cpu_s(), served.memory_mb()
        begun = asyncio.get_running_loop().time()
        sampled = [before_mb]
        sampling = asyncio.create_task(_sample(served, sampled))
        async with asyncio.timeout(seconds + LIMIT_S):
            await traffic.run(served.port, seconds)
        took_s = asyncio.get_running_loop().time() - begun
        for way in ways:
            way.send((dict(traffic.made), REST_S))
        seen: list[Seen] = [await asyncio.to_thread(way.recv) for way in ways]
        sampling.cancel()
        cpu_s = served.cpu_s() - cpu_s
    finally:
        for process in processes:
            process.terminate()
            process.join()
    return {
        "jobs": traffic.done,
        "jobs/s": traffic.done / took_s,
        "events told": sum(one.events for one in seen),
        **losses(seen),
        "late, p50, ms": max(one.late_p50_ms for one in seen),
        "late, p99, ms": max(one.late_p99_ms for one in seen),
        "CPU of the server a job, ms": cpu_s * 1000 / traffic.done,
        "memory before, MB": before_mb,
        "memory grew by, MB": max(sampled) - before_mb,
    }


def losses(seen: Sequence[Seen]) -> Values:
    """Return the figures of `LOSSES`."""
    counts = [(one.missing, one.out_of_order, one.reported_lost) for one in seen]
    return dict(zip(LOSSES, map(sum, zip(*counts, strict=True)), strict=True))


async def _sample(served: Served, memory_mb: list[float]) -> None:
    while True:
        await asyncio.sleep(0.2)
        memory_mb.append(served.memory_mb())
