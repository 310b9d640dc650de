"""A server for clients of Zeebe, with its gateway and Camunda's REST API."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.domain.profile import PROFILES
from ojs_server.ops.sweep import Sweep
from ojs_server.systems.zeebe.grpc.gateway import SERVICE
from ojs_server.systems.zeebe.grpc.proto import zeebe_pb2 as pb
from tests.grpc.conftest import Serve, Stub, connect
from tests.grpc.conftest import serve as serve_grpc
from tests.http.clock import Hands

__all__ = ["serve_grpc"]


class Gateway:
    """A client, and the clock of its server."""

    def __init__(self, server: Server, stub: Stub, hands: Hands) -> None:
        self.server = server
        self.stub = stub
        self.hands = hands

    async def start(self, process: str = "pay", **variables: Any) -> int:
        """A process; answers its key."""
        answer = await self.stub.CreateProcessInstance(
            bpmnProcessId=process, version=-1, variables=json.dumps(variables)
        )
        key: int = answer.processInstanceKey
        return key

    async def take(
        self, kind: str = "pay", count: int = 32, wait_ms: int = -1, **more: Any
    ) -> list[pb.ActivatedJob]:
        """Activate jobs and return them."""
        members = {"worker": "w", "timeout": 60_000, **more}
        stream = self.stub.ActivateJobs(
            type=kind, maxJobsToActivate=count, requestTimeout=wait_ms, **members
        )
        return [job async for batch in stream for job in batch.jobs]

    async def one(self, kind: str = "pay", **more: Any) -> pb.ActivatedJob:
        """The only job."""
        [job] = await self.take(kind, **more)
        return job

    async def later(self, seconds: float) -> None:
        """Let time pass, and let housekeeping look."""
        self.hands.turn(seconds=seconds)
        await self.server.engine.run(Sweep(reachable_since=0, requested_at=self.hands()))

    async def waits(self, count: int) -> None:
        """Wait until this number of calls waits for jobs."""
        async with asyncio.timeout(10):
            while len(self.server.engine.wakeups) != count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@pytest.fixture
async def gate(serve_grpc: Serve) -> AsyncIterator[Gateway]:
    """A gateway under the profile of its system, whose time stands still."""
    hands = Hands()
    async with (
        serve_grpc(hands, profile_name="zeebe", profile=PROFILES["zeebe"]) as server,
        connect(server, SERVICE) as stub,
    ):
        yield Gateway(server, stub, hands)


@pytest.fixture
async def rest(gate: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """A client of HTTP of the same server."""
    transport = httpx.ASGITransport(app=Application(gate.server))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client
