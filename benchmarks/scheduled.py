"""Measure a million scheduled jobs: the speed of promotion, and the cost of FETCH meanwhile.

python -m benchmarks.scheduled [--jobs N] [--due N] [--store sqlite|postgres]
"""

import argparse
import statistics
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from benchmarks.stand import STORES, Client, StoreKind, database, running, timed, write_down

BATCH: Final = 1000
SAMPLES: Final = 300
# Time in which the last batch is stored, before its jobs are due.
LEAD_S: Final = 5.0
LIMIT_S: Final = 60.0


class Figures(msgspec.Struct, frozen=True):
    """The results of one store; latencies are the medians of FETCH in milliseconds."""

    store: StoreKind
    scheduled: int
    due: int
    filled_per_s: float
    fetch_empty_ms: float
    fetch_full_ms: float
    fetch_meanwhile_ms: float
    promoted_s: float


def measure(store: StoreKind, jobs: int, due: int) -> Figures:
    """Fill a fresh store, wait for the moment, and watch."""
    with database(store) as address, running("ojs_server", address) as served:
        client = Client(served.port)
        fetches(client, 50)
        empty = fetches(client, SAMPLES)
        begun = time.perf_counter()
        far = datetime.now(UTC) + timedelta(days=1)
        for start in range(0, jobs - due, BATCH):
            schedule(client, "later", far + timedelta(milliseconds=start), BATCH)
        filled = (jobs - due) / (time.perf_counter() - begun)
        full = fetches(client, SAMPLES)
        moment = datetime.now(UTC) + timedelta(seconds=LEAD_S)
        for _ in range(0, due, BATCH):
            schedule(client, "due", moment, BATCH)
        if datetime.now(UTC) >= moment:
            raise RuntimeError("storing the due jobs took until they were due; use fewer")
        background = Background(served.port)
        promoted = watch(client, moment, due)
        return Figures(
            store=store,
            scheduled=jobs,
            due=due,
            filled_per_s=filled,
            fetch_empty_ms=statistics.median(empty),
            fetch_full_ms=statistics.median(full),
            fetch_meanwhile_ms=statistics.median(background.stop(moment.timestamp())),
            promoted_s=promoted,
        )


def schedule(client: Client, queue: str, moment: datetime, count: int) -> None:
    """One batch of jobs for a moment."""
    job = {
        "type": "bench.scheduled",
        "args": [1],
        "options": {"queue": queue, "scheduled_at": moment.isoformat()},
    }
    client.call("POST", "/ojs/v1/jobs/batch", {"jobs": [job] * count})


def fetches(client: Client, count: int) -> list[float]:
    """Milliseconds of FETCHes that each find a job."""
    return [fetch(client) for _ in range(count)]


def fetch(client: Client) -> float:
    """One job through all its states; the time of its FETCH alone."""
    client.call("POST", "/ojs/v1/jobs", {"type": "bench.now", "args": [], "queue": "now"})
    found: list[Any] = []
    took = timed(
        lambda: found.extend(
            client.call("POST", "/ojs/v1/workers/fetch", {"queues": ["now"], "count": 1})["jobs"]
        )
    )
    client.call("POST", "/ojs/v1/workers/ack", {"job_id": found[0]["id"]})
    return took


def watch(client: Client, moment: datetime, due: int) -> float:
    """Return the seconds until the last of the due jobs is available."""
    time.sleep(max(0.0, moment.timestamp() - time.time()))
    while (passed := time.time() - moment.timestamp()) < LIMIT_S:
        stats = client.call("GET", "/ojs/v1/queues/due/stats")
        if stats["stats"]["available"] >= due:
            return time.time() - moment.timestamp()
        time.sleep(0.01)
    raise RuntimeError(f"after {passed:.0f} s the jobs were not all available")


class Background:
    """Fetches that go on while others are promoted."""

    def __init__(self, port: int) -> None:
        self._took: list[tuple[float, float]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(Client(port),))
        self._thread.start()

    def stop(self, since: float) -> list[float]:
        """The times of those made since a moment."""
        self._stopped.set()
        self._thread.join()
        return [took for at, took in self._took if at >= since]

    def _run(self, client: Client) -> None:
        while not self._stopped.is_set():
            self._took.append((time.time(), fetch(client)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduled", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="scheduled in all")
    parser.add_argument("--due", type=int, default=10_000, help="of these, due at one moment")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    found = [measure(store, given.jobs, given.due) for store in given.store or STORES]
    print(
        f"{'store':<10}{'scheduled':>10}{'due':>8}{'stored/s':>10}{'promoted in':>13}   FETCH p50"
    )
    for row in found:
        print(
            f"{row.store:<10}{row.scheduled:>10,}{row.due:>8,}{row.filled_per_s:>10,.0f}"
            f"{row.promoted_s:>11.2f} s   {row.fetch_empty_ms:.2f} ms in an empty store, "
            f"{row.fetch_full_ms:.2f} ms beside all, {row.fetch_meanwhile_ms:.2f} ms meanwhile"
        )
    write_down("scheduled", found)


if __name__ == "__main__":
    main()
