"""Run a server under steady load for minutes, and check that it neither slows down nor grows.

python -m benchmarks.soak [--minutes N] [--connections N] [--store sqlite|postgres]

It stops by itself. Each connection stores a job, fetches one, and acknowledges it, again and again.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks import connections
from benchmarks.connections import Line, lines
from benchmarks.plot import Axis, draw
from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down

EVERY_S: Final = 5.0


class Sample(msgspec.Struct, frozen=True):
    """One stretch of a run."""

    store: StoreKind
    minute: float
    jobs_per_s: float
    memory_mb: float


async def work(line: Line, end: float, done: list[int]) -> None:
    """Take jobs through all their states until the end."""
    while time.perf_counter() < end:
        await line.call(connections.ENQUEUE, connections.job("soak"))
        answer = await line.call(connections.FETCH, {"queues": ["soak"], "count": 1})
        for job in answer["jobs"]:
            await line.call(connections.ACK, {"job_id": job["id"]})
            done[0] += 1


async def measure(
    store: StoreKind, served: Served, minutes: float, connections: int
) -> list[Sample]:
    """Look at the server every few seconds."""
    found: list[Sample] = []
    done = [0]
    begun = time.perf_counter()
    end = begun + minutes * 60

    async def look() -> None:
        before, since = 0, begun
        while time.perf_counter() < end:
            await asyncio.sleep(min(EVERY_S, max(0.0, end - time.perf_counter())))
            count, now = done[0], time.perf_counter()
            rate = (count - before) / (now - since)
            found.append(Sample(store, (now - begun) / 60, rate, served.memory_mb()))
            before, since = count, now

    async with lines(served.port, connections) as opened:
        await asyncio.gather(look(), *(work(line, end, done) for line in opened))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the first and the last minute, write the figures down and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each store")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    stores: Sequence[StoreKind] = given.store or STORES
    found: list[Sample] = []
    for store in stores:
        with database(store) as address, running("ojs_server", address) as served:
            found += asyncio.run(measure(store, served, given.minutes, given.connections))
    for store in stores:
        mine = [sample for sample in found if sample.store == store]
        for name, part in (("first", mine[: len(mine) // 3]), ("last", mine[-len(mine) // 3 :])):
            rate = sum(sample.jobs_per_s for sample in part) / len(part)
            memory = max(sample.memory_mb for sample in part)
            print(f"{store:<10}{name:<6} third: {rate:>7,.0f} jobs/s, at most {memory:.0f} MB")
    write_down("soak", found)
    minutes = Axis("minutes")
    for name, title, unit in (
        ("jobs_per_s", "Jobs through all their states, over time", "jobs/s"),
        ("memory_mb", "Resident memory of the server, over time", "MB"),
    ):
        drawn: dict[str, list[tuple[float, float]]] = {
            store: [
                (sample.minute, getattr(sample, name)) for sample in found if sample.store == store
            ]
            for store in stores
        }
        draw(f"soak_{name}", title, minutes, Axis(unit), drawn)


if __name__ == "__main__":
    main()
