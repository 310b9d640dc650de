"""Measure how many more computing jobs two worker processes do in a second than one, in turns with
bare processes of Python that compute the same, as cores that are shared do not give them twice.

python -m benchmarks.prefork [--jobs N] [--runs N] [--store sqlite|postgres] [--check]
"""

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks.stand import STORES, Client, StoreKind, database, running, write_down
from benchmarks.worker import QUEUE, fill, watch, working
from ojs_worker import Worker

worker = Worker()
CONCURRENCY: Final = 4
# Least throughput of two processes, as a multiple of that of one; and as a share of that of two
# bare processes, on a machine where these reach less.
TO_REACH: Final = 1.6
BESIDE_BARE: Final = 0.9
# If two bare processes do less, the machine has no second core to give, and the run shows nothing.
LEAST_BARE: Final = 1.1
BARE_S: Final = 5.0


@worker.job("bench.compute", queue=QUEUE)
def compute(limit: int) -> int:
    """Count primes in a thread, which holds Python's lock."""
    return primes(limit)


def primes(limit: int) -> int:
    """Count primes."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


class Rates(msgspec.Struct, frozen=True):
    """The jobs in a second of one process and of two, in several runs; the median counts."""

    one_process: list[float] = []
    two_processes: list[float] = []

    def of(self, processes: int) -> list[float]:
        """Return the runs of so many processes."""
        return self.one_process if processes == 1 else self.two_processes

    @property
    def factor(self) -> float:
        """Ratio of the rate of two to that of one: the median of the runs, because what a
        shared machine gives changes."""
        return statistics.median(
            two_processes / one_process
            for one_process, two_processes in zip(self.one_process, self.two_processes, strict=True)
        )


class Figures(msgspec.Struct, frozen=True):
    """The results of worker processes on a store, and of bare processes in turns with them."""

    store: str
    jobs: int
    workers: Rates
    bare: Rates

    @property
    def machine_gives_it(self) -> bool:
        """True if the machine gives bare processes enough for workers to be judged by `TO_REACH`
        alone."""
        return self.bare.factor * BESIDE_BARE >= TO_REACH

    @property
    def to_reach(self) -> float:
        """The factor that worker processes have to reach on this machine."""
        return min(TO_REACH, self.bare.factor * BESIDE_BARE)

    @property
    def is_good(self) -> bool:
        """True if worker processes reach it, and the machine lets that be seen."""
        return self.bare.factor >= LEAST_BARE and self.workers.factor >= self.to_reach

    def verdict(self) -> str:
        """Return what the figures show."""
        bare = f"two bare processes do {self.bare.factor:.2f} times one"
        if self.machine_gives_it:
            return f"{bare}, so workers are to reach {TO_REACH}"
        if self.bare.factor < LEAST_BARE:
            return f"{bare}, so this run shows nothing: the machine has no second core to give"
        aim = f"{self.to_reach:.2f}, {BESIDE_BARE} of that"
        return f"{bare}, so this run cannot show {TO_REACH}; workers are to reach {aim}"

    def row(self) -> str:
        """Return a line of the table."""
        workers, bare = self.workers, self.bare
        return (
            f"{self.store:<10}{self.jobs:>6}"
            f"{statistics.median(workers.one_process):>8.1f}{statistics.median(workers.two_processes):>8.1f}"
            f"{workers.factor:>8.2f}{bare.factor:>8.2f}{workers.factor / bare.factor:>8.2f}"
            f"{self.to_reach:>10.2f}"
        )


def measure(store: StoreKind, jobs: int, limit: int, runs: int) -> Figures:
    """Let one process and two empty a queue, and as many bare ones compute, in turns."""
    job = {"type": "bench.compute", "args": [limit], "options": {"queue": QUEUE}}
    found = Figures(store, jobs, Rates(), Rates())
    for _ in range(runs):
        for workers in (1, 2):
            found.bare.of(workers).append(compute_bare(workers, limit))
            with database(store) as address, running("ojs_server", address) as served:
                client = Client(served.port)
                fill(client, jobs, job)
                options = ("--workers", str(workers), "--concurrency", str(CONCURRENCY))
                with working(served.port, *options, target="benchmarks.prefork:worker"):
                    found.workers.of(workers).append(watch(client, jobs))
    return found


def compute_bare(processes: int, limit: int) -> float:
    """Compute in processes that do nothing else; returns how often in a second."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, context.Barrier(processes).wait) as pool:
        return sum(pool.map(rate, [limit] * processes, chunksize=1))


def rate(limit: int) -> float:
    """Compute for a while without a word to anybody; returns how often in a second."""
    count, begun = 0, time.perf_counter()
    while (took := time.perf_counter() - begun) < BARE_S:
        primes(limit)
        count += 1
    return count / took


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefork", description=__doc__)
    parser.add_argument("--jobs", type=int, default=300, help="jobs in each run")
    parser.add_argument("--limit", type=int, default=15_000, help="how much each computes")
    parser.add_argument("--runs", type=int, default=3, help="the median counts")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    parser.add_argument("--check", action="store_true", help="fail where two do too little")
    given = parser.parse_args(arguments)
    stores: Sequence[StoreKind] = given.store or STORES
    found = [measure(store, given.jobs, given.limit, given.runs) for store in stores]
    print(
        f"{'store':<10}{'jobs':>6}{'one':>8}{'two':>8}{'factor':>8}{'bare':>8}{'of bare':>8}"
        f"{'to reach':>10}"
    )
    for result in found:
        print(result.row())
        print(f"  {result.verdict()}")
    write_down("prefork", found)
    return int(given.check and not all(result.is_good for result in found))


if __name__ == "__main__":
    sys.exit(main())
