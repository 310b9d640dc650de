"""Clients that wait, clients that beat, and clients that ask for more than a server can do."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from grpc import aio

from benchmarks.connections import (
    ACK,
    BEAT,
    ENQUEUE,
    FETCH,
    Answer,
    Line,
    delayed,
    fill,
    job,
    lines,
)
from benchmarks.stand import Served, StoreKind, Values, serving
from ojs_server.systems.zeebe.grpc.proto import zeebe_pb2 as pb

HELD: Final = 10
EVERY_S: Final = 5.0
# Time in which all workers have begun to wait.
SETTLED_S: Final = 2.0
LONG_MS: Final = 300_000
# Connections that find the capacity, and those of the flood.
CLOSED: Final = 32
OPEN: Final = 800
TICK_S: Final = 0.005
FLOODS: Final = (2, 4, 8)
# Least share of refused requests that counts as a flood.
REFUSED: Final = 0.2


class Shares(msgspec.Struct):
    """The use of a processor core, in percent."""

    server: float = 0.0
    database: float = 0.0


@asynccontextmanager
async def watched(served: Served) -> AsyncIterator[Shares]:
    """Measure the processor time used during the block."""
    shares = Shares()
    begun, server, database = time.perf_counter(), served.cpu_s(), served.database_cpu_s()
    yield shares
    passed = (time.perf_counter() - begun) / 100
    shares.server = (served.cpu_s() - server) / passed
    shares.database = (served.database_cpu_s() - database) / passed


async def steady(store: StoreKind, seconds: float = 15.0, samples: int = 200) -> Values:
    """100 workers that wait, jobs that reach one of them, and 1,000 workers that beat."""
    with serving(store) as served:
        async with lines(served.port, 100) as opened:
            terms = {"queues": ["idle"], "wait_ms": round((seconds + 5) * 1000)}
            waiting = [
                line.ask(FETCH, {**terms, "worker_id": f"i-{number}"})
                for number, line in enumerate(opened)
            ]
            await asyncio.sleep(SETTLED_S)
            async with watched(served) as idle:
                await asyncio.sleep(seconds)
            assert not any(one.done() for one in waiting)
        took = []
        async with lines(served.port, 2) as (producer, worker):
            for _ in range(samples):
                fetch = worker.call(FETCH, {"queues": ["soon"], "wait_ms": 10_000})
                delay = await delayed(fetch, producer.call(ENQUEUE, job("soon")))
                took.append(delay.since_answer_ms)
                await worker.call(ACK, {"job_id": delay.taken["jobs"][0]["id"]})
        async with lines(served.port, 100) as opened:
            beats = await _held(opened, workers=1000)
            async with watched(served) as beating:
                turns = (beats[first :: len(opened)] for first in range(len(opened)))
                await asyncio.gather(
                    *(_beat(*one, seconds) for one in zip(opened, turns, strict=True))
                )
    return {
        "100 waiting workers, server, % of a core": idle.server,
        "100 waiting workers, database, % of a core": idle.database,
        "from 201 to the worker, p50, ms": statistics.median(took),
        "1,000 workers' heartbeats, server, % of a core": beating.server,
        "1,000 workers' heartbeats, database, % of a core": beating.database,
    }


async def _held(opened: Sequence[Line], workers: int) -> list[dict[str, Any]]:
    """Let workers take ten jobs each; return their heartbeats."""
    await fill(opened[0], workers * HELD, job("held"))
    beats: list[dict[str, Any]] = []

    async def take(line: Line, numbers: Sequence[int]) -> None:
        for number in numbers:
            name = f"worker-{number}"
            terms = {"queues": ["held"], "count": HELD, "worker_id": name}
            held = [one["id"] for one in (await line.call(FETCH, terms))["jobs"]]
            assert len(held) == HELD
            beats.append({"worker_id": name, "state": "running", "active_job_ids": held})

    turns = (range(first, workers, len(opened)) for first in range(len(opened)))
    await asyncio.gather(*map(take, opened, turns))
    return beats


async def _beat(line: Line, mine: Sequence[dict[str, Any]], seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for one in mine:
            pause = asyncio.create_task(asyncio.sleep(EVERY_S / len(mine)))
            assert len((await line.call(BEAT, one))["jobs_extended"]) == HELD
            await pause


async def gateway(
    store: StoreKind, waiting: int = 100, jobs: int = 200, seconds: float = 20.0
) -> Values:
    """Calls of Zeebe's ActivateJobs that wait, and the delay of jobs by them and by HTTP."""
    with serving(store, "--profile", "zeebe", "--grpc-port", "0") as served:
        async with aio.insecure_channel(f"127.0.0.1:{served.grpc}") as channel:
            zeebe = _Gateway(channel)
            calls = [zeebe.activate(f"idle.t{number}") for number in range(waiting)]
            reading = [asyncio.ensure_future(call.read()) for call in calls]
            await asyncio.sleep(SETTLED_S)
            async with watched(served) as idle:
                await asyncio.sleep(seconds)
            for call in calls:
                call.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            ours: list[float] = []
            http: list[float] = []
            async with lines(served.port, 2) as (producer, worker):
                pay = {"type": "pay", "args": [1]}
                terms = {"queues": ["default"], "worker_id": "http", "wait_ms": 30_000}
                # In turns, as the speed of a machine changes with time.
                for _ in range(jobs):
                    delay = await delayed(zeebe.activate("pay").read(), producer.call(ENQUEUE, pay))
                    ours.append(delay.since_request_ms)
                    await zeebe.complete(delay.taken.jobs[0].key)
                    delay = await delayed(worker.call(FETCH, terms), producer.call(ENQUEUE, pay))
                    http.append(delay.since_request_ms)
                    ack = {"job_id": delay.taken["jobs"][0]["id"], "worker_id": "http"}
                    await worker.call(ACK, ack)
    return {
        "waiting calls, % of a core": idle.server,
        "from the request to the worker, p50, ms": statistics.median(ours),
        "from the request to the worker, p99, ms": statistics.quantiles(ours, n=100)[98],
        "the same of a FETCH over HTTP, p50, ms": statistics.median(http),
        "p50, in those of the FETCH": statistics.median(ours) / statistics.median(http),
    }


