"""Measure the cost of an idle fleet, and the delay until a job reaches a waiting worker.

python -m benchmarks.steady [--seconds N] [--store sqlite|postgres]
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from benchmarks import connections
from benchmarks.connections import Line, lines
from benchmarks.stand import (
    STORES,
    Served,
    StoreKind,
    database,
    database_cpu_s,
    running,
    write_down,
)

WORKERS: Final = 1000
HELD: Final = 10
EVERY_S: Final = 5.0
WAITING: Final = 100
SAMPLES: Final = 200
LINES: Final = 100


class Figure(msgspec.Struct, frozen=True):
    """One measurement of one store."""

    store: StoreKind
    what: str
    value: float
    unit: str
    to_reach: float


class Shares(msgspec.Struct):
    """The use of a processor core, in percent."""

    server: float = 0.0
    database: float = 0.0


@asynccontextmanager
async def watched(served: Served, address: str) -> AsyncIterator[Shares]:
    """Measure the processor time used during the block."""
    shares = Shares()
    begun, server, database_ = time.perf_counter(), served.cpu_s(), database_cpu_s(address)
    yield shares
    passed = (time.perf_counter() - begun) / 100
    shares.server = (served.cpu_s() - server) / passed
    shares.database = (database_cpu_s(address) - database_) / passed


async def heartbeats(served: Served, address: str, seconds: float) -> Shares:
    """A thousand workers with ten jobs each, each sending a BEAT every five seconds."""
    async with lines(served.port, LINES) as opened:
        await connections.fill(opened[0], "held", WORKERS * HELD)
        beats: list[dict[str, object]] = []

        async def take(line: Line, numbers: Sequence[int]) -> None:
            for number in numbers:
                name = f"worker-{number}"
                terms = {"queues": ["held"], "count": HELD, "worker_id": name}
                held = [job["id"] for job in (await line.call(connections.FETCH, terms))["jobs"]]
                assert len(held) == HELD
                beats.append({"worker_id": name, "state": "running", "active_job_ids": held})

        turns = [range(first, WORKERS, LINES) for first in range(LINES)]
        await asyncio.gather(*map(take, opened, turns))

        async def beat(line: Line, mine: Sequence[dict[str, object]]) -> None:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                for fetch in mine:
                    pause = asyncio.create_task(asyncio.sleep(EVERY_S / len(mine)))
                    assert len((await line.call(connections.BEAT, fetch))["jobs_extended"]) == HELD
                    await pause

        async with watched(served, address) as shares:
            await asyncio.gather(*map(beat, opened, (beats[n::LINES] for n in range(LINES))))
    return shares


async def idle(served: Served, address: str, seconds: float) -> Shares:
    """A hundred workers that wait for a job which does not come."""
    async with lines(served.port, WAITING) as opened:
        wait = {"queues": ["idle"], "wait_ms": round((seconds + 5) * 1000)}
        waiting = [
            line.ask(connections.FETCH, {**wait, "worker_id": f"i-{n}"})
            for n, line in enumerate(opened)
        ]
        await asyncio.sleep(2)
        async with watched(served, address) as shares:
            await asyncio.sleep(seconds)
        assert not any(task.done() for task in waiting)
    return shares


async def latency(served: Served) -> list[float]:
    """Return the milliseconds from the answer to an ENQUEUE until a waiting worker has the job."""
    took = []
    async with lines(served.port, 2) as (producer, worker):
        for _ in range(SAMPLES):
            fetch = worker.ask(connections.FETCH, {"queues": ["soon"], "wait_ms": 10_000})
            # Long enough for the worker to wait in its FETCH, even on a busy machine.
            await asyncio.sleep(0.02)
            stored = producer.ask(connections.ENQUEUE, connections.job("soon"))
            moments: dict[str, float] = {}
            for name, future in (("stored", stored), ("there", fetch)):
                future.add_done_callback(_noting(moments, name))
            (job,) = (await fetch).json()["jobs"]
            (await stored).json()
            took.append((moments["there"] - moments["stored"]) * 1000)
            await worker.call(connections.ACK, {"job_id": job["id"]})
    return took


def _noting(moments: dict[str, float], name: str) -> Callable[[object], object]:
    return lambda _: moments.setdefault(name, time.perf_counter())


async def measure(store: StoreKind, served: Served, address: str, seconds: float) -> list[Figure]:
    """All of it."""
    waited = await idle(served, address, seconds)
    took = await latency(served)
    beaten = await heartbeats(served, address, seconds)
    return [
        Figure(store, "100 waiting workers, server", waited.server, "% of a core", 2),
        Figure(store, "100 waiting workers, database", waited.database, "% of a core", 2),
        Figure(store, "from 201 to the worker, p50", statistics.median(took), "ms", 5),
        Figure(store, "1,000 workers' heartbeats, server", beaten.server, "% of a core", 25),
        Figure(store, "1,000 workers' heartbeats, database", beaten.database, "% of a core", 25),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steady", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="for each of the two fleets")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    found: list[Figure] = []
    for store in given.store or STORES:
        with database(store) as address, running("ojs_server", address) as served:
            found += asyncio.run(measure(store, served, address, given.seconds))
    for row in found:
        print(
            f"{row.store:<10}{row.what:<38}{row.value:>8.2f} {row.unit} (at most {row.to_reach:g})"
        )
    write_down("steady", found)


if __name__ == "__main__":
    main()
