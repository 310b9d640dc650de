"""Requests and answers of the SDK conform to openapi.yaml."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_worker import (
    Client,
    Context,
    Discard,
    JobFailed,
    RetryPolicy,
    Snooze,
    Unique,
    Worker,
    batch,
    chain,
)
from ojs_worker.transport import Reply, Request
from ojs_worker.transport.extensions import MANIFEST
from ojs_worker.transport.over_httpx import HttpTransport
from tests.http.conftest import Serve
from tests.http.contract import OPENJOBSPEC, Contract, contract, document, escape

REQUESTS = Contract(document(), shut=False)


class HeldToContract(HttpTransport):
    """Checks each exchange, and counts the calls."""

    def __init__(self, server: Server, *, extensions: bool = True) -> None:
        super().__init__("http://localhost")
        self._app = Application(server)
        self.calls: Counter[str] = Counter()
        self._extensions = extensions

    async def send(self, request: Request) -> Reply:
        if request.path == MANIFEST and not self._extensions:
            return Reply(404)
        return await super().send(request)

    def _connections(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                transport=httpx.ASGITransport(app=self._app),
                event_hooks={"response": [self._check]},
            )
        return self._client

    async def _check(self, response: httpx.Response) -> None:
        await response.aread()
        request = response.request
        self.calls[request.url.path] += 1
        contract().check(response)
        check_request(request)


def check_request(request: httpx.Request) -> None:
    """Fail where a body is not as documented."""
    if not request.content:
        return
    path = REQUESTS.path_of(request.url.path)
    operation = document()["paths"][path][request.method.lower()]
    body = operation["requestBody"]["$ref"]
    pointer = f"{body}/content/{escape(OPENJOBSPEC)}/schema"
    REQUESTS.validate(pointer, json.loads(request.content))


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


# Both use `nack`, because jobs given back at the very end do not wait for a bulk call.
@pytest.mark.parametrize("settles", [{"settle", "nack"}, {"ack", "nack"}], ids=["bulk", "single"])
async def test_a_workers_whole_life_is_as_documented(server: Server, settles: set[str]) -> None:
    way = HeldToContract(server, extensions="settle" in settles)
    worker = Worker(
        transport=way,
        heartbeat_interval=0.1,
        poll_interval=0.05,
        long_poll=0.2,
        labels=["region:eu"],
        only_known_types=True,
        visibility_timeout=60,
        shutdown_release="requeue",
        grace=0.2,
    )

    @worker.job("all.well")
    async def well(ctx: Context, n: int) -> dict[str, int]:
        assert ctx.last_checkpoint is None
        ctx.progress(0.5, "half", {"row": 1})
        await ctx.checkpoint({"row": 1})
        await ctx.heartbeat()
        return {"n": n}

    @worker.job("all.wrong", retry=1)
    def wrong() -> None:
        raise ValueError("wrong")

    @worker.job("gives.up")
    def gives_up() -> None:
        raise Discard("never", details={"why": "because"})

    @worker.job("comes.later")
    def later() -> None:
        raise Snooze("1h")

    @worker.job("takes.long")
    async def takes_long() -> None:
        await asyncio.sleep(60)

    client = Client(transport=way)
    long = await takes_long.enqueue()
    snoozed = await later.enqueue()
    async with worker:
        assert await client.result(await well.enqueue(7), timeout_s=20) == {"n": 7}
        for handler in (wrong, gives_up):
            with pytest.raises(JobFailed):
                await client.result(await handler.enqueue(), timeout_s=20)
        with pytest.raises(JobFailed, match="`n`"):
            await client.result(await client.enqueue("all.well", ["x"]), timeout_s=20)
        async with asyncio.timeout(20):
            while (await client.get(long.id)).state != "active":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            while (await client.get(snoozed.id)).state != "scheduled":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    assert (await client.get(long.id)).state == "available"
    called = {path.removeprefix("/ojs/v1/workers/") for path in way.calls if "/workers/" in path}
    assert called == {"register", "deregister", "heartbeat", "fetch"} | settles


async def test_what_clients_send_is_as_documented(server: Server) -> None:
    way = HeldToContract(server)
    client = Client(transport=way)
    every: Any = {
        "queue": "mail",
        "priority": 3,
        "delay": 60,
        "expires_in": "1d",
        "timeout": 30,
        "grace_period": 5,
        "visibility_timeout": "10m",
        "retry": RetryPolicy(
            max_attempts=5,
            initial_interval=1,
            backoff_coefficient=2,
            max_interval="5m",
            jitter=False,
            non_retryable_errors=["a.*"],
            on_exhaustion="dead_letter",
            backoff_strategy="linear",
        ),
        "unique": Unique(keys=["type", "args"], args_keys=["a"], period="1h", on_conflict="ignore"),
        "tags": ["a"],
        "meta": {"m": 1},
        "idempotency_key": "k",
    }
    job = await client.enqueue("a.b", {"a": 1}, **every)
    await client.cancel(job.id)
    requests = [client.request("a.b", [n], queue="q") for n in range(3)]
    await client.enqueue_many(requests)
    await client.put_cron("c", "@daily", "a.b", timezone="UTC", overlap="allow", enabled=True)
    await client.enable_cron("c", enabled=False)
    await client.trigger_cron("c")
    await client.list_crons()
    await client.delete_cron("c")
    one = client.request("a.b", [1], meta={"m": 1}, retry=2)
    await client.start(chain(one, one, name="n", queue="q"))
    flow = await client.start(batch(one, on_complete=one, on_failure=one))
    await client.get_workflow(flow.id)
    await client.cancel_workflow(flow.id)
    await client.manifest()
    assert sum(way.calls.values()) == 13


async def test_an_undocumented_request_would_be_noticed(server: Server) -> None:
    way = HeldToContract(server)
    with pytest.raises(AssertionError):
        await way.send(Request("POST", "/ojs/v1/workers/heartbeat", b'{"active_job_ids": 7}'))
