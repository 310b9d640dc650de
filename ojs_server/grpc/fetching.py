"""The RPCs Fetch and StreamJobs, which hand out jobs.

Jobs that cannot reach the client go back to their queues at once: it has left, or protobuf cannot
carry them.
"""

import asyncio
from typing import Any, Final

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.job import Lease
from ojs_server.grpc import messages
from ojs_server.grpc.calls import Rpc
from ojs_server.grpc.errors import stopping
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.http.call import typed
from ojs_server.http.ids import holder_of
from ojs_server.http.workers.fetch import claim_of, stored_of, trace, wait_for_jobs
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.wakeups import first
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import give_back
from ojs_wire.calls import FetchRequest

# Another node may settle a job of this stream, and no notice of that reaches this node.
_LOOK_AGAIN_S: Final = 1.0


async def fetch(rpc: Rpc, message: pb.FetchRequest) -> pb.FetchResponse:
    """Deliver jobs without waiting."""
    jobs, _ = await _take(rpc, _claim_of(rpc, message, message.count or 1), 0)
    return pb.FetchResponse(jobs=jobs)


async def stream_jobs(rpc: Rpc, message: pb.StreamJobsRequest) -> None:
    """Push jobs until the client leaves, up to the number that it can run at once.

    A job counts until it is settled or lost.
    """
    most = message.max_concurrent or 1
    engine = rpc.server.engine
    held: dict[str, int] = {}
    left = asyncio.ensure_future(rpc.left.wait())
    try:
        with rpc.place():
            while not rpc.left.is_set():
                if engine.wakeups.closed:
                    raise stopping()
                if len(held) >= most:
                    await _until_settled(engine, held, left)
                    continue
                claim = _claim_of(rpc, message, most - len(held))
                jobs, leases = await _take(rpc, claim, engine.rules.profile.max_wait_ms)
                for place, (job, lease) in enumerate(zip(jobs, leases, strict=True)):
                    if not await rpc.write(job):
                        await give_back(engine, leases[place:])
                        return
                    held[lease.job_id] = lease.attempt
                await _drop_settled(engine, held)
    finally:
        left.cancel()


def _claim_of(rpc: Rpc, message: pb.FetchRequest | pb.StreamJobsRequest, count: int) -> Claim:
    """Return the claim of a client, checked as a FETCH of HTTP is."""
    worker_id = message.worker_id or None
    terms = {"queues": list(message.queues), "count": count, "worker_id": worker_id}
    request = typed(terms, FetchRequest, strict=False)
    return claim_of(rpc.tenant, request, holder_of(rpc, worker_id), any_type=rpc.any_type)


async def _take(rpc: Rpc, claim: Claim, wait_ms: int) -> tuple[list[pb.Job], list[Lease]]:
    """Claim jobs with their leases. Jobs that gRPC cannot carry go back at once; that is an error
    if there are no others."""
    claimed = await wait_for_jobs(rpc, claim, wait_ms)
    trace(rpc, claimed)
    jobs: list[pb.Job] = []
    leases: list[Lease] = []
    unfit: list[Lease] = []
    why: Conflict | None = None
    for job in claimed:
        try:
            jobs.append(messages.job(stored_of(job.claimed)))
            leases.append(job.lease)
        except Conflict as error:
            unfit.append(job.lease)
            why = Conflict(f"job {job.lease.job_id}: {error.message}", details=error.details)
    await give_back(rpc.server.engine, unfit)
    if why is not None and not jobs:
        raise why
    return jobs, leases


async def _until_settled(engine: Engine, held: dict[str, int], left: "asyncio.Future[Any]") -> None:
    """Wait until a place is free, or the client has left."""
    waiter = engine.endings.enter(tuple(held))
    try:
        before = len(held)
        while not (left.done() or engine.endings.closed):
            waiter.clear()
            await _drop_settled(engine, held)
            if len(held) < before:
                return
            await first(waiter.wait(), left, _LOOK_AGAIN_S)
    finally:
        engine.endings.leave(waiter)


async def _drop_settled(engine: Engine, held: dict[str, int]) -> None:
    """Drop the jobs that the client of the stream does not hold any more."""
    if not held:
        return
    found = await engine.read(lambda reader: {job_id: reader.job(job_id) for job_id in held})
    for job_id, attempt in tuple(held.items()):
        stored = found[job_id]
        if stored is None or stored[1] is None or stored[1].attempt != attempt:
            del held[job_id]
