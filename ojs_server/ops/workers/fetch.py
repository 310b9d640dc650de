"""FETCH with waiting: try again whenever a job may have become available."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

from ojs_server.domain.errors import Unavailable
from ojs_server.domain.jobs.job import Lease
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.workers.requirements import ability_of
from ojs_server.domain.workers.worker import Worker
from ojs_server.ops.engine.availability import refusal
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.wakeups import Waiter, first
from ojs_server.ops.jobs.settle import Fail
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import StoreUnavailable

# Attempts to return jobs while the store refuses, and the pause between them.
GIVE_BACK_TRIES: Final = 30
GIVE_BACK_AGAIN_S: Final = 1.0

_LEFT: Final = Fault("released", "released", "the caller left before it had the job")


async def fetch(
    engine: Engine, claim: Claim, wait_ms: int, gone: Awaitable[None] | None = None
) -> FetchedJobs:
    """Return jobs now, or as soon as there are some within `wait_ms`.

    `gone` completes when the caller disconnects; then nothing is claimed. A worker counts as alive
    while its FETCH waits.
    """
    if wait_ms <= 0:
        return await engine.run(claim)
    deadline = asyncio.get_running_loop().time() + wait_ms / 1000
    # A job may not suit an unknown worker, so its wake-up must not exclude others.
    unknown = claim.worker_id is not None
    waiter = engine.wakeups.enter(claim.queues, picky=unknown or is_picky(claim))
    left = asyncio.ensure_future(gone) if gone is not None else None
    try:
        with engine.signs.held(claim.worker_id):
            return await _wait(engine, claim, waiter, left, deadline)
    finally:
        engine.wakeups.leave(waiter)
        if left is not None:
            left.cancel()


async def _wait(
    engine: Engine,
    claim: Claim,
    waiter: Waiter,
    left: "asyncio.Future[None] | None",
    deadline: float,
) -> FetchedJobs:
    while True:
        waiter.clear()
        try:
            jobs = await engine.run(claim)
        except BaseException:
            # The wake-up was not used: `leave` passes it on.
            waiter.wake()
            raise
        if left is not None and left.done():
            # With a `fetch_id` a repetition of this FETCH may have got the jobs.
            if claim.fetch_id is None:
                await give_back(engine, [job.lease for job in jobs])
            return FetchedJobs()
        if any(job.again for job in jobs):
            # It took nothing new, so pass the wake-up on.
            waiter.wake()
        remaining = deadline - asyncio.get_running_loop().time()
        if jobs or remaining <= 0 or engine.wakeups.closed:
            return jobs
        if jobs.withheld is not None and jobs.withheld.state is not None:
            await _hold(engine, waiter, left, remaining)
        else:
            worker = None
            if (worker_id := claim.worker_id) is not None:
                worker = await engine.read(lambda reader: reader.worker(worker_id))
            waiter.picky = is_picky(claim) or (worker is not None and _chooses(engine, worker))
            await first(waiter.wait(), left, remaining)
        if left is not None and left.done():
            return FetchedJobs()
        is_over = deadline <= asyncio.get_running_loop().time()
        if is_over and not engine.writable and not engine.wakeups.closed:
            # Another attempt would wait for the store beyond the caller's time limit.
            raise refusal(StoreUnavailable())


def is_picky(claim: Claim) -> bool:
    """True if the fetch does not take every job of its queues."""
    return any(criterion is not None for criterion in (claim.job_types, claim.tenant, claim.tags))


def _chooses(engine: Engine, worker: Worker) -> bool:
    """True if the worker does not take every job, or needs a BEAT before it gets any."""
    return engine.rules.profile.gates_fetch or ability_of(worker.profile, None) is not None


async def give_back(engine: Engine, leases: Sequence[Lease]) -> None:
    """Return jobs to their queues, as their caller left before it had them.

    One operation returns all of them, so that none is left behind; it is repeated if the store is
    busy.
    """
    if not leases:
        return
    releases = SettleAndFetch(
        tuple(
            Fail(held.job_id, _LEFT, worker_id=held.worker_id, attempt=held.attempt, requeue=True)
            for held in leases
        )
    )
    for _ in range(GIVE_BACK_TRIES):
        try:
            await engine.run(releases)
            return
        except Unavailable:
            if engine.wakeups.closed:
                return
            await first(engine.wakeups.until_closed(), None, GIVE_BACK_AGAIN_S)


async def _hold(
    engine: Engine, waiter: Waiter, left: "asyncio.Future[None] | None", within_s: float
) -> None:
    """Keep a worker that gets no jobs waiting, behind the fetches that may take one.

    With an answer at once it would ask again and again until its next BEAT.
    """
    waiter.wake()
    engine.wakeups.leave(waiter)
    waiter.clear()
    await first(engine.wakeups.until_closed(), left, within_s)
