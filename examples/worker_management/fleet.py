"""A worker as its users write it, with nothing but an HTTP client, and a look at the fleet.

    ojs-server --profile blackboard &
    python examples/worker_management/fleet.py http://127.0.0.1:8080

It works until SIGINT (Ctrl-C) or SIGTERM.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

PING_S = 20
POLL_S = 10
BLOCKS = ["configBackup"]


class Worker:
    """Registers, pings, polls, and registers anew where the engine has forgotten it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.uuid = ""

    async def register(self) -> None:
        """The engine gives the id."""
        body = {"functionBlocks": BLOCKS, "labels": ["region:eu"]}
        answer = await self.client.post("/workers/register", json=body)
        self.uuid = answer.raise_for_status().json()["worker_id"]
        await self.ping()

    async def ping(self) -> None:
        """Still here."""
        answer = await self.client.post(f"/workers/{self.uuid}/ping")
        if answer.status_code == 404:
            await self.register()

    async def poll(self) -> int:
        """Do what there is; answers how much that was."""
        body = {"workerId": self.uuid, "functionBlockIds": BLOCKS, "limit": 1}
        answer = await self.client.post("/blackboard/job", json=body)
        # Refused if the engine has forgotten this worker; the next ping registers it again.
        jobs: list[dict[str, Any]] = answer.json() if answer.is_success else []
        for job in jobs:
            result = {"size": len(job["context"])}
            pushed = {"jobId": job["jobId"], "status": "success", "result": result}
            await self.client.post("/blackboard/job/result", json=pushed)
        return len(jobs)

    async def unregister(self) -> None:
        """Offline at once; this worker may come back."""
        await self.client.post(f"/workers/{self.uuid}/unregister")


async def again(every: float, call: Callable[[], Awaitable[Any]]) -> None:
    """Call for ever."""
    while True:
        await call()
        await asyncio.sleep(every)


async def fleet(client: httpx.AsyncClient) -> list[str]:
    """A line for each worker that the engine knows."""
    workers = (await client.get("/workers", params={"findDeleted": "true"})).json()["workers"]
    return [f"{one['id']} {one['presence']} {one['active_jobs']} jobs" for one in workers]


async def main(url: str) -> None:
    """Work until told to stop."""
    key = os.environ.get("OJS_AUTH_TOKEN")
    headers = {"Authorization": f"Bearer {key}"} if key else None
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        worker = Worker(client)
        await worker.register()
        print("\n".join(await fleet(client)))
        working = asyncio.gather(again(PING_S, worker.ping), again(POLL_S, worker.poll))
        for sig in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sig, working.cancel)
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await working
        finally:
            await worker.unregister()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"))
