"""Measure jobs a second by the number of connections: enqueue, fetch and ack at once, both
stores.

python -m benchmarks.concurrency --load PROGRAM [--jobs N] [--connections 2,8,32,128]
"""

import argparse
from collections.abc import Sequence

import msgspec

from benchmarks.plot import Axis, draw
from benchmarks.stand import STORES, StoreKind, database, running, write_down
from benchmarks.throughput import needs_load_generator, run

PHASE = "lifecycle"


class Figures(msgspec.Struct, frozen=True):
    """The result for one number of connections."""

    store: StoreKind
    connections: int
    jobs_per_s: float
    cpu_us: float


def measure(program: str, store: StoreKind, connections: int, jobs: int) -> Figures:
    """One run on a fresh store."""
    with database(store) as address, running("ojs_server", address) as served:
        sample = run(program, served, address, jobs, connections, (PHASE,))[PHASE]
    return Figures(store, connections, sample.jobs_per_s, sample.cpu_us)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, write the figures down and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.concurrency", description=__doc__)
    needs_load_generator(parser)
    parser.add_argument("--jobs", type=int, default=4000, help="in each run")
    parser.add_argument("--connections", default="2,8,32,128", help="how many, with commas")
    given = parser.parse_args(arguments)
    counts = [int(count) for count in given.connections.split(",")]
    found = [measure(given.load, store, count, given.jobs) for count in counts for store in STORES]
    for row in found:
        print(f"{row.store:<10}{row.connections:>5} connections{row.jobs_per_s:>8,.0f} jobs/s")
    write_down("concurrency", found)
    draw(
        "concurrency",
        "Jobs through all their states over connections",
        Axis("connections", "log"),
        Axis("jobs/s"),
        {
            store: [
                (result.connections, result.jobs_per_s) for result in found if result.store == store
            ]
            for store in STORES
        },
    )


if __name__ == "__main__":
    main()
