"""A worker that ends jobs until it is told to stop: ADDRESS, TYPE. Each job is a line."""

import asyncio
import sys

from pyzeebe import Job, ZeebeWorker, create_insecure_channel


async def main() -> None:
    """Work until the end of the standard input."""
    address, task_type = sys.argv[1:3]
    worker = ZeebeWorker(
        create_insecure_channel(address),
        request_timeout=2000,
        max_connection_retries=-1,
        poll_retry_delay=1,
    )

    @worker.task(task_type=task_type, timeout_ms=2000, max_jobs_to_activate=4, max_running_jobs=8)
    async def task(job: Job) -> None:
        await asyncio.sleep(0.05)
        print(job.key, flush=True)

    working = asyncio.create_task(worker.work())
    await asyncio.to_thread(sys.stdin.read)
    working.cancel()


asyncio.run(main())
