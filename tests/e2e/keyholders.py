"""Clients with a key, by the port that they call."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import httpx
from grpc import aio

from ojs_server.grpc.ojs_v1 import SERVICE
from tests.e2e.node import Node, insist
from tests.grpc.conftest import Stub

KEY: Final = "a-key-of-this-test-0001"
LIMIT_S: Final = 60
# A channel that was refused tries again soon.
_SOON: Final = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]

Call = Callable[[], Awaitable[Any]]


@asynccontextmanager
async def over_http(node: Node) -> AsyncIterator[Call]:
    """A client of HTTP, which enqueues a job; like others it sends again what was sent on a
    connection that was idle and is closed."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=node.url, headers=headers, timeout=LIMIT_S) as client:

        async def enqueue() -> None:
            answer = await insist(client, node, "/ojs/v1/jobs", {"type": "t", "args": []})
            assert answer.status_code == 201, answer.text

        yield enqueue


@asynccontextmanager
async def over_grpc(node: Node) -> AsyncIterator[Call]:
    """A client of gRPC, which enqueues a job; it waits for a connection."""
    async with aio.insecure_channel(node.grpc, options=_SOON) as channel:
        call = Stub(channel, SERVICE, {"x-ojs-api-key": KEY}, wait_for_ready=True)

        async def enqueue() -> None:
            await call.Enqueue(type="t")

        yield enqueue


CLIENTS: Final[Mapping[str, Callable[[Node], AbstractAsyncContextManager[Call]]]] = {
    "http": over_http,
    "grpc": over_grpc,
}


def port_of(node: Node, name: str) -> int:
    """Return the number of a port."""
    address = node.grpc if name == "grpc" else node.url
    return int(address.rpartition(":")[2])
