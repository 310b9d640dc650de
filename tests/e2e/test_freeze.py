"""A server that is suspended within a transaction: the others stall once, and briefly."""

import asyncio
import signal
import time
from typing import Any

import httpx
import pytest

from ojs_server.app import SILENCES_S
from ojs_server.ops.engine.group_commit import AGAIN_S
from ojs_server.store.postgres.silence import SILENCE_S
from ojs_server.store.postgres.store import BRIEF_MS
from tests.e2e.node import Node, insist, running
from tests.store.postgres.proxy import Fault, proxy_before

MOST_S = 5.0
# For a machine that does much else.
LENIENT_S = 4 * MOST_S
LIMITS: dict[str, Any] = {"concurrency": 5, "backpressure": {"max_depth": 1000}}


def job(queue: str, kind: str = "t") -> dict[str, Any]:
    return {"type": kind, "args": [], "options": {"queue": queue}}


def test_what_a_silence_costs_is_bounded() -> None:
    assert SILENCE_S + SILENCES_S + BRIEF_MS / 1000 + AGAIN_S < MOST_S


@pytest.mark.long
@pytest.mark.parametrize("store_url", ["postgres", "distribution"], indirect=True)
async def test_one_server_that_is_cut_off_does_not_freeze_the_others(store_url: str) -> None:
    with proxy_before(store_url) as proxy:
        async with (
            running(proxy.url) as frozen,
            running(store_url) as healthy,
            httpx.AsyncClient(timeout=60) as client,
        ):

            async def enqueue(node: Node, queue: str, kind: str = "t") -> httpx.Response:
                return await client.post(f"{node.url}/ojs/v1/jobs", json=job(queue, kind))

            settings = f"{healthy.url}/ojs/v1/queues/limited/config"
            assert (await client.put(settings, json=LIMITS)).status_code == 200
            # Its transaction has the row of the queue's limits when the connection freezes.
            proxy.marker, proxy.fault = b"frozen.job", Fault.FROZEN
            late = asyncio.create_task(enqueue(frozen, "limited", "frozen.job"))
            assert await asyncio.to_thread(proxy.broken.wait, 60)
            frozen.send(signal.SIGSTOP)

            begun = time.monotonic()
            stalled = asyncio.create_task(enqueue(healthy, "limited"))
            others = 0
            while not stalled.done():
                assert (await enqueue(healthy, "other")).status_code == 201
                others += not stalled.done()
            took_s = time.monotonic() - begun
            assert stalled.result().status_code == 201
            assert others > 0
            assert took_s < LENIENT_S, f"stalled for {took_s:.1f} s while {others} went on"

            for _ in range(20):
                assert (await enqueue(healthy, "limited")).status_code == 201
            ended = [line for line in healthy.output if "fallen silent" in line]
            assert len(ended) == 1, healthy.output

            frozen.send(signal.SIGCONT)
            proxy.let_through()
            answer = await late
            # The enqueue whose transaction was ended is refused, and is not carried out later.
            assert answer.status_code == 503, answer.text
            stats = await client.get(f"{healthy.url}/ojs/v1/queues/limited/stats")
            assert stats.json()["queue"]["available"] == 21
            again = await insist(client, frozen, "/ojs/v1/jobs", job("limited"))
            assert again.status_code == 201
