"""Stopping the server: signals, waiting fetches, and a stall that costs no jobs."""

import asyncio
import json
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.node import Node, running, until

STALL_S = 40


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_answers_waiting_fetches_and_exits_0(
    store_url: str, sig: signal.Signals
) -> None:
    async with running(store_url) as node, httpx.AsyncClient(timeout=40) as client:
        body = {"queues": ["default"], "wait_ms": 30_000}
        waiting = [
            asyncio.create_task(client.post(f"{node.url}/ojs/v1/workers/fetch", json=body))
            for _ in range(5)
        ]
        await until(lambda: node.holds_waiting(5), 10)
        started = time.monotonic()
        assert await node.stop(sig) == 0
        assert time.monotonic() - started < 10
        answers = await asyncio.gather(*waiting)
        assert [answer.status_code for answer in answers] == [200] * 5
        assert all(answer.json()["jobs"] == [] for answer in answers)


POST = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
# Incomplete requests: bytes, time limit for their end, and True if they can still be answered.
UNFINISHED = {
    "a head": (POST, 4, True),
    "a body": (POST + b"\r\n{", 8, True),
    "a body that nobody reads": (POST.replace(b"/jobs", b"/nothing") + b"\r\n{", 4, False),
}


@pytest.mark.parametrize("name", UNFINISHED)
async def test_a_request_that_does_not_end_holds_no_stop(sqlite_store: Path, name: str) -> None:
    sent, within_s, answered = UNFINISHED[name]
    async with running(f"sqlite:///{sqlite_store}") as node:
        address = urlsplit(node.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(sent)
        if not answered:
            assert (await reader.readuntil(b"}}")).startswith(b"HTTP/1.1 404 ")
        # It has read that, as it reads in turns.
        assert await node.holds_waiting(0)
        started = time.monotonic()
        assert await node.stop() == 0
        assert time.monotonic() - started < within_s
        heard = await reader.read()
        writer.close()
    assert not [line for line in node.output if "Traceback" in line or "ERROR" in line]
    if answered:
        head, _, body = heard.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        assert lines[0].startswith(b"http/1.1 503 ")
        assert {b"connection: close", b"retry-after: 1"} <= set(lines)
        assert json.loads(body)["error"]["code"] == "overloaded"
    else:
        assert heard == b""


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_a_40_second_stop_costs_no_live_worker_its_jobs(
    sqlite_path: Path, postgres_store: str
) -> None:
    databases = (f"sqlite:///{sqlite_path}", postgres_store)
    await asyncio.gather(*(stall(database) for database in databases))


async def stall(database: str) -> None:
    """A worker beats, the server stands still for longer than every limit, the worker goes on."""
    async with running(database) as node, httpx.AsyncClient(timeout=90) as client:
        ids = []
        for lease_ms in (5_000, 20_000, None):
            options = {} if lease_ms is None else {"visibility_timeout_ms": lease_ms}
            body = {"type": "stall.test", "args": [], "options": options}
            job = (await client.post(f"{node.url}/ojs/v1/jobs", json=body)).json()["job"]
            ids.append(job["id"])
        fetch = {"queues": ["default"], "count": 3, "worker_id": "steady"}
        fetched = (await client.post(f"{node.url}/ojs/v1/workers/fetch", json=fetch)).json()
        assert sorted(job["id"] for job in fetched["jobs"]) == sorted(ids)
        await beat(client, node, ids)
        node.send(signal.SIGSTOP)
        await asyncio.sleep(STALL_S)
        node.send(signal.SIGCONT)
        # The BEATs that the worker sent during the stop arrive now, and the next one in time.
        for _ in range(3):
            answer = await beat(client, node, ids)
            assert sorted(answer["jobs_extended"]) == sorted(ids)
            assert answer["jobs_lost"] == []
            assert answer["registered"] is True
            await asyncio.sleep(1)
        for job_id in ids:
            ack = {"job_id": job_id, "worker_id": "steady", "attempt": 1}
            done = await client.post(f"{node.url}/ojs/v1/workers/ack", json=ack)
            assert done.status_code == 200, done.text


async def beat(client: httpx.AsyncClient, node: Node, ids: list[str]) -> dict[str, Any]:
    body = {"worker_id": "steady", "state": "running", "active_job_ids": ids}
    answer = await client.post(f"{node.url}/ojs/v1/workers/heartbeat", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_live_worker_keeps_short_leases_over_a_restart(store_url: str) -> None:
    """A kill -9 for longer than the lease: it is judged only after its holder could speak."""
    async with running(store_url) as node, httpx.AsyncClient(timeout=20) as client:
        options = {"visibility_timeout_ms": 1_500}
        body = {"type": "t.x", "args": [], "options": options}
        job = (await client.post(f"{node.url}/ojs/v1/jobs", json=body)).json()["job"]
        fetch = {"queues": ["default"], "worker_id": "steady"}
        await client.post(f"{node.url}/ojs/v1/workers/fetch", json=fetch)
        await node.kill()
        await asyncio.sleep(2)
        await node.start()
        answer = await beat(client, node, [job["id"]])
        assert answer["jobs_extended"] == [job["id"]]
