"""A server of a profile on each store, a client of its system, and time that is turned by hand."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ojs_server.app import Application, Server
from ojs_server.domain.profile import PROFILES
from ojs_server.http.access.keys import Keys
from ojs_server.ops.sweep import Sweep, Swept
from tests.http.clock import Hands
from tests.http.conftest import NO_KEYS, Serve, serve
from tests.users_stores import store_url

__all__ = ["serve", "store_url"]

MINUTE = 60
HOUR = 60 * MINUTE
Json = dict[str, Any]


class System:
    """One server, as a user of another system meets it: at the root, in plain JSON."""

    def __init__(self, server: Server, client: httpx.AsyncClient, hands: Hands) -> None:
        self.server = server
        self.client = client
        self.hands = hands

    async def call(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        """A call that must succeed; answers its JSON."""
        response = await self.client.request(method, path, json=body, params=query or None)
        assert response.status_code < 300, response.text
        return response.json()

    async def refused(self, status: int, method: str, path: str, body: object = None) -> str:
        """A call that must be refused; answers why."""
        response = await self.client.request(method, path, json=body)
        assert response.status_code == status, response.text
        message: str = response.json()["error"]["message"]
        return message

    async def later(self, *, minutes: float = 0, hours: float = 0) -> Swept:
        """Let time pass, and run the housekeeping that is due."""
        self.hands.turn(hours=hours, seconds=minutes * MINUTE)
        sweep = Sweep(reachable_since=0, requested_at=self.hands(), check=True, prune=True)
        return await self.server.engine.run(sweep)

    async def enqueue(self, block: str, **more: Any) -> str:
        """A job for a function block; answers its id."""
        made = await self.call("POST", "/ojs/v1/jobs", {"type": block, "args": [], **more})
        job_id: str = made["id"]
        return job_id

    async def arrive(self, *blocks: str, ping: bool = True) -> str:
        """A worker with these blocks; answers its id."""
        body = {"functionBlocks": list(blocks)}
        worker_id: str = (await self.call("POST", "/workers/register", body))["worker_id"]
        if ping:
            await self.call("POST", f"/workers/{worker_id}/ping")
        return worker_id

    async def take(self, worker_id: str, *blocks: str, count: int = 1) -> list[str]:
        """FETCH by job types; answers the ids."""
        body = {"worker_id": worker_id, "job_types": list(blocks), "count": count}
        found = await self.call("POST", "/ojs/v1/workers/fetch", body)
        return [job["id"] for job in found["jobs"]]

    async def presence(self, worker_id: str) -> str:
        """Return the presence of a worker."""
        worker = (await self.call("GET", f"/workers/{worker_id}"))["worker"]
        seen: str = worker["presence"]
        return seen

    async def job(self, job_id: str) -> Json:
        """A job as it is now."""
        stored: Json = (await self.call("GET", f"/ojs/v1/jobs/{job_id}"))["job"]
        return stored

    async def event_types(self, subject: str) -> list[str]:
        """Return the types of a subject's events, in order."""
        events = (await self.call("GET", "/ojs/v1/events", limit=1000))["events"]
        return [one["type"] for one in events if one["subject"] == subject]


@asynccontextmanager
async def system(
    serve: Serve, profile: str, keys: Keys = NO_KEYS, headers: Mapping[str, str] | None = None
) -> AsyncIterator[System]:
    """A server of a profile, and a client with these headers."""
    hands = Hands()
    chosen = PROFILES[profile]
    async with serve(clock=hands, conformance=False, profile=chosen, keys=keys) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as client:
            yield System(server, client, hands)


@pytest.fixture
async def board(serve: Serve) -> AsyncIterator[System]:
    """A server of the profile `blackboard`."""
    async with system(serve, "blackboard") as running:
        yield running
