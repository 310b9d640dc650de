"""Event streams under load: 500 clients of server-sent events and 50 WebSockets, each on a queue
or on all, while jobs pass through the server. None may miss a step of a job, or see two in the
wrong order, and the server's memory must stay bounded.

python -m benchmarks.streams [--rate N] [--seconds S] [--store sqlite|postgres]
"""

import argparse
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.following import ALL, Seen, Target, follow
from benchmarks.stand import STORES, Client, Served, StoreKind, database, running, write_down

BATCH: Final = 100
PRODUCERS: Final = 2
WORKERS: Final = 4
# Time limit for the rest of the work if a machine cannot keep the rate.
LIMIT_S: Final = 30.0
# Time limit for the last events to reach all clients.
REST_S: Final = 10.0
PROCESSES: Final = 2
# Limit of the growth of memory after all streams are open.
GROWTH_MB: Final = 200


class Figures(msgspec.Struct, frozen=True):
    """One run."""

    store: str
    streams: int
    sockets: int
    jobs: int
    jobs_per_s: float
    events: int
    missing: int
    out_of_order: int
    reported_lost: int
    late_p50_ms: float
    late_p99_ms: float
    cpu_ms: float
    memory_before_mb: float
    memory_peak_mb: float

    @property
    def sound(self) -> bool:
        """True if all events came, in order, and memory stayed bounded."""
        bounded = self.memory_peak_mb < self.memory_before_mb + GROWTH_MB
        return bounded and not (self.missing or self.out_of_order or self.reported_lost)


class Work:
    """Producers at a constant rate, and workers that settle what they fetch, each in a thread."""

    def __init__(self, port: int, queues: Sequence[str], rate: int, seconds: float) -> None:
        self.jobs: Counter[str] = Counter()
        self.took_s = 0.0
        self._port, self._queues = port, queues
        self._every_s, self._seconds = BATCH * PRODUCERS / rate, seconds

    def run(self) -> None:
        """Produce for the given time, and go on until every job is completed."""
        begun = time.monotonic()
        with ThreadPoolExecutor(PRODUCERS + WORKERS) as pool:
            producers = [pool.submit(self._produce, part) for part in range(PRODUCERS)]
            workers = [pool.submit(self._work, part, producers) for part in range(WORKERS)]
            for made in producers:
                self.jobs += made.result()
            for worker in workers:
                worker.result()
        self.took_s = time.monotonic() - begun

    def _produce(self, part: int) -> Counter[str]:
        client, made = Client(self._port), Counter[str]()
        begun = time.monotonic()
        number = 0
        while (now := time.monotonic() - begun) < self._seconds:
            time.sleep(max(0.0, number * self._every_s - now))
            first = (number * PRODUCERS + part) * BATCH
            names = [self._queues[n % len(self._queues)] for n in range(first, first + BATCH)]
            jobs = [{"type": "bench", "args": [], "options": {"queue": name}} for name in names]
            client.call("POST", "/ojs/v1/jobs/batch", {"jobs": jobs})
            made.update(names)
            number += 1
        return made

    def _work(self, part: int, producers: Sequence[Future[Counter[str]]]) -> None:
        client = Client(self._port)
        terms = {"queues": self._queues[part::WORKERS], "count": BATCH, "wait_ms": 100}
        results: list[dict[str, object]] = []
        deadline = time.monotonic() + self._seconds + LIMIT_S
        over = False
        while results or not over:
            # Read before the FETCH, which finds all jobs that were produced until now.
            over = all(producer.done() for producer in producers)
            body = {"worker_id": f"bench-{part}", "results": results, "fetch": terms}
            jobs = client.call("POST", "/ojs/v1/workers/settle", body)["jobs"]
            results = [
                {"job_id": job["id"], "attempt": job["attempt"], "outcome": "ack"} for job in jobs
            ]
            if time.monotonic() > deadline:
                raise RuntimeError(f"{LIMIT_S:.0f} s later the jobs were not all done")


class Memory:
    """Samples the memory of a process, as Linux reports it."""

    def __init__(self, process: int) -> None:
        self._file = Path(f"/proc/{process}/statm")
        self._stopped = threading.Event()
        self.before_mb = self.peak_mb = self._now_mb()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.2):
            self.peak_mb = max(self.peak_mb, self._now_mb())

    def _now_mb(self) -> float:
        return int(self._file.read_text(encoding="utf-8").split()[1]) * 4096 / 1e6


