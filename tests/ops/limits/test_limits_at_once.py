"""Rate limits and queue bounds under many concurrent fetches and enqueues, on one and two nodes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ojs_server.app import Server
from ojs_server.domain.errors import QueueFull
from ojs_server.domain.jobs.job import Job
from ojs_server.domain.jobs.reported_error import Fault
from ojs_server.domain.queues.config import parse_config
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.blocking_enqueue import enqueue as enqueue_or_wait
from ojs_server.ops.jobs.settle import Ack, Fail
from ojs_server.ops.queues.control import Configure
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import fetch
from ojs_server.settings import Settings
from ojs_server.store.open import open_store
from tests.ops.bench import enqueue

FETCHERS = 32
LONG_MS = 30_000
FAULT = Fault("x", "x", "x")
Nodes = list[Engine]


@pytest.fixture(params=["sqlite", "postgres", "two nodes"])
async def nodes(request: pytest.FixtureRequest) -> AsyncIterator[Nodes]:
    """Running servers: one on each store, and two on one PostgreSQL."""
    if request.param == "sqlite":
        urls = [f"sqlite:///{request.getfixturevalue('sqlite_path')}"]
    else:
        url = request.getfixturevalue("postgres_store")
        urls = [url] if request.param == "postgres" else [url, url]
    async with AsyncExitStack() as stack:
        servers = [Server(Settings(), open_store(url)) for url in urls]
        for server in servers:
            await stack.enter_async_context(server.running())
        yield [server.engine for server in servers]


class Workers:
    """Fetchers that work until all jobs are done, and what was seen of their jobs."""

    def __init__(self, nodes: Nodes, wanted: int, group: Callable[[Job], object]) -> None:
        self.most: Counter[object] = Counter()
        self.starts: list[int] = []
        self.done: list[str] = []
        self._nodes = nodes
        self._wanted = wanted
        self._group = group
        self._running: Counter[object] = Counter()
        self._ended = asyncio.Event()

    async def run(self, queues: Sequence[str], *, count: int = 1, flaky: bool = False) -> None:
        """All of them."""
        workers = [
            asyncio.create_task(
                self._work(self._nodes[n % len(self._nodes)], n, queues, count, flaky)
            )
            for n in range(FETCHERS)
        ]
        async with asyncio.timeout(60):
            await self._ended.wait()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _work(
        self, node: Engine, name: int, queues: Sequence[str], count: int, flaky: bool
    ) -> None:
        claim = Claim(tuple(queues), count, f"w{name}")
        while True:
            for one in await fetch(node, claim, LONG_MS):
                job = one.claimed.job
                group = self._group(job)
                self._running[group] += 1
                self.most[group] = max(self.most[group], self._running[group])
                self.starts.append(job.started_at or 0)
                await asyncio.sleep(0)
                self._running[group] -= 1
                if flaky and job.attempt == 1:
                    await node.run(Fail(job.id, FAULT, requeue=True))
                    continue
                await node.run(Ack(job.id, result=b"1"))
                self.done.append(job.id)
                if len(self.done) == self._wanted:
                    self._ended.set()


async def put(node: Engine, count: int, **given: Any) -> None:
    """Enqueue this many jobs, each in a request of its own."""
    await asyncio.gather(*(node.run(enqueue(**given)) for _ in range(count)))


async def configure(node: Engine, **body: Any) -> None:
    """Settings for queue `q`."""
    await node.run(Configure("q", lambda base: parse_config(body, strict=True, base=base)))


@pytest.mark.parametrize(("flaky", "count"), [(False, 1), (True, 3)])
async def test_no_more_jobs_of_a_key_run_than_its_concurrency(
    nodes: Nodes, flaky: bool, count: int
) -> None:
    for key in ("a", "b"):
        await put(nodes[0], 40, rate_limit={"key": key, "concurrency": 3})
    await put(nodes[-1], 40)
    workers = Workers(nodes, 120, lambda job: job.rate_key)
    await workers.run(["q"], count=count, flaky=flaky)
    assert len(set(workers.done)) == 120
    assert workers.most["a"] <= 3
    assert workers.most["b"] <= 3


async def test_no_more_jobs_of_a_queue_run_than_its_concurrency(nodes: Nodes) -> None:
    await configure(nodes[0], concurrency=4)
    await put(nodes[0], 60)
    await put(nodes[-1], 40, queue="free")
    workers = Workers(nodes, 100, lambda job: job.queue)
    await workers.run(["q", "free"], count=2)
    assert len(set(workers.done)) == 100
    assert workers.most["q"] <= 4


async def test_no_stretch_of_time_holds_more_starts_than_the_rate(nodes: Nodes) -> None:
    await put(nodes[0], 24, rate_limit={"key": "k", "rate": {"limit": 6, "period": "250ms"}})
    workers = Workers(nodes, 24, lambda job: job.rate_key)
    await workers.run(["q"], count=2)
    for first in workers.starts:
        assert sum(first <= at < first + 250 for at in workers.starts) <= 6


async def test_no_stretch_of_time_holds_more_starts_than_a_queue_s_rate(nodes: Nodes) -> None:
    await configure(nodes[0], rate_limit={"limit": 6, "period": "250ms"})
    await put(nodes[-1], 24)
    workers = Workers(nodes, 24, lambda job: job.queue)
    await workers.run(["q"])
    for first in workers.starts:
        assert sum(first <= at < first + 250 for at in workers.starts) <= 6


async def test_a_bounded_queue_takes_exactly_as_many_as_fit(nodes: Nodes) -> None:
    await configure(nodes[0], backpressure={"max_depth": 25})
    answers = await asyncio.gather(
        *(nodes[n % len(nodes)].run(enqueue()) for n in range(100)), return_exceptions=True
    )
    refused = [one for one in answers if isinstance(one, QueueFull)]
    assert len(refused) == 75
    queues = await nodes[0].read(lambda reader: reader.queues(["q"]))
    assert queues[0].counts["available"] == 25


async def test_who_drops_the_oldest_never_overflows(nodes: Nodes) -> None:
    await configure(nodes[0], backpressure={"max_depth": 10, "strategy": "drop_oldest"})
    await asyncio.gather(*(nodes[n % len(nodes)].run(enqueue()) for n in range(80)))
    queues = await nodes[0].read(lambda reader: reader.queues(["q"]))
    assert (queues[0].counts["available"], queues[0].counts["discarded"]) == (10, 70)


async def test_blocked_producers_get_in_one_for_each_job_that_leaves(nodes: Nodes) -> None:
    await configure(nodes[0], backpressure={"max_depth": 5, "strategy": "block"})
    producers = [
        asyncio.create_task(enqueue_or_wait(nodes[n % len(nodes)], enqueue(), LONG_MS))
        for n in range(30)
    ]
    workers = Workers(nodes, 30, lambda job: job.queue)
    await workers.run(["q"])
    assert len({(await producer).jobs[0].job.id for producer in producers}) == 30


async def test_a_blocked_producer_is_refused_when_its_time_is_over(nodes: Nodes) -> None:
    await configure(nodes[0], backpressure={"max_depth": 1, "strategy": "block"})
    await enqueue_or_wait(nodes[0], enqueue(), LONG_MS)
    with pytest.raises(QueueFull):
        await enqueue_or_wait(nodes[0], enqueue(), 0)
    with pytest.raises(QueueFull):
        await enqueue_or_wait(nodes[0], enqueue(), 50)


async def test_a_blocked_producer_that_goes_away_stores_nothing(nodes: Nodes) -> None:
    await configure(nodes[0], backpressure={"max_depth": 1, "strategy": "block"})
    await nodes[0].run(enqueue())
    gone = asyncio.get_running_loop().create_future()
    entered = asyncio.Event()
    nodes[0].producers.on_first = entered.set
    waits = asyncio.create_task(enqueue_or_wait(nodes[0], enqueue(), LONG_MS, lambda: gone))
    await entered.wait()
    gone.set_result(None)
    with pytest.raises(QueueFull):
        await waits
    assert nodes[0].producers.queues() == []
