"""Two nodes restarted in turn under load: no call of a client with both URLs fails."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ojs_worker import BlockingClient, Client, Worker
from tests.e2e.node import Node, running, until

ROUNDS = 4
# Least number of calls by each client while a node is away, and while both are there.
AT_LEAST = 3
WITHIN_S = 60.0


class Load:
    """Enqueues jobs and waits for their results, with both clients, and counts the calls."""

    def __init__(self, client: Client, blocking: BlockingClient) -> None:
        self._client = client
        self._blocking = blocking
        self.calls = [0, 0]
        self.ended = threading.Event()

    async def run(self) -> None:
        """Call until the end; whatever a call raises ends it."""
        while not self.ended.is_set():
            job = await self._client.enqueue("roll.double", [self.calls[0]])
            assert await job.result(timeout_s=WITHIN_S) == 2 * self.calls[0]
            await (await self._client.enqueue("roll.never", [], queue="idle")).cancel()
            self.calls[0] += 1

    def block(self) -> None:
        """Call by the blocking client."""
        while not self.ended.is_set():
            job = self._blocking.enqueue("roll.double", [self.calls[1]])
            assert job.result(timeout_s=WITHIN_S) == 2 * self.calls[1]
            self._blocking.enqueue_many([self._blocking.request("roll.never", queue="idle")])
            self.calls[1] += 1

    async def go_on(self) -> None:
        """Wait until both have made some more calls."""
        goals = [calls + AT_LEAST for calls in self.calls]

        async def reached() -> bool:
            return all(calls >= goal for calls, goal in zip(self.calls, goals, strict=True))

        await until(reached, WITHIN_S)


@pytest.mark.long
async def test_no_call_fails_while_nodes_are_restarted_in_turn(postgres_store: str) -> None:
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(running(postgres_store)) for _ in range(2)]
        urls = [node.url for node in nodes]
        worker = Worker(urls, concurrency=4)

        @worker.job("roll.double")
        async def double(number: int) -> int:
            return 2 * number

        client = await stack.enter_async_context(Client(",".join(urls)))
        load = Load(client, stack.enter_context(BlockingClient(urls)))
        await stack.enter_async_context(worker)
        load_of: list[Callable[[], Any]] = [load.run, lambda: asyncio.to_thread(load.block)]
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            for run in load_of:
                group.create_task(run())
            try:
                for number in range(ROUNDS):
                    await load.go_on()
                    await restart(nodes[number % 2], load, kill=number == ROUNDS - 1)
                await load.go_on()
            finally:
                load.ended.set()


async def restart(node: Node, load: Load, *, kill: bool) -> None:
    """End a node, and start it again once calls were made without it."""
    if kill:
        await node.kill()
    else:
        await node.stop()
    await load.go_on()
    await node.start()