def clients(streams: int, sockets: int, whole: int, queues: Sequence[str]) -> list[Target]:
    """Streams and sockets, spread over the queues; some streams follow everything."""
    return [
        *(Target(False, ALL) for _ in range(whole)),
        *(Target(False, queues[number % len(queues)]) for number in range(streams - whole)),
        *(Target(True, queues[number % len(queues)]) for number in range(sockets)),
    ]


def measure(served: Served, targets: Sequence[Target], work: Work, store: str) -> Figures:
    """Connect all clients, run the jobs, and collect what the clients saw."""
    spawn = multiprocessing.get_context("spawn")
    ways: list[Connection] = []
    processes = []
    for part in range(PROCESSES):
        here, there = spawn.Pipe()
        process = spawn.Process(target=follow, args=(served.port, targets[part::PROCESSES], there))
        process.start()
        there.close()
        ways.append(here)
        processes.append(process)
    try:
        for way in ways:
            assert way.recv() == "ready"
        memory, cpu_s = Memory(served.process), served.cpu_s()
        try:
            work.run()
            for way in ways:
                way.send((dict(work.jobs), REST_S))
            seen: list[Seen] = [way.recv() for way in ways]
        finally:
            memory.stop()
        cpu_s = served.cpu_s() - cpu_s
    finally:
        for process in processes:
            process.terminate()
            process.join()
    return Figures(
        store=store,
        streams=sum(not target.socket for target in targets),
        sockets=sum(target.socket for target in targets),
        jobs=work.jobs.total(),
        jobs_per_s=work.jobs.total() / work.took_s,
        events=sum(report.events for report in seen),
        missing=sum(report.missing for report in seen),
        out_of_order=sum(report.out_of_order for report in seen),
        reported_lost=sum(report.reported_lost for report in seen),
        late_p50_ms=max(report.late_p50_ms for report in seen),
        late_p99_ms=max(report.late_p99_ms for report in seen),
        cpu_ms=cpu_s * 1000 / work.jobs.total(),
        memory_before_mb=memory.before_mb,
        memory_peak_mb=memory.peak_mb,
    )


def show(found: Sequence[Figures]) -> None:
    """Print runs as a table."""
    print(
        f"{'store':<10}{'streams':>8}{'sockets':>8}{'jobs/s':>8}{'told':>11}{'missing':>8}"
        f"{'disorder':>9}{'dropped':>8}{'p50 ms':>8}{'p99 ms':>8}{'CPU ms/job':>12}   memory"
    )
    for result in found:
        print(
            f"{result.store:<10}{result.streams:>8}{result.sockets:>8}{result.jobs_per_s:>8,.0f}"
            f"{result.events:>11,}{result.missing:>8}{result.out_of_order:>9}{result.reported_lost:>8}"
            f"{result.late_p50_ms:>8.0f}{result.late_p99_ms:>8.0f}{result.cpu_ms:>12.3f}"
            f"   {result.memory_before_mb:.0f} to {result.memory_peak_mb:.0f} MB"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where something was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--rate", type=int, default=2000, help="jobs in a second")
    parser.add_argument("--seconds", type=float, default=10, help="for so long")
    parser.add_argument("--streams", type=int, default=500, help="clients of server-sent events")
    parser.add_argument("--sockets", type=int, default=50, help="WebSockets")
    parser.add_argument("--whole", type=int, default=1, help="streams that follow everything")
    parser.add_argument("--queues", type=int, default=100, help="that the others follow, each one")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    stores: Sequence[StoreKind] = given.store or STORES
    queues = [f"bench-{number}" for number in range(given.queues)]
    targets = clients(given.streams, given.sockets, given.whole, queues)
    found = []
    for store in stores:
        with database(store) as address, running("ojs_server", address) as served:
            for queue in queues:
                # Only an existing queue has an event stream.
                Client(served.port).call("PUT", f"/ojs/v1/queues/{queue}/config", {})
            work = Work(served.port, queues, given.rate, given.seconds)
            found.append(measure(served, targets, work, store))
    show(found)
    write_down("streams", found)
    return 0 if all(result.sound for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
