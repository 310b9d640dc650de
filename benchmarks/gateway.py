"""Measure Zeebe's gateway on both stores: the cost of waiting workers, and the delay of jobs.

python -m benchmarks.gateway [--waiting N] [--jobs N] [--seconds S]
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import httpx
import msgspec
from grpc import aio

from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down
from ojs_server.grpc.proto import zeebe_pb2 as pb

_ACTIVATE: Final = "/gateway_protocol.Gateway/ActivateJobs"
_COMPLETE: Final = "/gateway_protocol.Gateway/CompleteJob"
# Limits of the share of a core that waiting workers take, and of the median delay of jobs.
MOST_IDLE: Final = 0.02
MOST_P50_MS: Final = 10.0
# Workers have begun to wait by then.
_SETTLED_S: Final = 2.0
_LONG_MS: Final = 300_000


class Figures(msgspec.Struct, frozen=True):
    """The share of a core that waiting calls took, and the delay of jobs since their enqueue."""

    store: StoreKind
    waiting: int
    idle_share: float
    jobs: int
    p50_ms: float
    p99_ms: float


class Gateway:
    """A client of the gateway."""

    def __init__(self, channel: aio.Channel) -> None:
        self._activate: Any = channel.unary_stream(
            _ACTIVATE,
            request_serializer=pb.ActivateJobsRequest.SerializeToString,
            response_deserializer=pb.ActivateJobsResponse.FromString,
        )
        self._complete: Any = channel.unary_unary(
            _COMPLETE,
            request_serializer=pb.CompleteJobRequest.SerializeToString,
            response_deserializer=pb.CompleteJobResponse.FromString,
        )

    def waiting(self, kind: str) -> Any:
        """A call that waits for one job of a type."""
        return self._activate(
            pb.ActivateJobsRequest(
                type=kind,
                worker="bench",
                timeout=60_000,
                maxJobsToActivate=1,
                requestTimeout=_LONG_MS,
            )
        )

    async def complete(self, key: int) -> None:
        """Complete a job."""
        await self._complete(pb.CompleteJobRequest(jobKey=key))


async def idle_share(served: Served, gateway: Gateway, waiting: int, seconds: float) -> float:
    """Return the share of a core that a server needs while a number of calls wait."""
    calls = [gateway.waiting(f"idle.t{number}") for number in range(waiting)]
    reading = [asyncio.ensure_future(call.read()) for call in calls]
    await asyncio.sleep(_SETTLED_S)
    before, began = served.cpu_s(), time.perf_counter()
    await asyncio.sleep(seconds)
    share = (served.cpu_s() - before) / (time.perf_counter() - began)
    for call in calls:
        call.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    return share


async def late_ms(served: Served, gateway: Gateway, jobs: int) -> list[float]:
    """Return the delay of each job to a worker that waited for it."""
    found = []
    url = f"http://127.0.0.1:{served.port}"
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        for _ in range(jobs):
            reading = asyncio.ensure_future(gateway.waiting("pay").read())
            await asyncio.sleep(0.02)
            began = time.perf_counter()
            body = {"type": "pay", "args": [{"n": 1}]}
            enqueuing = asyncio.ensure_future(client.post("/ojs/v1/jobs", json=body))
            batch = await reading
            found.append((time.perf_counter() - began) * 1000)
            (await enqueuing).raise_for_status()
            await gateway.complete(batch.jobs[0].key)
    return found


def measure(store: StoreKind, waiting: int, jobs: int, seconds: float) -> Figures:
    """One run on a fresh store."""

    async def play(served: Served) -> tuple[float, list[float]]:
        async with aio.insecure_channel(f"127.0.0.1:{served.grpc}") as channel:
            gateway = Gateway(channel)
            share = await idle_share(served, gateway, waiting, seconds)
            return share, await late_ms(served, gateway, jobs)

    options = ("--profile", "zeebe", "--grpc-port", "0")
    with database(store) as address, running("ojs_server", address, *options) as served:
        share, found = asyncio.run(play(served))
    p99 = statistics.quantiles(found, n=100)[98]
    return Figures(store, waiting, share, jobs, statistics.median(found), p99)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a bound is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--waiting", type=int, default=100, help="calls that wait")
    parser.add_argument("--jobs", type=int, default=200, help="that come one by one")
    parser.add_argument("--seconds", type=float, default=20, help="for which calls wait")
    given = parser.parse_args(arguments)
    found = [measure(store, given.waiting, given.jobs, given.seconds) for store in STORES]
    for one in found:
        print(
            f"{one.store:<10}{one.waiting:>5} waiting {one.idle_share:>7.2%} of a core   "
            f"{one.jobs:>4} jobs  p50 {one.p50_ms:.1f} ms  p99 {one.p99_ms:.1f} ms"
        )
    write_down("gateway", found)
    kept = all(one.idle_share < MOST_IDLE and one.p50_ms < MOST_P50_MS for one in found)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
