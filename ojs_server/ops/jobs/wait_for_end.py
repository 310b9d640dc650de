"""Wait until a job has ended."""

import asyncio

from ojs_server.domain.jobs.job import TERMINAL, StoredJob
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.time_limit import at_most

# Another node may end the job, and no notice of that reaches this node.
SLOW_POLL_S = 1.0


async def wait_for_end(engine: Engine, stored: StoredJob, wait_s: float) -> StoredJob:
    """Return the job once it has reached a final state, or as it is after `wait_s`."""
    job_id = stored.job.id
    deadline = asyncio.get_running_loop().time() + wait_s
    waiter = engine.endings.enter((job_id,))
    try:
        while True:
            waiter.clear()
            found = await engine.read(lambda reader: reader.job(job_id))
            stored = found[0] if found else stored
            remaining = deadline - asyncio.get_running_loop().time()
            ended = found is None or stored.job.state in TERMINAL
            if ended or remaining <= 0 or engine.endings.closed:
                return stored
            await at_most(waiter.wait(), min(remaining, SLOW_POLL_S))
    finally:
        engine.endings.leave(waiter)
