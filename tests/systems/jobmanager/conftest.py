"""A server with the profile `jobmanager`, and a client that submits tasks."""

from collections.abc import AsyncIterator

import pytest

from ojs_worker.jobmanager import JobManagerClient
from tests.systems.world import World, serving


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    """A server with the profile of this system."""
    async with serving(store_url, "jobmanager") as made:
        yield made


@pytest.fixture
async def watched(store_url: str) -> AsyncIterator[World]:
    """A server that also judges workers by their sessions."""
    async with serving(store_url, "jobmanager", session_grace_ms=5000) as made:
        yield made


@pytest.fixture
def client(world: World) -> JobManagerClient:
    """A client that submits tasks."""
    return JobManagerClient(transport=world.transport)
