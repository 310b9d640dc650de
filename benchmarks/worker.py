"""Measure how many empty jobs one worker process runs in a second, on both stores, and other
systems beside it: procrastinate on the same PostgreSQL, dramatiq if there is a Redis.

python -m benchmarks.worker [--jobs N] [--concurrency N] [--runs N] [--store sqlite|postgres]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from benchmarks import peers
from benchmarks.stand import STORES, Client, StoreKind, database, running, write_down

BATCH: Final = 1000
QUEUE: Final = "bench"
LIMIT_S: Final = 120.0
LOOK_S: Final = 0.05
NOOP: Final = {"type": "test.noop", "args": [1], "options": {"queue": QUEUE}}
TO_REACH: Final[dict[StoreKind, int]] = {"sqlite": 4000, "postgres": 3000}


class Figures(msgspec.Struct, frozen=True):
    """The results of one worker process; of several runs the median counts."""

    worker: str
    store: str
    jobs: int
    concurrency: int
    jobs_per_s: float
    runs: list[float]
    to_reach: int | None = None


def measure(store: StoreKind, jobs: int, concurrency: int, runs: int) -> Figures:
    """Let one worker process empty a queue, a few times."""
    found = []
    for _ in range(runs):
        with database(store) as address, running("ojs_server", address) as served:
            client = Client(served.port)
            fill(client, jobs)
            with working(served.port, "--concurrency", str(concurrency)):
                found.append(watch(client, jobs))
    return Figures(
        worker="ojs-worker",
        store=store,
        jobs=jobs,
        concurrency=concurrency,
        jobs_per_s=statistics.median(found),
        runs=found,
        to_reach=TO_REACH[store],
    )


def fill(client: Client, jobs: int, job: dict[str, Any] = NOOP) -> None:
    """Enqueue all jobs before a worker starts."""
    for start in range(0, jobs, BATCH):
        client.call("POST", "/ojs/v1/jobs/batch", {"jobs": [job] * min(BATCH, jobs - start)})


@contextmanager
def working(port: int, *options: str, target: str = "ojs_worker.demo:worker") -> Iterator[None]:
    """Run the worker program, unless it is told otherwise with a handler that does nothing."""
    command = (sys.executable, "-m", "ojs_worker", "run", target)
    usual = ("--url", f"http://127.0.0.1:{port}", "--queues", QUEUE, "--log-level", "warning")
    own = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    process = subprocess.Popen([*command, *usual, *options], env=own)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def watch(client: Client, jobs: int) -> float:
    """Jobs in a second, from the first that are seen done to the last."""
    begun = time.perf_counter()
    first: tuple[float, int] | None = None
    while (now := time.perf_counter()) - begun < LIMIT_S:
        stats = client.call("GET", f"/ojs/v1/queues/{QUEUE}/stats")
        done = int(stats["stats"]["completed"])
        if done >= jobs:
            assert first is not None, "all were done before one look; use more jobs"
            return (done - first[1]) / (now - first[0])
        if done and first is None:
            first = now, done
        time.sleep(LOOK_S)
    raise RuntimeError(f"after {LIMIT_S:.0f} s the jobs were not all done")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker", description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs in each run")
    parser.add_argument("--concurrency", type=int, default=100, help="jobs at once")
    parser.add_argument("--runs", type=int, default=3, help="the median counts")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    parser.add_argument("--alone", action="store_true", help="nobody beside")
    given = parser.parse_args(arguments)
    stores: Sequence[StoreKind] = given.store or STORES
    found = [measure(store, given.jobs, given.concurrency, given.runs) for store in stores]
    if not given.alone:
        for peer in peers.ALL:
            if why := peer.missing():
                print(f"{peer.name} was not measured: {why}")
                continue
            rate = peer.measure(given.concurrency)
            found.append(Figures(peer.name, peer.store, peer.jobs, given.concurrency, rate, [rate]))
    print(f"{'worker':<15}{'store':<10}{'jobs':>8}{'at once':>9}{'jobs/s':>9}   to reach")
    for result in found:
        goal = f"{result.to_reach:,}" if result.to_reach else ""
        print(
            f"{result.worker:<15}{result.store:<10}{result.jobs:>8,}{result.concurrency:>9}"
            f"{result.jobs_per_s:>9,.0f}   {goal}"
        )
    write_down("worker", found)


if __name__ == "__main__":
    main()
