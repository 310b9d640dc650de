"""Worker processes that empty a queue, and other systems beside them."""

import asyncio
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from benchmarks import peers as systems
from benchmarks.connections import fill, lines
from benchmarks.stand import StoreKind, Values, cpu_s, serving
from ojs_worker import Worker

QUEUE: Final = "bench"
LIMIT_S: Final = 120.0
LOOK_S: Final = 0.05
# Least throughput of two processes, as a multiple of that of one; and as a share of that of two
# bare processes, on a machine where these reach less.
TO_REACH: Final = 1.6
BESIDE_BARE: Final = 0.9
BARE_S: Final = 5.0

computing = Worker()


@computing.job("bench.compute", queue=QUEUE)
def compute(limit: int) -> int:
    """Count primes in a thread, which holds Python's lock."""
    return primes(limit)


def primes(limit: int) -> int:
    """Count primes."""
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


async def worker(
    store: StoreKind, jobs: int = 20_000, concurrency: int = 100, runs: int = 3
) -> Values:
    """One worker process with a handler that does nothing."""
    noop = {"type": "test.noop", "args": [1], "options": {"queue": QUEUE}}
    options = ("ojs_worker.demo:worker", "--concurrency", str(concurrency))
    found = [await _emptied(store, jobs, noop, *options) for _ in range(runs)]
    return {"jobs/s": statistics.median(one.rate for one in found)}


async def transport(
    store: StoreKind, jobs: int = 20_000, concurrency: int = 10, runs: int = 5
) -> Values:
    """One worker process over the HTTP client of the SDK and over httpx, in turns."""
    noop = {"type": "test.noop", "args": [1], "options": {"queue": QUEUE}}
    options = ("ojs_worker.demo:worker", "--concurrency", str(concurrency))
    # A URL with a user name is left to httpx.
    users = {"direct": "", "httpx": "bench@"}
    found: dict[str, list[Emptied]] = {name: [] for name in users}
    for _ in range(runs):
        for name, user in users.items():
            found[name].append(await _emptied(store, jobs, noop, *options, user=user))
    return {
        f"{name}, {unit}": statistics.median(getattr(one, member) for one in found[name])
        for name in users
        for unit, member in (("jobs/s", "rate"), ("CPU of the worker, µs/job", "cpu_us"))
    }


def peers(_store: StoreKind, concurrency: int = 100) -> Values:
    """One worker process of other systems, with their own storage."""
    found = {}
    for peer in systems.ALL:
        if why := peer.missing():
            print(f"{peer.name} was not measured: {why}")
        else:
            found[f"{peer.name} on {peer.store}, jobs/s"] = peer.measure(concurrency)
    return found


class Rates(msgspec.Struct, frozen=True):
    """The jobs in a second of one process and of two, in runs that followed each other."""

    one: list[float] = []
    two: list[float] = []

    def of(self, processes: int) -> list[float]:
        """Return the runs of so many processes."""
        return self.one if processes == 1 else self.two

    @property
    def factor(self) -> float:
        """Ratio of the rate of two to that of one: the median of the runs, because what a
        shared machine gives changes."""
        return statistics.median(two / one for one, two in zip(self.one, self.two, strict=True))


async def prefork(store: StoreKind, jobs: int = 300, limit: int = 15_000, runs: int = 3) -> Values:
    """Two worker processes that compute beside one, in turns with bare processes of Python that
    compute the same, as cores that are shared do not give them twice."""
    job = {"type": "bench.compute", "args": [limit], "options": {"queue": QUEUE}}
    workers, bare = Rates(), Rates()
    for _ in range(runs):
        for count in (1, 2):
            bare.of(count).append(_bare(count, limit))
            options = ("benchmarks.budgets.workers:computing", "--workers", str(count))
            found = await _emptied(store, jobs, job, *options, "--concurrency", "4")
            workers.of(count).append(found.rate)
    return compared(workers, bare)


def compared(workers: Rates, bare: Rates) -> Values:
    """Return what two processes do in a multiple of one, and in that of what they are to reach:
    1.6, or less on a machine that does not give bare processes so much."""
    return {
        "one, jobs/s": statistics.median(workers.one),
        "two, jobs/s": statistics.median(workers.two),
        "two to one": workers.factor,
        # A machine without a second core to give shows nothing, and this is too low.
        "two bare to one": bare.factor,
        "two to one, in what is to reach here": workers.factor
        / min(TO_REACH, bare.factor * BESIDE_BARE),
    }


class Emptied(msgspec.Struct, frozen=True):
    """The jobs in a second of a worker program, and its own processor time for one."""

    rate: float
    cpu_us: float


async def _emptied(
    store: StoreKind, jobs: int, job: dict[str, Any], *options: str, user: str = ""
) -> Emptied:
    """Measure a worker program from the first jobs that are seen done."""
    with serving(store) as served:
        async with lines(served.port, 1) as (line,):
            await fill(line, jobs, job)
            with _working(f"http://{user}127.0.0.1:{served.port}", *options) as process:
                begun = time.perf_counter()
                first: tuple[float, int, float] | None = None
                while (now := time.perf_counter()) - begun < LIMIT_S:
                    path = f"/ojs/v1/queues/{QUEUE}/stats"
                    stats = await line.call(path, method="GET")
                    count = int(stats["stats"]["completed"])
                    if count >= jobs:
                        assert first is not None, "all were done before one look; use more jobs"
                        since, seen, spent_s = first
                        cpu_us = (cpu_s(process) - spent_s) / (count - seen) * 1e6
                        return Emptied((count - seen) / (now - since), cpu_us)
                    if count and first is None:
                        first = now, count, cpu_s(process)
                    await asyncio.sleep(LOOK_S)
    raise RuntimeError(f"after {LIMIT_S:.0f} s the jobs were not all done")


@contextmanager
def _working(url: str, *options: str) -> Iterator[int]:
    """Run a worker program, and yield the id of its process."""
    command = (sys.executable, "-m", "ojs_worker", "run", *options, "--queues", QUEUE)
    usual = ("--url", url, "--log-level", "warning")
    own = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    process = subprocess.Popen([*command, *usual], env=own)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _bare(processes: int, limit: int) -> float:
    """Compute in processes that do nothing else; return how often in a second."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, context.Barrier(processes).wait) as pool:
        return sum(pool.map(rate, [limit] * processes, chunksize=1))


def rate(limit: int) -> float:
    """Compute for a while without a word to anybody; return how often in a second."""
    count, begun = 0, time.perf_counter()
    while (took := time.perf_counter() - begun) < BARE_S:
        primes(limit)
        count += 1
    return count / took