class _Gateway:
    """A client of the gateway."""

    def __init__(self, channel: aio.Channel) -> None:
        service = "/gateway_protocol.Gateway/"
        self._activate: Any = channel.unary_stream(
            f"{service}ActivateJobs",
            request_serializer=pb.ActivateJobsRequest.SerializeToString,
            response_deserializer=pb.ActivateJobsResponse.FromString,
        )
        self._complete: Any = channel.unary_unary(
            f"{service}CompleteJob",
            request_serializer=pb.CompleteJobRequest.SerializeToString,
            response_deserializer=pb.CompleteJobResponse.FromString,
        )

    def activate(self, kind: str) -> Any:
        """A call that waits for one job of a type."""
        return self._activate(
            pb.ActivateJobsRequest(
                type=kind,
                worker="bench",
                timeout=60_000,
                maxJobsToActivate=1,
                requestTimeout=LONG_MS,
            )
        )

    async def complete(self, key: int) -> None:
        """Complete a job."""
        await self._complete(pb.CompleteJobRequest(jobKey=key))


async def overload(store: StoreKind, seconds: float = 8.0, waiting: int = 256) -> Values:
    """At least twice the requests that a server can do: what it serves, and how it recovers."""
    with serving(store, "--max-waiting", str(waiting)) as served:
        able = await _capacity(served.port, seconds)
        flood = _Flood(())
        async with lines(served.port, OPEN) as opened, lines(served.port, 1) as (calm,):
            for times in FLOODS:
                flood = _Flood(opened)
                await flood.run(times * able, seconds)
                # With fewer refusals the measured capacity was too low: try the next factor.
                if flood.refused > flood.asked * REFUSED:
                    break
                await flood.end()
            after = []
            for _ in range(50):
                begun = time.perf_counter()
                await calm.ask(ENQUEUE, job("after"))
                after.append((time.perf_counter() - begun) * 1000)
    cuts = statistics.quantiles(flood.took, n=100)
    return {
        "capacity, requests/s": able,
        "asked, requests/s": flood.asked / seconds,
        "served, requests/s": len(flood.took) / seconds,
        "refused, requests/s": flood.refused / seconds,
        "answers other than 201 and 503 with Retry-After": flood.wrong,
        "served in, p50, ms": cuts[49],
        "served in, p99, ms": cuts[98],
        "right after, p50, ms": statistics.median(after),
        "right after, worst, ms": max(after),
    }


async def _capacity(port: int, seconds: float) -> float:
    """Return the requests in a second of connections that each wait for their answer."""
    end = time.perf_counter() + seconds

    async def produce(line: Line) -> int:
        count = 0
        while time.perf_counter() < end:
            await line.call(ENQUEUE, job("calm"))
            count += 1
        return count

    async with lines(port, CLOSED) as opened:
        return sum(await asyncio.gather(*map(produce, opened))) / seconds


class _Flood:
    """Requests at a constant rate, independent of the answers."""

    def __init__(self, opened: Sequence[Line]) -> None:
        self._free = list(opened)
        self._under_way: set[asyncio.Future[Answer]] = set()
        self.took: list[float] = []
        self.asked = self.refused = self.wrong = 0

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
        self.asked += 1
        begun = time.perf_counter()

        def answered(future: "asyncio.Future[Answer]") -> None:
            self._free.append(line)
            self._under_way.discard(future)
            answer = future.result()
            if answer.status == 201:
                self.took.append((time.perf_counter() - begun) * 1000)
            elif answer.status == 503 and b"retry-after" in answer.headers:
                self.refused += 1
            else:
                self.wrong += 1

        request = line.ask(ENQUEUE, job("flood"))
        self._under_way.add(request)
        request.add_done_callback(answered)
