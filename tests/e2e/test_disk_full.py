"""A disk that is full for longer than a lease: workers that send BEATs keep their jobs."""

import asyncio
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.node import Node, running, until

LEASE_S = 5
WORKERS = 3
LIMIT_S = 60
SIZE = "8m"

V1 = "/ojs/v1"
Switch = Callable[[Node], None]


@contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Switch, Switch]]:
    """A file system of its own, which is filled up and emptied."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("nobody but root may mount a disk that can be filled")
    ballast = folder / "ballast"

    def fill(node: Node) -> None:
        # The server writes meanwhile, so that there is less room than it seems.
        with suppress(OSError):
            ballast.write_bytes(b"x" * shutil.disk_usage(folder).free)

    try:
        yield fill, lambda node: ballast.unlink()
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def small_files(folder: Path) -> Iterator[tuple[Switch, Switch]]:
    """A limit for files, which refuses what goes beyond it."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process cannot be set here")

    def limit(node: Node, size: int) -> None:
        hard = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (size, hard))

    yield lambda node: limit(node, 4096), lambda node: limit(node, resource.RLIM_INFINITY)


@pytest.mark.long
@pytest.mark.parametrize("disk", [small_disk, small_files])
async def test_leases_outlast_a_full_disk(
    tmp_path: Path, new_sqlite_store: Path, disk: Callable[[Path], Any]
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with disk(folder) as (fill, free):
        database = folder / "ojs.db"
        shutil.copyfile(new_sqlite_store, database)
        async with (
            running(f"sqlite:///{database}") as node,
            httpx.AsyncClient(timeout=30) as client,
        ):
            held = await hold(client, node)
            refused, may_beat = asyncio.Event(), asyncio.Event()
            may_beat.set()
            beating = [
                asyncio.create_task(beat(client, node, *one, refused, may_beat))
                for one in held.items()
            ]
            await asyncio.to_thread(fill, node)
            # Heartbeats use what room there is left.
            async with asyncio.timeout(LIMIT_S):
                await refused.wait()
            # A checkpoint may make room once more: the loss that lasts is the one that counts.
            await until(lambda: is_degraded(client, node), LIMIT_S)
            await until(lambda: is_told_lost(node), LIMIT_S)
            before = len(told(node)) - 1
            assert await status(client, node, "/ready") == (503, "degraded")
            assert await status(client, node, f"{V1}/health") == (200, "degraded")
            await asyncio.sleep(1.5 * LEASE_S)  # time itself is what is tested
            # Workers that beat now and then: the server can write before it hears of them.
            may_beat.clear()
            await asyncio.to_thread(free, node)
            await until(lambda: is_ready(client, node), LIMIT_S)
            await asyncio.sleep(1)
            may_beat.set()
            await asyncio.sleep(1.5 * LEASE_S)
            for one in beating:
                one.cancel()
            for worker, job in held.items():
                body = {"job_id": job, "worker_id": worker, "attempt": 1}
                answer = await client.post(f"{node.url}{V1}/workers/ack", json=body)
                assert answer.status_code == 200, answer.text
    lines = told(node)[before:]
    assert ["lost" in line for line in lines] == [True, False]
    assert "the store is back after" in lines[1]
    assert str(database) in lines[1]


def told(node: Node) -> list[str]:
    """Return the lines about losses of the store, and its returns."""
    return [line for line in node.output if "the store is" in line]


async def is_told_lost(node: Node) -> bool:
    """Say if the last of these lines is a loss."""
    return bool(told(node)) and "lost" in told(node)[-1]


async def is_degraded(client: httpx.AsyncClient, node: Node) -> bool:
    """Say if nothing can be written."""
    return await status(client, node, "/ready") == (503, "degraded")


async def hold(client: httpx.AsyncClient, node: Node) -> dict[str, str]:
    """Workers that have a job each."""
    held: dict[str, str] = {}
    for number in range(WORKERS):
        await client.post(f"{node.url}{V1}/jobs", json={"type": "t", "args": [], "queue": "q"})
        worker = f"w{number}"
        body = {"queues": ["q"], "worker_id": worker, "visibility_timeout_ms": 1000 * LEASE_S}
        answer = await client.post(f"{node.url}{V1}/workers/fetch", json=body)
        (job,) = answer.json()["jobs"]
        held[worker] = job["id"]
    return held


async def beat(
    client: httpx.AsyncClient,
    node: Node,
    worker: str,
    job: str,
    refused: asyncio.Event,
    may_beat: asyncio.Event,
) -> None:
    """Beat while it may; says when a heartbeat was refused."""
    body = {"worker_id": worker, "active_jobs": [job], "visibility_timeout_ms": 1000 * LEASE_S}
    while True:
        answer = await client.post(f"{node.url}{V1}/workers/heartbeat", json=body)
        if answer.status_code == 503:
            refused.set()
        else:
            assert answer.status_code == 200, answer.text
        await asyncio.sleep(0.2)
        await may_beat.wait()


async def status(client: httpx.AsyncClient, node: Node, path: str) -> tuple[int, str]:
    """The answer about the server's health, in short."""
    answer = await client.get(node.url + path)
    return answer.status_code, answer.json()["status"]


async def is_ready(client: httpx.AsyncClient, node: Node) -> bool:
    return (await client.get(f"{node.url}/ready")).status_code == 200
