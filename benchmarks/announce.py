"""Measure the time from the submission of a task to its announcement by Socket.IO, on both
stores.

python -m benchmarks.announce [--tasks N]
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Final

import httpx
import msgspec

from benchmarks.stand import STORES, StoreKind, database, running, write_down

BASE: Final = "/v1/joblib"
ROOM: Final = "bench"
# Limit of the median delay of announcements.
MOST_P50_MS: Final = 50.0


class Figures(msgspec.Struct, frozen=True):
    """Return the delays of announcements, each from before its request was sent."""

    store: StoreKind
    tasks: int
    p50_ms: float
    p99_ms: float


class Poller:
    """A worker's client of Socket.IO that polls."""

    def __init__(self, client: httpx.AsyncClient, sid: str) -> None:
        self._client = client
        self._path = f"/socket.io/?EIO=4&transport=polling&sid={sid}"

    async def send(self, packet: str) -> None:
        """Send a packet."""
        (await self._client.post(self._path, content=packet)).raise_for_status()

    async def receive(self) -> str:
        """The packets that have come, but for signs of life."""
        while (answer := (await self._client.get(self._path)).raise_for_status()).text == "2":
            pass
        return answer.text


async def joined(client: httpx.AsyncClient) -> tuple[Poller, str]:
    """Join a worker that is announced tasks of a job; return it and the path to submit tasks."""
    body = {"category": "modifiers", "name": "Turn", "schema": {}}
    made = (await client.put(f"{BASE}/rooms/{ROOM}/jobs", json=body)).raise_for_status().json()
    opening = (await client.get("/socket.io/?EIO=4&transport=polling")).raise_for_status()
    poller = Poller(client, json.loads(opening.text[1:])["sid"])
    await poller.send("40")
    await poller.receive()
    order = {"job_name": made["full_name"], "worker_id": made["worker_id"]}
    await poller.send("420" + json.dumps(["join_job_room", order]))
    await poller.receive()
    return poller, f"{BASE}/rooms/{ROOM}/tasks/{made['full_name']}"


async def late_ms(port: int, tasks: int) -> list[float]:
    """Return the delay of each announcement."""
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        poller, path = await joined(client)
        found = []
        for _ in range(tasks):
            hearing = asyncio.create_task(poller.receive())
            began = time.perf_counter()
            answer = await client.post(path, json={"payload": {}})
            announcement = await hearing
            found.append((time.perf_counter() - began) * 1000)
            assert answer.json()["id"] in announcement, f"another announcement: {announcement}"
        return found


def measure(store: StoreKind, tasks: int) -> Figures:
    """One run on a fresh store."""
    options = ("--profile", "jobmanager")
    with database(store) as address, running("ojs_server", address, *options) as served:
        found = asyncio.run(late_ms(served.port, tasks))
    return Figures(store, tasks, statistics.median(found), statistics.quantiles(found, n=100)[98])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the figures down; 1 where announcements are late."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.announce", description=__doc__)
    parser.add_argument("--tasks", type=int, default=300, help="in each run")
    given = parser.parse_args(arguments)
    found = [measure(store, given.tasks) for store in STORES]
    for row in found:
        print(
            f"{row.store:<10}{row.tasks:>5} tasks  p50 {row.p50_ms:.1f} ms  p99 {row.p99_ms:.1f} ms"
        )
    write_down("announce", found)
    return 0 if all(result.p50_ms < MOST_P50_MS for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
