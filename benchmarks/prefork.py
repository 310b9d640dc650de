"""Measure how many more computing jobs two worker processes do in a second than one, in turns.

python -m benchmarks.prefork [--jobs N] [--runs N] [--store sqlite|postgres] [--check]
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks.stand import STORES, Client, StoreKind, database, running, write_down
from benchmarks.worker import QUEUE, fill, watch, working
from ojs_worker import Worker

worker = Worker()
CONCURRENCY: Final = 4
# What two processes have to do at least, where one does 1.
TO_REACH: Final = 1.6


@worker.job("bench.compute", queue=QUEUE)
def compute(limit: int) -> int:
    """Count primes in a thread, which holds Python's lock."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


class Figures(msgspec.Struct, frozen=True):
    """The jobs in a second of each number of processes; of several runs the median counts."""

    store: str
    jobs: int
    one: float
    two: float
    factor: float
    runs: dict[int, list[float]]


def measure(store: StoreKind, jobs: int, limit: int, runs: int) -> Figures:
    """Let one process and two empty a queue, in turns."""
    job = {"type": "bench.compute", "args": [limit], "options": {"queue": QUEUE}}
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(runs):
        for workers, rates in found.items():
            with database(store) as address, running("ojs_server", address) as served:
                client = Client(served.port)
                fill(client, jobs, job)
                options = ("--workers", str(workers), "--concurrency", str(CONCURRENCY))
                with working(served.port, *options, target="benchmarks.prefork:worker"):
                    rates.append(watch(client, jobs))
    one, two = (statistics.median(rates) for rates in found.values())
    return Figures(store, jobs, one, two, two / one, found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefork", description=__doc__)
    parser.add_argument("--jobs", type=int, default=300, help="jobs in each run")
    parser.add_argument("--limit", type=int, default=15_000, help="how much each computes")
    parser.add_argument("--runs", type=int, default=3, help="the median counts")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    parser.add_argument("--check", action="store_true", help=f"fail below {TO_REACH}")
    given = parser.parse_args(arguments)
    stores: Sequence[StoreKind] = given.store or STORES
    found = [measure(store, given.jobs, given.limit, given.runs) for store in stores]
    print(f"{'store':<10}{'jobs':>6}{'one':>8}{'two':>8}{'factor':>8}   to reach")
    for one in found:
        print(
            f"{one.store:<10}{one.jobs:>6}{one.one:>8.1f}{one.two:>8.1f}{one.factor:>8.2f}"
            f"   {TO_REACH}"
        )
    write_down("prefork", found)
    return int(given.check and any(one.factor < TO_REACH for one in found))


if __name__ == "__main__":
    sys.exit(main())
