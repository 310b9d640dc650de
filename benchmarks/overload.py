"""Load the server with twice its capacity: measure served requests, latencies, and recovery.

python -m benchmarks.overload [--seconds N] [--waiting N] [--store sqlite|postgres]
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from benchmarks import connections
from benchmarks.connections import Answer, Line, lines
from benchmarks.stand import STORES, StoreKind, database, running, write_down

CLOSED: Final = 32
OPEN: Final = 800
TICK_S: Final = 0.005
AFTER: Final = 50
FLOODS: Final = (2, 4, 8)
# Least share of refused requests that counts as a flood.
REFUSED: Final = 0.2


class Figures(msgspec.Struct, frozen=True):
    """The results of one store; latencies in milliseconds, of requests that were served."""

    store: StoreKind
    waiting_at_most: int
    capacity_per_s: float
    requested_per_s: float
    served_per_s: float
    refused_per_s: float
    # Refusals without Retry-After, and answers that are neither 201 nor 503.
    wrong: int
    p50_ms: float
    p99_ms: float
    after_p50_ms: float
    after_worst_ms: float


class Flood:
    """Requests at a constant rate, independent of the answers."""

    def __init__(self, opened: Sequence[Line]) -> None:
        self._free = list(opened)
        self._under_way: set[asyncio.Future[Answer]] = set()
        self.took: list[float] = []
        self.requested = self.refused = self.wrong = 0

    async def run(self, per_s: float, seconds: float) -> None:
        """Send at this rate; a request that finds no free connection is not sent."""
        begun = time.perf_counter()
        due = 0.0
        while (passed := time.perf_counter() - begun) < seconds:
            while due < passed * per_s:
                due += 1
                if self._free:
                    self._ask(self._free.pop())
            await asyncio.sleep(TICK_S)

    async def end(self) -> None:
        """Wait until all requests are answered."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _ask(self, line: Line) -> None:
        self.requested += 1
        begun = time.perf_counter()

        def answered(future: "asyncio.Future[Answer]") -> None:
            self._free.append(line)
            self._under_way.discard(future)
            answer = future.result()
            if answer.status == 201:
                self.took.append((time.perf_counter() - begun) * 1000)
            elif answer.status == 503 and b"retry-after" in answer.head.lower():
                self.refused += 1
            else:
                self.wrong += 1

        request = line.ask(connections.ENQUEUE, connections.job("flood"))
        self._under_way.add(request)
        request.add_done_callback(answered)


async def capacity(port: int, seconds: float) -> float:
    """Requests in a second of connections that each wait for their answer."""
    async with lines(port, CLOSED) as opened:
        end = time.perf_counter() + seconds

        async def produce(line: Line) -> int:
            done = 0
            while time.perf_counter() < end:
                await line.call(connections.ENQUEUE, connections.job("calm"))
                done += 1
            return done

        return sum(await asyncio.gather(*map(produce, opened))) / seconds


async def measure(store: StoreKind, port: int, seconds: float, waiting: int) -> Figures:
    """Find the capacity, load with at least twice as much, and watch the recovery."""
    able = await capacity(port, seconds)
    flood = Flood(())
    async with lines(port, OPEN) as opened, lines(port, 1) as (calm,):
        for times in FLOODS:
            flood = Flood(opened)
            await flood.run(times * able, seconds)
            # With fewer refusals the measured capacity was too low: try the next factor.
            if flood.refused > flood.requested * REFUSED:
                break
            await flood.end()
        after = []
        for _ in range(AFTER):
            begun = time.perf_counter()
            await calm.ask(connections.ENQUEUE, connections.job("after"))
            after.append((time.perf_counter() - begun) * 1000)
    cuts = statistics.quantiles(flood.took, n=100)
    return Figures(
        store=store,
        waiting_at_most=waiting,
        capacity_per_s=able,
        requested_per_s=flood.requested / seconds,
        served_per_s=len(flood.took) / seconds,
        refused_per_s=flood.refused / seconds,
        wrong=flood.wrong,
        p50_ms=cuts[49],
        p99_ms=cuts[98],
        after_p50_ms=statistics.median(after),
        after_worst_ms=max(after),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the figures down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overload", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="calm, and as long in flood")
    parser.add_argument("--waiting", type=int, default=256, help="requests that may wait")
    parser.add_argument("--store", choices=STORES, action="append", help="only this one")
    given = parser.parse_args(arguments)
    found = []
    bound = ("--max-waiting", str(given.waiting))
    for store in given.store or STORES:
        with database(store) as address, running("ojs_server", address, *bound) as served:
            found.append(asyncio.run(measure(store, served.port, given.seconds, given.waiting)))
    for run in found:
        print(
            f"{run.store}: can {run.capacity_per_s:,.0f}/s, got {run.requested_per_s:,.0f}/s, "
            f"served {run.served_per_s:,.0f}/s, refused {run.refused_per_s:,.0f}/s, wrongly "
            f"{run.wrong}; served in {run.p50_ms:.0f} ms (p50), {run.p99_ms:.0f} ms (p99); "
            f"afterwards in {run.after_p50_ms:.1f} ms, at worst {run.after_worst_ms:.0f} ms"
        )
    write_down("overload", found)


if __name__ == "__main__":
    main()
