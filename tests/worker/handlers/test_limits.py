"""Rate limits of handlers: told where the server, or another handler, has other ones."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ojs_server.app import Application, Server
from ojs_worker import Client, RateLimit, Worker
from ojs_worker.handlers.limits import compare, limits_of
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport.backoff import Backoff
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK

LIMIT = RateLimit(key="stripe", concurrency=5, rate=100, period="1m")


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


async def told(server: Server, limit: RateLimit, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Compare the limits of a handler with the server's, and return what is said of them."""
    caplog.clear()
    async with Client(transport=AsgiTransport(Application(server))) as client:
        await compare({limit.key: limit}, client, Backoff("read", lambda: 0.5))
    return caplog.messages


async def test_other_limits_on_the_server_are_told(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    assert await told(server, LIMIT, caplog) == []
    async with Client(transport=AsgiTransport(Application(server))) as client:
        await client.enqueue("a.b", rate_limit=LIMIT)
        assert await told(server, LIMIT, caplog) == []
        less = RateLimit(key="stripe", concurrency=2, rate=100, period="2m")
        assert await told(server, less, caplog) == [
            "the key stripe has concurrency 5, not 2, the period PT60S of rate, not 120 s, until "
            "the next job of the key comes"
        ]
        await client.rate_limits.override("stripe", concurrency=1)
        (said,) = await told(server, LIMIT, caplog)
        assert "concurrency 1, not 5" in said
        assert "by an override" in said


async def test_a_starting_worker_compares_and_a_cron_entry_has_its_key(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(transport=AsgiTransport(Application(server)), **QUICK)

    @worker.cron("@yearly", name="c", tenant="acme")
    @worker.job("report.make", rate_limit=RateLimit(key="tenant:{tenant}", concurrency=1))
    async def make(tenant: str) -> None: ...

    worker.job("card.charge", rate_limit=LIMIT)(lambda: None)
    await worker.client.enqueue("a.b", rate_limit=RateLimit(key="stripe", concurrency=1))
    async with worker, asyncio.timeout(20):
        while "the key stripe has concurrency 1, not 5" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        entry = await worker.client.get_cron("c")
    assert entry.options["rate_limit"]["key"] == "tenant:acme"


def test_two_handlers_with_other_limits_for_a_key_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = Worker()
    worker.job("a.b", rate_limit=LIMIT)(lambda: None)
    worker.job("a.c", rate_limit=LIMIT)(lambda: None)
    assert limits_of(worker.registry.handlers) == {"stripe": LIMIT}
    assert caplog.messages == []
    worker.job("a.d", rate_limit=RateLimit(key="stripe", concurrency=1))(lambda: None)
    assert limits_of(worker.registry.handlers) == {"stripe": LIMIT}
    assert "a.b and a.d have different limits for the key stripe" in caplog.text
