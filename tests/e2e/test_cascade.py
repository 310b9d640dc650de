"""Presence of killed workers in real time: unreachable, offline, deleted."""

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.node import running, until

# A worker whose block never ends; it pings all the while.
WORKER = """
import asyncio, sys, threading, httpx
from ojs_worker.blackboard import BoardWorker, FunctionBlock

class Hang(FunctionBlock):
    id = "hang"
    def run(self, context):
        threading.Event().wait()

async def main():
    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=30) as client:
        worker = BoardWorker(client, [Hang()], ping_interval=0.3, poll_interval=0.1)
        await worker.run()

asyncio.run(main())
"""
TIMES = (
    "--worker-unreachable-threshold=2s",
    "--worker-offline-threshold=5s",
    "--stuck-job-timeout=60s",
    "--worker-delete-threshold=61s",
    "--worker-check-interval=200ms",
)


async def test_killed_workers_fall_through_the_cascade(sqlite_store: Path) -> None:
    async with (
        running(str(sqlite_store), "--profile", "blackboard", *TIMES) as node,
        httpx.AsyncClient(base_url=node.url) as client,
    ):
        started = [
            await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, node.url)
            for _ in range(2)
        ]
        try:
            await fall(client, started)
        finally:
            for process in started:
                if process.returncode is None:
                    process.kill()
                await process.wait()


async def fall(client: httpx.AsyncClient, started: list[asyncio.subprocess.Process]) -> None:
    """One job for each worker; one worker is killed, and the other one stays."""

    async def workers(presence: str) -> list[dict[str, Any]]:
        answer = await client.get("/workers", params={"presence": presence})
        found: list[dict[str, Any]] = answer.json()["workers"]
        return found

    async def busy() -> bool:
        return [one["active_jobs"] for one in await workers("online")] == [1, 1]

    await until(partial(there, workers, "online", 2), 30)
    for _ in range(2):
        body = {"functionBlockId": "hang"}
        assert (await client.post("/blackboard/jobs", json=body)).status_code == 201
    await until(busy, 30)
    started[0].kill()
    for presence in ("unreachable", "offline"):
        await until(partial(there, workers, presence, 1), 30)
    (dead,) = await workers("offline")

    async def buried() -> bool:
        shown = (await client.get(f"/workers/{dead['id']}")).json()["worker"]
        return bool(shown["terminated_at"])

    await until(buried, 30)
    told = (await client.get("/ojs/v1/events", params={"limit": 1000})).json()["events"]
    lost = [one for one in told if one["type"] == "dead_letter.added"]
    assert [one["data"]["error_type"] for one in lost] == ["worker_death"]
    kinds = [one["type"] for one in told if one["subject"] == dead["id"]]
    assert kinds[-3:] == ["worker.unreachable", "worker.offline", "worker.stopped"]
    await until(partial(there, workers, "online", 1), 30)
    cleaned = (await client.post("/workers/cleanup-offline")).json()
    assert cleaned["worker_ids"] == [dead["id"]]


async def there(workers: Any, presence: str, count: int) -> bool:
    """True if this many workers have this presence."""
    return len(await workers(presence)) == count


LAB = "/v1/joblib/rooms/lab"
# A worker of a job manager whose one task never ends.
HELD = """
import sys, threading
from ojs_worker.jobmanager import JobManager

def hang():
    threading.Event().wait()

with JobManager(sys.argv[1], execute=lambda task: task.extension.run()) as manager:
    manager.register(hang, room="lab")
    manager.wait()
"""


async def test_a_killed_worker_is_missed_as_soon_as_its_session_ends(sqlite_store: Path) -> None:
    options = ("--profile", "jobmanager", "--session-grace", "1s")
    async with (
        running(str(sqlite_store), *options) as node,
        httpx.AsyncClient(base_url=node.url) as client,
        asyncio.timeout(50),  # its silence would take 60 seconds to be noticed
    ):
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", HELD, node.url)
        try:
            await fail_when_killed(client, process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def fail_when_killed(client: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    """A worker is killed while it holds its session and a task; the task must fail."""

    async def is_held() -> bool:
        return "ojs_event_streams 2.0" in (await client.get("/metrics")).text

    async def offered() -> bool:
        return bool((await client.get(f"{LAB}/jobs")).json()["items"])

    await until(offered, 30)
    path = f"{LAB}/tasks/lab:modifiers:hang"
    task = (await client.post(path, json={"payload": {}})).json()

    async def is_now(status: str) -> bool:
        return bool((await client.get(f"/v1/joblib/tasks/{task['id']}")).json()["status"] == status)

    await until(partial(is_now, "running"), 30)
    # The stream that wakes the worker, and its session.
    await until(is_held, 30)
    process.kill()
    await until(partial(is_now, "failed"), 30)
    ended = (await client.get(f"/v1/joblib/tasks/{task['id']}")).json()
    assert ended["error"] == "Worker disconnected"
