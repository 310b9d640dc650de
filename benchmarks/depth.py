"""Compare FETCH with many waiting jobs to FETCH with few, in time and memory.

python -m benchmarks.depth [--jobs N] [--few N] [--store sqlite|postgres]

Two servers on stores of their own answer in turns, so that the ratio says something on a busy
machine too.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks import connections
from benchmarks.connections import Line, lines
from benchmarks.plot import Axis, draw
from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down

QUEUE: Final = "deep"
SAMPLES: Final = 300
STEPS: Final = 4
TO_REACH: Final = 1.5


class Figures(msgspec.Struct, frozen=True):
    """FETCH at one depth; latencies are medians in milliseconds."""

    store: StoreKind
    waiting: int
    fetch_ms: float
    with_few_ms: float
    ratio: float
    memory_mb: float


async def fetch(line: Line) -> float:
    """Milliseconds of one FETCH, whose job is acknowledged and replaced."""
    begun = time.perf_counter()
    answer = await line.call(connections.FETCH, {"queues": [QUEUE], "count": 1})
    took = (time.perf_counter() - begun) * 1000
    (job,) = answer["jobs"]
    await line.call(connections.ACK, {"job_id": job["id"]})
    await line.call(connections.ENQUEUE, connections.job(QUEUE))
    return took


async def measure(
    store: StoreKind, deep: Served, shallow: Served, jobs: int, few: int
) -> list[Figures]:
    """Fill the one store in steps, and compare after each."""
    found = []
    async with lines(shallow.port, 1) as (line,):
        await connections.fill(line, QUEUE, few)
    there = 0
    for depth in sorted({few, *(max(few, jobs // 10**n) for n in range(STEPS))}):
        async with lines(deep.port, 1) as (line,):
            await connections.fill(line, QUEUE, depth - there)
        there = depth
        deep_ms, shallow_ms = await compare(deep, shallow)
        found.append(
            Figures(store, depth, deep_ms, shallow_ms, deep_ms / shallow_ms, deep.memory_mb())
        )
    return found


async def compare(deep: Served, shallow: Served) -> tuple[float, float]:
    """Return the median times of FETCH on both servers, measured in turns."""
    took: tuple[list[float], list[float]] = ([], [])
    # New connections: a server closes one that was idle while the other store was filled.
    async with lines(deep.port, 1) as (many,), lines(shallow.port, 1) as (other,):
        for _ in range(SAMPLES):
            for line, mine in zip((many, other), took, strict=True):
                mine.append(await fetch(line))
    deep_ms, shallow_ms = map(statistics.median, took)
    return deep_ms, shallow_ms


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, write the figures down and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.depth", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="waiting at the end")
    parser.add_argument("--few", type=int, default=1000, help="waiting in the other store")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    found: list[Figures] = []
    for store in given.store or STORES:
        with (
            database(store) as large,
            database(store) as small,
            running("ojs_server", large) as deep,
            running("ojs_server", small) as shallow,
        ):
            found += asyncio.run(measure(store, deep, shallow, given.jobs, given.few))
    for row in found:
        print(
            f"{row.store:<10}{row.waiting:>10,} waiting: FETCH {row.fetch_ms:.2f} ms, beside "
            f"{given.few:,} waiting {row.with_few_ms:.2f} ms: {row.ratio:.2f} times (at most "
            f"{TO_REACH:g}); {row.memory_mb:.0f} MB"
        )
    write_down("depth", found)
    draw(
        "depth",
        "FETCH (p50) over waiting jobs, beside a store with a thousand",
        Axis("jobs waiting", "log"),
        Axis("times"),
        {
            store: [(row.waiting, row.ratio) for row in found if row.store == store]
            for store in given.store or STORES
        },
    )


if __name__ == "__main__":
    main()
