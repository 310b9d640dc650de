"""The RPCs Fetch and StreamJobs, which hand out jobs.

They do not go through a handler of HTTP, since jobs must go back at once if the client leaves
before it has them.
"""

import asyncio
from typing import Any, Final

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.job import Lease
from ojs_server.grpc import messages
from ojs_server.grpc.calls import RouteRequest, Rpc
from ojs_server.grpc.errors import stopping
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.http.call import Call
from ojs_server.http.ids import holder_of
from ojs_server.http.route import V1
from ojs_server.http.workers.fetch import claim_of, fetched, wait_for_jobs
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.wakeups import first
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import give_back
from ojs_wire.calls import FetchRequest
from ojs_wire.codec import decode

# Another node may settle a job of this stream, and no notice of that reaches this node.
_LOOK_AGAIN_S: Final = 1.0


async def fetch(rpc: Rpc, message: pb.FetchRequest) -> pb.FetchResponse:
    """Deliver jobs without waiting."""
    call, claim = _claim_in(rpc, message, message.count or 1)
    jobs, _ = await _take(call, claim, 0)
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
                call, claim = _claim_in(rpc, message, most - len(held))
                jobs, leases = await _take(call, claim, engine.rules.profile.max_wait_ms)
                for place, (job, lease) in enumerate(zip(jobs, leases, strict=True)):
                    if not await rpc.write(job):
                        await give_back(engine, leases[place:])
                        return
                    held[lease.job_id] = lease.attempt
                await _drop_settled(engine, held)
    finally:
        left.cancel()


def _claim_in(
    rpc: Rpc, message: pb.FetchRequest | pb.StreamJobsRequest, count: int
) -> tuple[Call, Claim]:
    """Return the call and the claim of a client, checked as a FETCH of HTTP is."""
    terms: dict[str, Any] = {"queues": list(message.queues), "count": count}
    if message.worker_id:
        terms["worker_id"] = message.worker_id
    call = rpc.call("POST", f"{V1}/workers/fetch", RouteRequest(body=terms))
    request = call.typed(terms, FetchRequest)
    return call, claim_of(call.tenant, request, holder_of(call, request.worker_id))


async def _take(call: Call, claim: Claim, wait_ms: int) -> tuple[list[pb.Job], list[Lease]]:
    """Claim jobs with their leases. Jobs that gRPC cannot carry go back at once; that is an error
    if there are no others."""
    claimed = await wait_for_jobs(call, claim, wait_ms)
    jobs: list[pb.Job] = []
    leases: list[Lease] = []
    unfit: list[Lease] = []
    why: Conflict | None = None
    for job, text in zip(claimed, fetched(call, claimed), strict=True):
        try:
            jobs.append(messages.job(decode(text)))
            leases.append(job.lease)
        except Conflict as error:
            unfit.append(job.lease)
            why = Conflict(f"job {job.lease.job_id}: {error.message}", details=error.details)
    await give_back(call.server.engine, unfit)
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
