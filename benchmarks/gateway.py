"""Measure Zeebe's gateway on both stores: the cost of waiting workers, and the delay of jobs.

python -m benchmarks.gateway [--waiting N] [--jobs N] [--seconds S]
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Sequence
from typing import Any, Final, TypeVar

import httpx
import msgspec
from grpc import aio

from benchmarks.stand import STORES, Served, StoreKind, database, running, write_down
from ojs_server.grpc.proto import zeebe_pb2 as pb

_ACTIVATE: Final = "/gateway_protocol.Gateway/ActivateJobs"
_COMPLETE: Final = "/gateway_protocol.Gateway/CompleteJob"
# Limits of the share of a core that waiting workers take, and of the median delay of jobs in
# medians of a FETCH over HTTP that waits in the same run.
MOST_IDLE: Final = 0.02
MOST_RATIO: Final = 2.0
# Time in which all workers have begun to wait.
_SETTLED_S: Final = 2.0
_LONG_MS: Final = 300_000

Taken = TypeVar("Taken")


class Figures(msgspec.Struct, frozen=True):
    """The share of a core that waiting calls took, and the delay of jobs since their enqueue, by
    the gateway and by HTTP."""

    store: StoreKind
    waiting: int
    idle_share: float
    jobs: int
    p50_ms: float
    p99_ms: float
    http_p50_ms: float

    @property
    def ratio(self) -> float:
        """Return the median delay by the gateway in those by HTTP."""
        return self.p50_ms / self.http_p50_ms


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


async def _delay_ms(worker: Awaitable[Taken], client: httpx.AsyncClient) -> tuple[Taken, float]:
    """Enqueue a job for a worker that waits; return what it is handed, and the delay."""
    waiting = asyncio.ensure_future(worker)
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    enqueuing = asyncio.ensure_future(
        client.post("/ojs/v1/jobs", json={"type": "pay", "args": [1]})
    )
    taken = await waiting
    delay_ms = (time.perf_counter() - began) * 1000
    (await enqueuing).raise_for_status()
    return taken, delay_ms


async def delays_ms(served: Served, gateway: Gateway, jobs: int) -> tuple[list[float], list[float]]:
    """Return the delays of jobs to a worker that waited for them, by the gateway and by HTTP in
    turns."""
    ours: list[float] = []
    http: list[float] = []
    url = f"http://127.0.0.1:{served.port}"
    async with (
        httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client,
        httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as worker,
    ):
        fetch = {"queues": ["default"], "worker_id": "http", "wait_ms": 30_000}
        for _ in range(jobs):
            batch, delay = await _delay_ms(gateway.waiting("pay").read(), client)
            ours.append(delay)
            await gateway.complete(batch.jobs[0].key)
            answer, delay = await _delay_ms(
                worker.post("/ojs/v1/workers/fetch", json=fetch), client
            )
            http.append(delay)
            (job,) = answer.raise_for_status().json()["jobs"]
            ack = {"job_id": job["id"], "worker_id": "http"}
            (await client.post("/ojs/v1/workers/ack", json=ack)).raise_for_status()
    return ours, http


def measure(store: StoreKind, waiting: int, jobs: int, seconds: float) -> Figures:
    """One run on a fresh store."""

    async def play(served: Served) -> tuple[float, tuple[list[float], list[float]]]:
        async with aio.insecure_channel(f"127.0.0.1:{served.grpc}") as channel:
            gateway = Gateway(channel)
            share = await idle_share(served, gateway, waiting, seconds)
            return share, await delays_ms(served, gateway, jobs)

    options = ("--profile", "zeebe", "--grpc-port", "0")
    with database(store) as address, running("ojs_server", address, *options) as served:
        share, (ours, http) = asyncio.run(play(served))
    p50, p99 = statistics.median(ours), statistics.quantiles(ours, n=100)[98]
    return Figures(store, waiting, share, jobs, p50, p99, statistics.median(http))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where a bound is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--waiting", type=int, default=100, help="calls that wait")
    parser.add_argument("--jobs", type=int, default=200, help="that come one by one")
    parser.add_argument("--seconds", type=float, default=20, help="for which calls wait")
    given = parser.parse_args(arguments)
    found = [measure(store, given.waiting, given.jobs, given.seconds) for store in STORES]
    for result in found:
        print(
            f"{result.store:<10}{result.waiting:>5} waiting {result.idle_share:>7.2%} of a core   "
            f"{result.jobs:>4} jobs  p50 {result.p50_ms:.1f} ms  p99 {result.p99_ms:.1f} ms   "
            f"{result.ratio:.1f} x a FETCH over HTTP ({result.http_p50_ms:.1f} ms)"
        )
    write_down("gateway", found)
    kept = all(result.idle_share < MOST_IDLE and result.ratio < MOST_RATIO for result in found)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
