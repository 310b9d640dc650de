"""Other job systems on the same machine with empty jobs: one worker process each.

python -m benchmarks.peers NAME ADDRESS JOBS CONCURRENCY is such a process; it prints jobs a second.
"""

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import msgspec

from benchmarks.stand import database


class Peer(msgspec.Struct, frozen=True):
    """Another job system: its requirements, its database, and a suitable number of jobs."""

    name: str
    store: str
    jobs: int
    missing: Callable[[], str | None]
    place: Callable[[], AbstractContextManager[str]]

    def measure(self, concurrency: int) -> float:
        """Return the jobs a second of one worker process at a concurrency."""
        with self.place() as address:
            command = (sys.executable, "-m", "benchmarks.peers", self.name, address)
            output = subprocess.check_output(
                (*command, str(self.jobs), str(concurrency)), text=True, stderr=subprocess.DEVNULL
            )
        return float(output.split()[-1])


async def procrastinate(address: str, jobs: int, concurrency: int) -> float:
    """Jobs in a second of procrastinate, its coroutines on PostgreSQL."""
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=address))

    @app.task(name="noop")
    async def noop(number: int) -> None: ...

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for start in range(0, jobs, 1000):
            many: Any = [{"number": n} for n in range(start, min(start + 1000, jobs))]
            await noop.batch_defer_async(*many)
        begun = time.perf_counter()
        await app.run_worker_async(
            concurrency=concurrency, wait=False, listen_notify=False, install_signal_handlers=False
        )
        return jobs / (time.perf_counter() - begun)


async def dramatiq(address: str, jobs: int, concurrency: int) -> float:
    """Jobs in a second of dramatiq, its threads on Redis."""
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker

    broker = RedisBroker(url=address)  # type: ignore[no-untyped-call]
    dramatiq.set_broker(broker)
    left = jobs
    lock, done = threading.Lock(), threading.Event()

    @dramatiq.actor
    def noop(number: int) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left == 0:
                done.set()

    for number in range(jobs):
        noop.send(number)
    # More threads than dramatiq's default of eight make it slower.
    worker = dramatiq.Worker(broker, worker_threads=min(concurrency, 8))
    begun = time.perf_counter()
    worker.start()
    await asyncio.to_thread(done.wait)
    rate = jobs / (time.perf_counter() - begun)
    worker.stop()
    return rate


@contextmanager
def redis() -> Iterator[str]:
    """Run a Redis without persistence for the block."""
    with tempfile.TemporaryDirectory(prefix="ojs-redis-") as folder:
        socket = os.path.join(folder, "socket")
        options = ("--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder)
        process = subprocess.Popen(("redis-server", *options), stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(socket):
                if process.poll() is not None:
                    raise RuntimeError(
                        f"redis-server did not start; it exited {process.returncode}"
                    )
                time.sleep(0.02)
            yield f"unix://{socket}"
        finally:
            process.terminate()
            process.wait()


def _not_installed(module: str) -> str | None:
    if importlib.util.find_spec(module) is None:
        return "it is not installed; `make setup` does that"
    return None


def _no_redis() -> str | None:
    if shutil.which("redis-server") is None:
        return "there is no redis-server; apt-get install redis-server, or brew install redis"
    return _not_installed("dramatiq")


PROCRASTINATE: Final = Peer(
    "procrastinate",
    "postgres",
    2000,
    lambda: _not_installed("procrastinate"),
    lambda: database("postgres"),
)
DRAMATIQ: Final = Peer("dramatiq", "redis", 10_000, _no_redis, redis)
ALL: Final = (PROCRASTINATE, DRAMATIQ)


def main() -> None:
    """Measure the system that is named, in this process."""
    name, address, jobs, concurrency = sys.argv[1:]
    run = {"procrastinate": procrastinate, "dramatiq": dramatiq}[name]
    print(asyncio.run(run(address, int(jobs), int(concurrency))))


if __name__ == "__main__":
    main()
